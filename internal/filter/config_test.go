//nolint:dupword // channels repeat the names of their entries
package filter_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/filter"
)

// imageSet returns a configuration with packages of one catalog.
func imageSet(version string, packages ...string) string {
	return fmt.Sprintf("kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/%s\nmirror:\n  operators:\n"+
		"  - catalog: catalog\n    packages: [%s]\n", version, strings.Join(packages, ", "))
}

// configured returns the selection of a configuration.
func configured(t testing.TB, version string, packages ...string) filter.Selection {
	t.Helper()
	config, err := filter.ParseConfig("imageset.yaml", []byte(imageSet(version, packages...)))
	if err != nil {
		t.Fatal(err)
	}
	entry, err := config.EntryOf("catalog")
	if err != nil {
		t.Fatal(err)
	}
	s, dependencies := entry.Selection()
	if dependencies != (version == "v1alpha2") {
		t.Fatalf("dependencies %v", dependencies)
	}
	return s
}

// TestConfig checks the selections of both versions of oc-mirror.
func TestConfig(t *testing.T) {
	c := open(t, catalogOf(t, map[string]string{
		"p": `default stable
			channel stable
			v5 replaces v4
			v4 replaces v3 skips v3.1
			v3.1 replaces v3
			v3 replaces v2
			v2 replaces v1
			v1
			channel fast
			v6 replaces v5
			v5 replaces v4
			v4
			bundle v3 3.0.0-rc.1`,
	}, nil))
	for _, tt := range []struct{ pkg, v1, v2 string }{
		{"{name: p}", "p: fast v6; stable* v5", "p: fast v6; stable* v5"},
		{"{name: p, defaultChannel: fast}", "p: fast* v6; stable v5", "p: fast* v6; stable v5"},
		{"{name: p, channels: [{name: fast}]}", "p: fast* v6", "p: fast* v6"},
		{"{name: p, minVersion: 4.0.0}", "p: fast v6 v5 v4; stable* v5 v4", "p: fast v6 v5 v4; stable* v5 v4"},
		{
			"{name: p, channels: [{name: stable, minVersion: 2.0.0}]}",
			"p: stable* v5 v4 v3.1 v3 v2", "p: stable* v5 v4 v3.1 v3 v2",
		},
		{
			"{name: p, channels: [{name: stable, minVersion: 3.1.0}]}",
			"p: stable* v5 v4 v3.1", "p: stable* v5 v4 v3.1",
		},
		{"{name: p, maxVersion: 2.0.0}", "p: stable* v2 v1", "p: stable* v2 v1"},
		{
			"{name: p, minVersion: 2.0.0, maxVersion: '4.0'}",
			"p: fast v4; stable* v4 v3.1 v3 v2", "p: fast v4; stable* v4 v3.1 v3 v2",
		},
		{"{name: p, maxVersion: 3.0.0}", "p: stable* v3 v2 v1", "p: stable* v2 v1"},
		{"{name: p, channels: [{name: stable, minBundle: v4}]}", "p: stable* v5 v4", ""},
	} {
		for version, want := range map[string]string{"v1alpha2": tt.v1, "v2alpha1": tt.v2} {
			if want == "" {
				continue
			}
			got, err := apply(t, c, configured(t, version, tt.pkg))
			if err != nil || got.String() != want {
				t.Errorf("%s: %s: kept %v, error %v\nwant %s", version, tt.pkg, got, err, want)
			}
		}
	}
}

// TestConfigErrors checks that every error in a configuration has a position.
func TestConfigErrors(t *testing.T) {
	const both = `package "p" has a range, and so has its channel "a": want one of them`
	for _, tt := range []struct{ name, text, want string }{
		{"another kind", "kind: Pod\napiVersion: v1\nmirror: {}", `
			f.yaml:1:7: kind: want an ImageSetConfiguration, found "Pod"
			f.yaml:2:13: apiVersion: unknown version "v1", want mirror.openshift.io/v1alpha2 or mirror.openshift.io/v2alpha1
			f.yaml:3:9: mirror.operators: missing: no catalog is mirrored`},
		{"a wrong key", imageSet("v2alpha1", "{name: p, minversion: 1.0.0, chanels: []}"), `
			f.yaml:6:45: mirror.operators[0].packages[0]: unknown key "chanels" (did you mean "channels"?)`},
		{"names", imageSet("v2alpha1", "{name: p}", "{name: p}", "{channels: [{name: a}, {name: a}, {}]}"), `
			f.yaml:6:34: mirror.operators[0].packages[1].name: package "p" is already selected above
			f.yaml:6:38: mirror.operators[0].packages[2].name: missing: want the name of a package
			f.yaml:6:68: mirror.operators[0].packages[2].channels[1].name: channel "a" is already selected above
			f.yaml:6:72: mirror.operators[0].packages[2].channels[2].name: missing: want the name of a channel`},
		{"a target with a tag", "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  operators:\n" +
			"  - {catalog: c, targetCatalog: 'a/b:v1'}\n  - {catalog: c, targetCatalog: a/b@sha256}\n", `
			f.yaml:5:33: mirror.operators[0].targetCatalog: "a/b:v1": want a path without a tag or a digest; a tag is set with targetTag
			f.yaml:6:33: mirror.operators[1].targetCatalog: "a/b@sha256": want a path without a tag or a digest; a tag is set with targetTag`},
		{"versions", imageSet("v2alpha1", "{name: p, minVersion: a, channels: [{name: a, maxVersion: 1.0.0, minBundle: b}]}"), `
			f.yaml:6:38: mirror.operators[0].packages[0].minVersion: "a" is not a version: Invalid character(s) found in major number "a"
			f.yaml:6:52: mirror.operators[0].packages[0].channels[0]: ` + both + `
			f.yaml:6:92: mirror.operators[0].packages[0].channels[0].minBundle: mirror.openshift.io/v2alpha1 has no minBundle; use minVersion`},
	} {
		_, err := filter.ParseConfig("f.yaml", []byte(tt.text))
		want := strings.ReplaceAll(strings.TrimSpace(tt.want), "\t", "")
		if fmt.Sprint(err) != want {
			t.Errorf("%s:\n%v\nwant\n%s", tt.name, err, want)
		}
	}
}

