package edit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/edit"
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
		r, err := edit.Apply(t.Context(), path, edit.DefaultChannel{Channel: channel}, edit.Options{})
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
	if _, err := edit.Apply(t.Context(), file, e, edit.Options{}); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	unlock()
	if text, err := os.ReadFile(file); err != nil || string(text) != catalog {
		t.Errorf("%v, %s", err, text)
	}
	if _, err := edit.Apply(t.Context(), file, e, edit.Options{}); err != nil {
		t.Error(err)
	}
}

// TestInvalid checks that an invalid package is not written, and that its problems have the positions they would have.
func TestInvalid(t *testing.T) {
	_, file := write(t)
	r, err := edit.Apply(t.Context(), file, edit.Remove{Kind: edit.Channel, Name: "stable"}, edit.Options{})
	if err != nil || len(r.Problems) != 1 || r.Problems[0].Rule != "default-channel" || r.Problems[0].Pos.Line != 3 {
		t.Errorf("%v, %v", r, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != catalog {
		t.Errorf("%v, %s", err, text)
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
	r, err := edit.Apply(t.Context(), file, e, edit.Options{DryRun: true})
	if err != nil || strings.Count(string(r.Diff), "\n-") != strings.Count(last, "\n") {
		t.Errorf("%s, %v", r.Diff, err)
	}
	if _, err := edit.Apply(t.Context(), file, e, edit.Options{}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(text)) != strings.TrimSpace(catalog) {
		t.Errorf("%v, %s", err, text)
	}
}
