package bundle

import (
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

var oakLabels = Labels{MediaType: MediaTypeRegistry, Package: "oak", Channels: "stable"}

func TestComplete(t *testing.T) {
	layout := mapFS("oak.package.yaml", "packageName: oak\nchannels: [{name: stable, currentCSV: oak.v1}]\n",
		"1.0.0/csv.yaml", "kind: ClusterServiceVersion\nmetadata: {name: oak.v1}\n", "empty.package/a", "")
	for _, test := range []struct {
		given Labels
		dir   string
		want  Labels
	}{
		{Labels{}, "1.0.0", Labels{MediaTypeRegistry, "oak", "stable", "stable"}},
		{Labels{Package: "elm"}, "1.0.0", Labels{MediaTypeRegistry, "elm", "stable", "stable"}},
		{Labels{Channels: "beta", DefaultChannel: "beta"}, "1.0.0", Labels{MediaTypeRegistry, "oak", "beta", "beta"}},
		{Labels{Package: "elm", Channels: "beta"}, "1.0.0", Labels{MediaTypeRegistry, "elm", "beta", ""}},
		{Labels{Package: "elm", Channels: "beta"}, "empty.package", Labels{MediaTypePlain, "elm", "beta", ""}},
	} {
		got, err := test.given.complete(layout, test.dir)
		if err != nil || got != test.want {
			t.Errorf("%+v in %s: got %+v, %v, want %+v", test.given, test.dir, got, err, test.want)
		}
	}
	for _, given := range []Labels{{}, {Package: "elm", Channels: "beta"}} {
		if got, err := given.complete(layout, "missing"); err == nil {
			t.Errorf("%+v of a missing directory: got %+v", given, got)
		}
	}
}

func TestGenerate(t *testing.T) {
	out := outRoot(t)
	if err := generate(t.Context(), oakLabels, out, generateOptions{}); err != nil {
		t.Fatal(err)
	}
	annotations := string(oakLabels.annotations())
	want := map[string]string{".": "/", "metadata": "/", "metadata/annotations.yaml": annotations}
	if got := tree(t, out); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	// An existing file with more annotations is kept; the manifests are added.
	annotations += "  vendor: Wood\n"
	if err := out.WriteFile(annotationsFile, []byte(annotations), 0o666); err != nil {
		t.Fatal(err)
	}
	manifests := mapFS("a.yaml", "a", "more/b.yaml", "b")
	if err := generate(t.Context(), oakLabels, out, generateOptions{manifests: manifests, name: "more"}); err != nil {
		t.Fatal(err)
	}
	want = map[string]string{".": "/", "metadata": "/", "metadata/annotations.yaml": annotations, "manifests": "/",
		"manifests/a.yaml": "a", "manifests/more": "/", "manifests/more/b.yaml": "b"}
	if got := tree(t, out); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	// Files with different content are errors, unless Overwrite is set.
	elm := Labels{MediaType: MediaTypeRegistry, Package: "elm", Channels: "stable"}
	opts := generateOptions{manifests: mapFS("a.yaml", "other", "more/b.yaml", "b", "new.yaml", "new"), name: "more"}
	err := generate(t.Context(), elm, out, opts)
	for _, part := range []string{`metadata/annotations.yaml:6:53: annotations.` + AnnotationPackage + `: want "elm", found "oak"`,
		"manifests/a.yaml: already exists"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got error %v, want %q", err, part)
		}
	}
	if e, ok := errors.AsType[*declcfg.Error](err); !ok || !strings.HasPrefix(e.Pos.File, out.Name()) {
		t.Errorf("got error %v, want a position in %s", err, out.Name())
	}
	if got := tree(t, out); !maps.Equal(got, want) {
		t.Errorf("after an error: got %q, want %q", got, want)
	}
	opts.overwrite = true
	if err := generate(t.Context(), elm, out, opts); err != nil {
		t.Fatal(err)
	}
	want["metadata/annotations.yaml"], want["manifests/a.yaml"] = string(elm.annotations()), "other"
	want["manifests/new.yaml"] = "new"
	if got := tree(t, out); !maps.Equal(got, want) {
		t.Errorf("written over: got %q, want %q", got, want)
	}
}

// TestGenerateFails checks that generated files are removed if generation fails.
func TestGenerateFails(t *testing.T) {
	out := outRoot(t)
	if err := out.WriteFile("metadata", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	opts := generateOptions{manifests: mapFS("a.yaml", "a"), overwrite: true}
	if err := generate(t.Context(), oakLabels, out, opts); !errors.Is(err, atomicfile.ErrInTheWay) {
		t.Errorf("got error %v, want %v", err, atomicfile.ErrInTheWay)
	}
	if got := tree(t, out); !maps.Equal(got, map[string]string{".": "/", "metadata": ""}) {
		t.Errorf("got %q", got)
	}
	dir := t.TempDir()
	if err := os.Symlink("nowhere", dir+"/a.yaml"); err != nil {
		t.Skip(err)
	}
	if err := generate(t.Context(), oakLabels, outRoot(t), generateOptions{manifests: os.DirFS(dir)}); err == nil {
		t.Error("a dangling link was copied")
	}
}