// TestConfigOf checks that the only catalog of a configuration is used for any name, and that one of several must be
// named.
func TestConfigOf(t *testing.T) {
	head := "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v1alpha2\nmirror:\n  operators:\n"
	config, err := filter.ParseConfig("f.yaml", []byte(head+"  - {catalog: quay.io/a/b, skipDependencies: true}\n  - {catalog: quay.io/a/c, full: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = config.EntryOf("quay.io/a/d")
	if want := `f.yaml mirrors no catalog "quay.io/a/d" (did you mean "quay.io/a/b"?): choose one with --config-catalog: quay.io/a/b, quay.io/a/c`; fmt.Sprint(err) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	for catalog, want := range map[string]filter.Rule{"quay.io/a/b": nil, "quay.io/a/c": filter.All} {
		entry, err := config.EntryOf(catalog)
		if err != nil {
			t.Fatal(err)
		}
		if s, dependencies := entry.Selection(); s.Rule != want || dependencies != (want != nil) {
			t.Errorf("%s: %v, dependencies %v", catalog, s, dependencies)
		}
	}
}

// TestConfigTwice checks that the entries of a catalog that is named twice are both found, and that each can be chosen
// by its position.
func TestConfigTwice(t *testing.T) {
	const text = "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\nmirror:\n  operators:\n" +
		"  - {catalog: quay.io/a/b, packages: [{name: kiln}]}\n" +
		"  - {catalog: quay.io/a/b, targetCatalog: a/c, targetTag: v2, packages: [{name: loom}]}\n"
	config, err := filter.ParseConfig("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	packages := func(e *filter.Entry) string {
		s, _ := e.Selection()
		return s.Packages[0].Name
	}
	entries, err := config.EntriesOf("quay.io/a/b")
	if err != nil || len(entries) != 2 || packages(entries[0]) != "kiln" || packages(entries[1]) != "loom" {
		t.Errorf("got %v, %v", entries, err)
	}
	if entry, err := config.EntryOf("f.yaml:6:15"); err != nil || packages(entry) != "loom" {
		t.Errorf("by its position: %v, %v", entry, err)
	}
	_, err = config.EntryOf("quay.io/a/b")
	const want = `f.yaml mirrors catalog "quay.io/a/b" 2 times: choose one with --config-catalog: f.yaml:5:15, f.yaml:6:15`
	if fmt.Sprint(err) != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// TestConfigMirrored checks the settings of a mirror that are not part of a selection.
func TestConfigMirrored(t *testing.T) {
	const head = "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/"
	parse := func(text string) *filter.Config {
		t.Helper()
		config, err := filter.ParseConfig("f.yaml", []byte(head+text))
		if err != nil {
			t.Fatal(err)
		}
		return config
	}
	for operator, want := range map[string]string{
		"catalog: quay.io/crafts/tools/catalog:v1, targetName: mine":                  "crafts/tools/mine",
		"catalog: quay.io/catalog:v1, targetName: mine, targetTag: v2":                "mine:v2",
		"catalog: quay.io/crafts/catalog:v1, targetName: mine, targetCatalog: a/b":    "a/b",
		"catalog: quay.io/crafts/catalog:v1, targetTag: v2":                           ":v2",
		"catalog: quay.io/crafts/catalog:v1":                                          "",
		"catalog: quay.io/crafts/catalog:v1, targetCatalog: a/b/c, targetTag: stable": "a/b/c:stable",
	} {
		config := parse("v1alpha2\nmirror:\n  operators:\n  - {" + operator + "}\n")
		if got := config.Entries()[0].Target(); got != want {
			t.Errorf("%s: got %q, want %q", operator, got, want)
		}
	}
	config := parse("v2alpha1\nmirror:\n  operators:\n  - {catalog: a, targetName: b}\n")
	const want = "f.yaml:5:30: mirror.operators[0].targetName: mirror.openshift.io/v2alpha1 has no targetName; use targetCatalog"
	if err := config.CheckMirrored(); fmt.Sprint(err) != want {
		t.Errorf("got %v, want %s", err, want)
	}
	config = parse("v2alpha1\nmirror:\n  additionalImages:\n  - {name: a}\n")
	_, err := config.EntryOf("catalog")
	if config.CheckMirrored() != nil || !strings.Contains(fmt.Sprint(err), "no catalog is mirrored") {
		t.Errorf("only additional images: got %v", err)
	}
}

func TestIsConfig(t *testing.T) {
	for text, want := range map[string]bool{
		"kind: ImageSetConfiguration": true, `{"kind": "ImageSetConfiguration"}`: true, "": true,
		` {"images": []}`: false, "{broken": false,
	} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := filter.IsConfig(file); got != want || err != nil {
			t.Errorf("%q: got %t, %v", text, got, err)
		}
	}
	if _, err := filter.IsConfig("no-such-file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got error %v", err)
	}
}
