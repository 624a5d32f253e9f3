package edit_test

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const catalog = `schema: olm.package
name: oak
defaultChannel: stable
---
schema: olm.channel
package: oak
name: stable
entries:
- name: oak.v1.0.0
---
schema: olm.channel
package: oak
name: next
entries:
- name: oak.v1.0.0
---
schema: olm.bundle
package: oak
name: oak.v1.0.0
image: example.com/oak:1
properties:
- {type: olm.package, value: {packageName: oak, version: 1.0.0}}
`

// write writes the catalog to a file in a new directory.
func write(t *testing.T) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "oak.yaml")
	if err := os.WriteFile(file, []byte(catalog), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

// apply makes an edit to one catalog.
func apply(t *testing.T, path string, e edit.Edit, o edit.Options) (*edit.Result, error) {
	t.Helper()
	results, err := edit.Apply(t.Context(), []string{path}, e, o)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// TestApply checks that a file keeps its mode, that a symbolic link to it stays a link, and that no extra file remains.
func TestApply(t *testing.T) {
	dir, file := write(t)
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	for i, path := range []string{dir, file, link} {
		channel := []string{"next", "stable", "next"}[i]
		r, err := apply(t, path, edit.DefaultChannel{Channel: channel}, edit.Options{})
		if err != nil || len(r.Problems) > 0 {
			t.Fatal(r, err)
		}
		text, err := os.ReadFile(file)
		if want := strings.Replace(catalog, "nel: stable", "nel: "+channel, 1); err != nil || string(text) != want {
			t.Errorf("%s: %v, %s", path, err, text)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestLocked checks that an edit of a locked file fails and leaves the file unchanged.
func TestLocked(t *testing.T) {
	dir, file := write(t)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	unlock, err := atomicfile.TryLock(root, "oak.yaml")
	if err != nil {
		t.Skip(err)
	}
	e := edit.Deprecate{Kind: edit.Bundle, Name: "oak.v1.0.0", Message: "old"}
	const want = "oak.yaml: another edit is changing the file; run the command again"
	if _, err := apply(t, file, e, edit.Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	unlock()
	if text, err := os.ReadFile(file); err != nil || string(text) != catalog {
		t.Errorf("%v, %s", err, text)
	}
	if _, err := apply(t, file, e, edit.Options{}); err != nil {
		t.Error(err)
	}
}

// TestInvalid checks that an invalid package is not written, and that its problems have the positions they would have.
func TestInvalid(t *testing.T) {
	_, file := write(t)
	r, err := apply(t, file, edit.Remove{Kind: edit.Channel, Name: "stable"}, edit.Options{})
	if err != nil || len(r.Problems) != 1 || r.Problems[0].Rule != "default-channel" || r.Problems[0].Pos.Line != 3 {
		t.Errorf("%v, %v", r, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != catalog {
		t.Errorf("%v, %s", err, text)
	}
}

// TestHint checks the advice about a catalog in which channel next updates oak.v1.0.0 to oak.v1.1.0, and that nothing is
// written.
func TestHint(t *testing.T) {
	_, file := write(t)
	text := strings.Replace(catalog, "name: next\nentries:\n- name: oak.v1.0.0", `name: next
entries:
- name: oak.v1.1.0
  replaces: oak.v1.0.0
- name: oak.v1.0.0
`, 1) + "---\n" + strings.ReplaceAll(catalog[strings.Index(catalog, "schema: olm.bundle"):], "1.0.0", "1.1.0")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const withBundles = "with --with-bundles, the bundles that only the channel has are removed too, " +
		"and the package stays valid"
	const reconnect = "with --reconnect, what updates the bundle updates what that updates, and the package stays valid"
	for _, tt := range []struct {
		edit edit.Edit
		want string
	}{
		{edit.Remove{Kind: edit.Channel, Name: "next"}, withBundles},
		{edit.Remove{Kind: edit.Channel, Name: "next", WithBundles: true}, ""},
		{edit.Remove{Kind: edit.Channel, Name: "stable"}, "it is the default channel: first run opm default-channel " + file +
			" CHANNEL --package oak; then " + withBundles},
		{edit.Remove{Kind: edit.Channel, Name: "none"}, ""},
		{edit.Remove{Kind: edit.Bundle, Name: "oak.v1.1.0"}, reconnect},
		{edit.Remove{Kind: edit.Bundle, Name: "oak.v1.1.0", Reconnect: true}, ""},
		{edit.Remove{Kind: edit.Bundle, Name: "oak.v1.0.0"}, ""}, // channel stable would be empty
		{edit.Remove{Kind: edit.Package, Name: "oak"}, ""},
		{edit.DefaultChannel{Channel: "next"}, ""},
	} {
		if got := edit.Hint(t.Context(), []string{file}, tt.edit, edit.Options{}); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.edit, got, tt.want)
		}
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != text {
		t.Errorf("%v, %s", err, after)
	}
}

// TestRemoveLast checks that removing the last documents of a file that ends without a line break also removes the line
// breaks before them.
func TestRemoveLast(t *testing.T) {
	_, file := write(t)
	const last = `
---
schema: olm.channel
package: oak
name: last
entries:
- name: oak.v2.0.0
---
schema: olm.bundle
package: oak
name: oak.v2.0.0
image: example.com/oak:2
properties:
- {type: olm.package, value: {packageName: oak, version: 2.0.0}}`
	if err := os.WriteFile(file, []byte(strings.TrimSuffix(catalog, "\n")+last), 0o600); err != nil {
		t.Fatal(err)
	}
	e := edit.Remove{Kind: edit.Channel, Name: "last", WithBundles: true}
	r, err := apply(t, file, e, edit.Options{DryRun: true})
	if err != nil || strings.Count(string(r.Diff), "\n-") != strings.Count(last, "\n") {
		t.Errorf("%s, %v", r.Diff, err)
	}
	if _, err := apply(t, file, e, edit.Options{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != strings.TrimSpace(catalog) {
		t.Errorf("%v, %s", err, text)
	}
}

// TestSeveralReadOnly checks that catalogs that could be written are unchanged if the directory of another cannot be.
func TestSeveralReadOnly(t *testing.T) {
	_, first := write(t)
	dir, last := write(t)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if f, err := os.CreateTemp(dir, ""); err == nil {
		_ = f.Close()
		t.Skip("the user can write to all directories")
	}
	_, err := edit.Apply(t.Context(), []string{first, last}, edit.DefaultChannel{Channel: "next"}, edit.Options{})
	if want := "create " + last + ": permission denied"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if text, err := os.ReadFile(first); err != nil || string(text) != catalog {
		t.Errorf("%v, %s", err, text)
	}
}

// TestSeveralFileSystems checks that catalogs on several file systems are edited together.
func TestSeveralFileSystems(t *testing.T) {
	_, first := write(t)
	dir, err := os.MkdirTemp("/dev/shm", "opm-edit-") //nolint:usetesting // on another file system than t.TempDir
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	last := filepath.Join(dir, "oak.yaml")
	if err := os.WriteFile(last, []byte(catalog), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := []string{first, last}
	if _, err := edit.Apply(t.Context(), paths, edit.DefaultChannel{Channel: "next"}, edit.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "defaultChannel: next") {
			t.Errorf("%v, %s", err, text)
		}
	}
}

// TestSeveralSameFile checks that a file that two catalogs share through a link is named.
func TestSeveralSameFile(t *testing.T) {
	_, file := write(t)
	link := filepath.Join(t.TempDir(), "oak.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	want := link + ": the file is the same as " + file + "; leave out one of the two catalogs"
	for _, dryRun := range []bool{true, false} {
		e, o := edit.DefaultChannel{Channel: "next"}, edit.Options{DryRun: dryRun}
		_, err := edit.Apply(t.Context(), []string{file, link}, e, o)
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestSeveral checks that an edit of several catalogs changes all of them or none.
func TestSeveral(t *testing.T) {
	dir := t.TempDir()
	var files, before []string
	for i, text := range []string{catalog, catalog, strings.ReplaceAll(catalog, "next", "slow")} {
		files = append(files, filepath.Join(dir, strconv.Itoa(i)+".yaml"))
		before = append(before, text)
		if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := edit.Apply(t.Context(), files, edit.DefaultChannel{Channel: "next"}, edit.Options{})
	const want = `2.yaml: package "oak" has no channel "next"`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	remove := edit.Remove{Kind: edit.Channel, Name: "stable"}
	results, err := edit.Apply(t.Context(), files[:2], remove, edit.Options{})
	if err != nil || len(results) != 2 || len(results[1].Problems) == 0 {
		t.Errorf("removing the default channel: %v, %v", results, err)
	}
	for i, file := range files {
		if got, err := os.ReadFile(file); err != nil || string(got) != before[i] {
			t.Errorf("%s changed after a failure: %v\n%s", file, err, got)
		}
	}
	results, err = edit.Apply(t.Context(), files[:2], edit.DefaultChannel{Channel: "next"}, edit.Options{})
	if err != nil || len(results) != 2 {
		t.Fatalf("got %v, %v", results, err)
	}
	for _, file := range files[:2] {
		if got, err := os.ReadFile(file); err != nil || !strings.Contains(string(got), "defaultChannel: next") {
			t.Errorf("%s did not change: %v\n%s", file, err, got)
		}
	}
}

// TestDiff checks that a diff has context on both sides also where a removed document is like its neighbours, and that
// a deleted file becomes /dev/null; otherwise patch and git cannot apply it.
func TestDiff(t *testing.T) {
	object := func(schema, name, rest string) string {
		return "{\n    \"schema\": \"olm." + schema + "\",\n    \"name\": \"" + name + "\",\n    " + rest + "\n}\n"
	}
	channel := func(name string) string {
		return object("channel", name, "\"package\": \"oak\",\n    \"entries\": [{\"name\": \"oak.v1.0.0\"}]")
	}
	file := filepath.Join(t.TempDir(), "oak.json")
	text := object("package", "oak", `"defaultChannel": "stable"`) + channel("next") + channel("stable") +
		object("bundle", "oak.v1.0.0", `"package": "oak", "image": "example.com/oak:1", "properties": [
        {"type": "olm.package", "value": {"packageName": "oak", "version": "1.0.0"}}]`)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		remove edit.Remove
		want   string // after the names of the files
	}{
		{edit.Remove{Kind: edit.Channel, Name: "next"}, `@@ -5,12 +5,6 @@
 }
 {
     "schema": "olm.channel",
-    "name": "next",
-    "package": "oak",
-    "entries": [{"name": "oak.v1.0.0"}]
-}
-{
-    "schema": "olm.channel",
     "name": "stable",
     "package": "oak",
     "entries": [{"name": "oak.v1.0.0"}]
`},
		{edit.Remove{Kind: edit.Package, Name: "oak"}, "@@ -1,23 +0,0 @@\n-" +
			strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n-") + "\n"},
	} {
		r, err := apply(t, file, tt.remove, edit.Options{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		after := file
		if tt.remove.Kind == edit.Package {
			after = os.DevNull
		}
		if want := "--- " + file + "\n+++ " + after + "\n" + tt.want; string(r.Diff) != want {
			t.Errorf("got\n%s\nwant\n%s", r.Diff, want)
		}
	}
}

// TestRepeat checks that an edit that was made before changes nothing.
func TestRepeat(t *testing.T) {
	_, inYAML := write(t)
	inJSON := filepath.Join(t.TempDir(), "oak.json")
	text := `{"schema": "olm.package", "name": "oak", "defaultChannel": "stable"}
{"schema": "olm.channel", "package": "oak", "name": "stable", "entries": [{"name": "oak.v1.0.0"}]}
{"schema": "olm.bundle", "package": "oak", "name": "oak.v1.0.0", "image": "example.com/oak:1",
  "properties": [{"type": "olm.package", "value": {"packageName": "oak", "version": "1.0.0"}}]}
`
	if err := os.WriteFile(inJSON, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{inYAML, inJSON} {
		for _, message := range []string{
			"old", "use\n1.1\n", "use\n1.1", "use\r\n1.1", "\n use 1.1", "use  \n\n\n1.1 ", "\t", "y", "1.0", "a: b", "#", `' "`, "\u2028",
			strings.Repeat("long ", 100),
		} {
			deprecate(t, file, message)
			before := read(t, file)
			if notes := deprecate(t, file, message); len(notes) != 1 || read(t, file) != before {
				t.Errorf("a second time, %q of %s changes to\n%s\n%q", message, filepath.Base(file), read(t, file), notes)
			}
		}
	}
}

// TestRepeatInStyles checks that a value is not written again in another style.
func TestRepeatInStyles(t *testing.T) {
	const head = "---\nschema: olm.deprecations\npackage: oak\nentries:\n- reference: {schema: olm.bundle, name: oak.v1.0.0}\n"
	for _, style := range []string{
		"|-\n    use\n    1.1\n", ">-\n    use\n\n    1.1\n", "'use\n\n    1.1'\n", "\"use\\\n    \\n1.1\"\n", "use\n\n    1.1\n",
	} {
		_, file := write(t)
		if err := os.WriteFile(file, []byte(catalog+head+"  message: "+style), 0o600); err != nil {
			t.Fatal(err)
		}
		if deprecate(t, file, "use\n1.1"); read(t, file) != catalog+head+"  message: "+style {
			t.Errorf("%q changes to\n%s", style, read(t, file))
		}
	}
}

// deprecate deprecates the bundle, and returns the notes.
func deprecate(t *testing.T, file, message string) []string {
	t.Helper()
	e := edit.Deprecate{Kind: edit.Bundle, Name: "oak.v1.0.0", Message: message}
	r, err := apply(t, file, e, edit.Options{})
	if err != nil || len(r.Problems) > 0 {
		t.Fatalf("%q: %v, %v", message, r, err)
	}
	return r.Notes
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestResume checks that an edit that was killed can be repeated: it starts from each state in between, in which some of
// the files are as before, and others as after it.
func TestResume(t *testing.T) {
	split := map[string]string{}
	for i, text := range strings.Split(catalog, "---\n") {
		split[[]string{"a-package", "m-stable", "c-next", "k-bundle"}[i]+".yaml"] = text
	}
	other := "schema: olm.bundle\npackage: oak\nname: oak.v2.0.0\nimage: example.com/oak:2\nproperties:\n" +
		"- {type: olm.package, value: {packageName: oak, version: 2.0.0}}\n"
	split["b-bundle.yaml"] = other + "---\nschema: example.com/other\npackage: oak\n"
	split["c-next.yaml"] += "- {name: oak.v2.0.0, replaces: oak.v1.0.0}\n"
	b := declcfg.Bundle{Schema: declcfg.SchemaBundle, Package: "oak", Name: "oak.v3.0.0", Image: "example.com/oak:3"}
	b.Properties = []declcfg.Property{{Type: "olm.package", Value: []byte(`{"packageName": "oak", "version": "3.0.0"}`)}}
	for name, e := range map[string]edit.Edit{
		"add": edit.Add{Bundle: &b, Channel: "next"}, "add with a channel": edit.Add{Bundle: &b, Channel: "new"},
		"promote": edit.Promote{Bundle: "oak.v2.0.0", To: "stable"}, "promote to a new channel": edit.Promote{Bundle: "oak.v2.0.0", To: "new"},
		"deprecate":       edit.Deprecate{Kind: edit.Channel, Name: "next", Message: "old"},
		"default channel": edit.DefaultChannel{Channel: "next"},
		"remove a bundle": edit.Remove{Kind: edit.Bundle, Name: "oak.v2.0.0"}, "remove a package": edit.Remove{Kind: edit.Package, Name: "oak"},
		"remove a channel": edit.Remove{Kind: edit.Channel, Name: "next", WithBundles: true},
	} {
		t.Run(name, func(t *testing.T) {
			opts := edit.Options{Package: "oak", Create: true}
			change := func(dir string, dry bool) string {
				t.Helper()
				opts.DryRun = dry
				r, err := apply(t, dir, e, opts)
				if err != nil || len(r.Problems) > 0 {
					t.Fatalf("%+v, %v", r, err)
				}
				return string(r.Diff)
			}
			dir := writeFiles(t, split)
			var order []string
			for line := range strings.Lines(change(dir, true)) {
				if path, ok := strings.CutPrefix(line, "--- "); ok {
					order = append(order, filepath.Base(strings.TrimSpace(path)))
				}
			}
			change(dir, false)
			after := readFiles(t, dir)
			for done := range order {
				files := maps.Clone(split)
				for _, name := range order[:done] {
					text, ok := after[name]
					if files[name] = text; !ok {
						delete(files, name)
					}
				}
				dir := writeFiles(t, files)
				if change(dir, false); !maps.Equal(readFiles(t, dir), after) {
					t.Errorf("after %q of %q: %q, want %q", order[:done], order, readFiles(t, dir), after)
				}
			}
		})
	}
}

// writeFiles writes files to a new directory.
func writeFiles(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		files[e.Name()] = read(t, filepath.Join(dir, e.Name()))
	}
	return files
}
