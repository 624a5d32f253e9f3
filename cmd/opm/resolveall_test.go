package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestV1Agrees asks five commands whether OLM v1 installs published bundles: "resolve --all", "resolve --package" and
// "resolve --state" of a catalog with their manifests, and "bundle manifests" and "bundle validate" of their
// directories. A catalog with metadata only has the same answers if their images are read.
func TestV1Agrees(t *testing.T) {
	dirs := shared.Sample(shared.Glob(t, "data/operators/*/*"), 9)
	work := t.TempDir()
	names := v1Catalog(t, work, dirs)
	answers := map[string]resolve.V1Answer{}
	var out, fromImages struct{ Packages []resolve.V1Answer }
	decodeOutput(t, work, "resolve catalog --all --olm v1 --channels -o json", &out)
	decodeOutput(t, work, "resolve metadata --all --olm v1 --channels -o json --images --use-http", &fromImages)
	if !reflect.DeepEqual(out, fromImages) {
		t.Errorf("from manifests\n%+v\nfrom images\n%+v", out, fromImages)
	}
	for _, a := range out.Packages {
		answers[a.Channel] = a
	}
	var state struct {
		Extensions []struct {
			Name    string
			Outcome resolve.Outcome
		} `json:"clusterExtensions"`
	}
	decodeOutput(t, work, "resolve --state state.yaml --catalog cat=catalog --olm v1 -o json", &state)
	installs := 0
	for i, dir := range dirs {
		channel := fmt.Sprintf("c%d", i)
		a := answers[channel]
		yes := a.Installs == resolve.InstallsYes
		if yes {
			installs++
		} else if a.Installs != resolve.InstallsNo {
			t.Errorf("%s: %+v", dir, a)
		}
		for line, got := range map[string]bool{
			"resolve --state": state.Extensions[i].Outcome == resolve.Resolved,
			"resolve --package": opm(t, work, fmt.Sprintf("resolve catalog --package %s --channel %s --olm v1",
				a.Package, channel)).code == 0,
			"bundle manifests": opm(t, ".", "bundle manifests "+dir+" -n studio").code == 0,
		} {
			if got != yes {
				t.Errorf("%s: resolve --all installs it: %t, %v; %s: %t", names[i], yes, a.Reasons, line, got)
			}
		}
		if r := opm(t, ".", "bundle validate "+dir); !yes && !strings.Contains(r.stderr, "OLM") &&
			!strings.Contains(r.stderr, "removed-api") {
			t.Errorf("%s: not installed because of %v, but bundle validate has\n%s", dir, a.Reasons, r.stderr)
		}
	}
	if installs == 0 || installs == len(dirs) {
		t.Errorf("%d of %d bundles are installed", installs, len(dirs))
	}
	t.Logf("OLM v1 installs %d of %d bundles", installs, len(dirs))
}

func decodeOutput(t *testing.T, dir, line string, v any) {
	t.Helper()
	r := opm(t, dir, line)
	if err := json.Unmarshal([]byte(r.stdout), v); err != nil {
		t.Fatalf("opm %s: %v\n%s%s", line, err, r.stdout, r.stderr)
	}
}

// v1Catalog writes a catalog with a channel for each bundle, called c0, c1 and so on, the same catalog with metadata
// instead of manifests, whose images it pushes, and the state of a cluster with a ClusterExtension for each channel. It
// returns the names of the bundles.
func v1Catalog(t *testing.T, work string, dirs []string) (names []string) {
	t.Helper()
	packages := map[string][]string{}
	var catalog, bundles, metadata, state strings.Builder
	host := newRegistry(t)
	for i, dir := range dirs {
		ref := fmt.Sprintf("%s/bundle:v%d", host, i)
		b, err := bundle.Parse(os.DirFS(dir), dir, bundle.Options{Image: ref})
		if err := cmp.Or(err, push(dir, ref)); err != nil {
			t.Fatal(err)
		}
		names = append(names, b.Name)
		channel := fmt.Sprintf("c%d", i)
		packages[b.Package] = append(packages[b.Package], channel)
		fmt.Fprintf(&bundles, "---\n%s", declcfg.YAML.Append(nil, b))
		if err := bundle.ToMetadata(b); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&metadata, "---\n%s", declcfg.YAML.Append(nil, b))
		fmt.Fprintf(&catalog, "---\n{schema: olm.channel, package: %s, name: %s, entries: [{name: %s}]}\n",
			b.Package, channel, b.Name)
		fmt.Fprintf(&state, "---\napiVersion: olm.operatorframework.io/v1\nkind: ClusterExtension\n"+
			"metadata: {name: e%03d}\nspec: {namespace: studio, source: {sourceType: Catalog, "+
			"catalog: {packageName: %s, channels: [%s]}}}\n",
			i, b.Package, channel)
	}
	for name, channels := range packages {
		fmt.Fprintf(&catalog, "---\n{schema: olm.package, name: %s, defaultChannel: %s}\n", name, channels[0])
	}
	write := func(name, text string) {
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("catalog/catalog.yaml", catalog.String()+bundles.String())
	write("metadata/catalog.yaml", catalog.String()+metadata.String())
	write("state.yaml", state.String())
	return names
}
