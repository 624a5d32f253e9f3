//go:build unix

package hostile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/program"
)

// TestKilledEdits checks that a killed edit of several files or catalogs can be repeated as it was, with and without
// hard links.
func TestKilledEdits(t *testing.T) {
	t.Parallel()
	for _, k := range []killed{
		{name: "promote", command: "promote catalog kiln.v2.0.0-rc.1 --to stable", once: true},
		{name: "add", command: "add bundle catalog --channel stable --alpha-image-ref-template registry.example/kiln:{{.Version}}",
			once: true},
		{name: "remove", command: "remove catalog bundle kiln.v1.1.1 --reconnect", once: true},
		{name: "remove a channel", command: "remove catalog channel candidate --package kiln --with-bundles", once: true},
		{name: "remove a package", command: "remove catalog package kiln", once: true},
		{name: "default channel", command: "default-channel catalog/kiln candidate"},
		{name: "deprecate in each", command: "deprecate --each catalogs/ bundle kiln.v1.1.0 --message old"},
		{name: "default channel of each", command: "default-channel --each catalogs/ candidate --package kiln"},
		{name: "promote in each", command: "promote --each catalogs/ kiln.v2.0.0-rc.1 --to stable", once: true},
	} {
		for _, k.noLinks = range []bool{false, true} {
			name := k.name
			if k.noLinks {
				name += " without links"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if k.noLinks {
					requireWithoutLinks(t)
				}
				k.test(t, killsOf(5))
			})
		}
	}
}

// TestEditsAtOnce checks that each of several concurrent edits of one file either fails or is in the file.
func TestEditsAtOnce(t *testing.T) {
	t.Parallel()
	dir := examples(t)
	names := []string{"kiln.v1.1.0", "kiln.v1.1.1", "kiln.v1.2.0", "kiln.v2.0.0-rc.1"}
	results := make([]program.Result, len(names))
	var running sync.WaitGroup
	for i, name := range names {
		running.Go(func() {
			args := []string{"deprecate", "catalog", "bundle", name, "--message", "test"}
			results[i] = program.Call{Args: args, Dir: dir, Limit: time.Minute}.Run(t)
		})
	}
	running.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "catalog", "kiln", "deprecations.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if has := bytes.Contains(text, []byte("name: "+names[i]+"\n")); has != (r.Code == 0) {
			t.Errorf("the exit status of %s is %d, and the file is\n%s", names[i], r.Code, text)
		}
		busy := strings.Contains(r.Stderr, "another edit is changing the file") ||
			strings.Contains(r.Stderr, "the file changed while it was being read")
		if r.Code != 0 && !busy {
			t.Errorf("%s: %s", names[i], r.Stderr)
		}
	}
	if r := (program.Call{Args: []string{"validate", "catalog"}, Dir: dir}).Run(t); r.Code != 0 {
		t.Error(r.Stderr)
	}
}

// TestEditLargeFile checks the time and memory to edit one package of a catalog in a single file of 140 MB.
func TestEditLargeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "catalog.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	description := strings.Repeat("    A line of text that nobody looks at, as most of a catalog is.\n", 1000)
	for n := range 2000 {
		pkg := fmt.Sprintf("p%d", n)
		fmt.Fprintf(f, "---\nschema: olm.package\nname: %s\ndefaultChannel: a\n", pkg)
		fmt.Fprintf(f, "---\nschema: olm.channel\npackage: %s\nname: a\nentries:\n- name: %s.v1.0.0\n", pkg, pkg)
		fmt.Fprintf(f, "---\nschema: olm.bundle\npackage: %s\nname: %s.v1.0.0\nimage: example.com/a:1\nproperties:\n"+
			"- type: olm.package\n  value:\n    packageName: %s\n    version: 1.0.0\n- type: text\n  value: |\n%s",
			pkg, pkg, pkg, description)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	edit := func(args ...string) {
		t.Helper()
		r := program.Call{Args: args, Dir: dir, Limit: time.Minute}.Bounded(t, 200e6)
		if r.Code != 0 {
			t.Fatal(r.Stderr)
		}
	}
	before, err := os.Stat(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	edit("deprecate", "catalog.yaml", "bundle", "p1000.v1.0.0", "-m", "old")
	edit("deprecate", "catalog.yaml", "bundle", "p1000.v1.0.0", "--undo")
	after, err := os.Stat(f.Name())
	if err != nil || after.Size() != before.Size() {
		t.Errorf("%d bytes became %d, %v", before.Size(), after.Size(), err)
	}
}

// TestEditLargePackage checks the time and memory to remove a channel whose bundles are all deprecated, each in a
// document of its own.
func TestEditLargePackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var text, entries, deprecations strings.Builder
	const n = 1000
	for i := range n {
		name := fmt.Sprintf("p.v1.%d.0", i)
		fmt.Fprintf(&entries, "- {name: %s, replaces: p.v1.%d.0}\n", name, i-1)
		fmt.Fprintf(&deprecations, "- reference: {schema: olm.bundle, name: %s}\n  message: old\n", name)
		fmt.Fprintf(&text, "---\nschema: olm.bundle\npackage: p\nname: %s\nimage: example.com/a:1\nproperties:\n"+
			"- {type: olm.package, value: {packageName: p, version: 1.%d.0}}\n", name, i)
	}
	head := "schema: olm.package\nname: p\ndefaultChannel: b\n" +
		"---\nschema: olm.channel\npackage: p\nname: b\nentries: [{name: p.v1.0.0}]\n"
	catalog := head + text.String() + "---\nschema: olm.channel\npackage: p\nname: a\nentries:\n" + entries.String() +
		"---\nschema: olm.deprecations\npackage: p\nentries:\n" + deprecations.String()
	if err := os.WriteFile(filepath.Join(dir, "catalog.yaml"), []byte(catalog), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"remove", "catalog.yaml", "channel", "a", "--with-bundles"}
	if r := (program.Call{Args: args, Dir: dir, Limit: time.Minute}).Bounded(t, 300e6); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	got, err := os.ReadFile(filepath.Join(dir, "catalog.yaml"))
	if err != nil || strings.Count(string(got), "p.v1.") != 3 {
		t.Errorf("%v, left is\n%.1000s", err, got)
	}
}
