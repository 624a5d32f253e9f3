package declcfg_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func exists(t testing.TB, name string) bool {
	t.Helper()
	_, err := os.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// names lists all files and directories below dir.
func names(t testing.TB, dir string) []string {
	t.Helper()
	var all []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if name != "." {
			all = append(all, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

const twoPackages = `{schema: olm.package, name: a}
---
{schema: olm.channel, package: a, name: c}
---
{schema: olm.package, name: b}
---
{schema: other, name: o}
`

func TestWriteDir(t *testing.T) {
	all := metas(t, source("a.yaml", twoPackages))
	for _, tt := range []struct {
		name   string
		format declcfg.Format
		dir    string // below a new one
		want   []string
	}{
		{"a new directory", "", "out", []string{"a", "a/catalog.json", "b", "b/catalog.json", "catalog.json"}},
		{"YAML", declcfg.YAML, "out", []string{"a", "a/catalog.yaml", "b", "b/catalog.yaml", "catalog.yaml"}},
		{"an empty directory", "", ".", []string{"a", "a/catalog.json", "b", "b/catalog.json", "catalog.json"}},
		{"new directories above", "", "x/y/out/", []string{"a", "a/catalog.json", "b", "b/catalog.json", "catalog.json"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), tt.dir)
			if err := declcfg.WriteDir(t.Context(), dir, all, declcfg.WriteOptions{Format: tt.format}); err != nil {
				t.Fatal(err)
			}
			expect(t, names(t, dir), tt.want)
			again := metas(t, declcfg.Source{Name: "out", FS: os.DirFS(dir)})
			declcfg.Sort(again)
			if got, want := write(t, again, declcfg.WriteOptions{}), write(t, all, declcfg.WriteOptions{}); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			text, err := os.ReadFile(filepath.Join(dir, tt.want[1]))
			if want := write(t, all[:2], declcfg.WriteOptions{Format: tt.format}); err != nil || string(text) != want {
				t.Errorf("%s: %v\n%s\nwant\n%s", tt.want[1], err, text, want)
			}
		})
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := declcfg.WriteDir(t.Context(), dir, nil, declcfg.WriteOptions{}); err != nil || !exists(t, dir) {
		t.Errorf("an empty catalog makes no directory: %v", err)
	}
}

// TestWriteDirFails checks that a failure leaves everything unchanged.
func TestWriteDirFails(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	fails := func(*declcfg.Bundle) error { return errors.New("edit failed") }
	bundle := twoPackages + "---\n{schema: olm.bundle, package: z, name: x}\n"
	for _, tt := range []struct {
		name, in string
		ctx      context.Context
		prepare  []string // see mkdirs
		out      string
		edit     func(*declcfg.Bundle) error
		want     string
	}{
		{"not empty", twoPackages, t.Context(), []string{"out/x"}, "out", nil, `the output directory "OUT" is not empty`},
		{"a file", twoPackages, t.Context(), []string{"out"}, "out", nil, "make the output directory: "},
		{"below a file", twoPackages, t.Context(), []string{"x"}, "x/out", nil, "make the output directory: "},
		{"a link to nothing", twoPackages, t.Context(), []string{"out -> none"}, "out", nil, ""},
		{"too long a name", twoPackages, t.Context(), nil, "x/y/" + strings.Repeat("x", 300), nil, ""},
		{"canceled", twoPackages, canceled, nil, "x/out", nil, "context canceled"},
		{"an edit fails", bundle, t.Context(), nil, "x/out", fails, "c/a.yaml:9:1: edit failed"},
		{"too long a package", "{schema: olm.package, name: a}\n---\n{schema: s, package: " + strings.Repeat("x", 300) + "}\n", t.Context(), nil, "out", nil, ""},
		{"a file where a directory is", "{schema: olm.package, name: catalog.json}\n---\n{schema: s}\n", t.Context(), nil, "out", nil, "create "},
		{
			"names that are no directories",
			"{schema: s, package: ..}\n---\n{schema: s, package: a/b}\n---\n{schema: s, package: .}\n---\n{schema: s, package: /x}\n---\n{schema: s, package: 'a\\b'}\n",
			t.Context(), nil, "out", nil,
			`c/a.yaml:1:1: the package name ".." cannot be that of a directory` + "\n" +
				`c/a.yaml:3:1: the package name "a/b" cannot be that of a directory` + "\n" +
				`c/a.yaml:5:1: the package name "." cannot be that of a directory` + "\n" +
				`c/a.yaml:7:1: the package name "/x" cannot be that of a directory` + "\n" +
				`c/a.yaml:9:1: the package name "a\\b" cannot be that of a directory`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := mkdirs(t, tt.prepare...)
			before := names(t, root)
			out := filepath.Join(root, tt.out)
			opts := declcfg.WriteOptions{Edit: tt.edit}
			err := declcfg.WriteDir(tt.ctx, out, metas(t, source("a.yaml", tt.in)), opts)
			if want := strings.ReplaceAll(tt.want, "OUT", out); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
			expect(t, names(t, root), before)
		})
	}
}

// TestWriteDirEmptiesItAgain checks that a directory that was empty is empty again after a failure.
func TestWriteDirEmptiesItAgain(t *testing.T) {
	dir := t.TempDir()
	all := metas(t, source("a.yaml", twoPackages+"---\n{schema: olm.bundle, package: z, name: x}\n"))
	declcfg.Sort(all)
	fails := func(*declcfg.Bundle) error { return errors.New("edit failed") }
	if err := declcfg.WriteDir(t.Context(), dir, all, declcfg.WriteOptions{Edit: fails}); err == nil {
		t.Error("no error")
	}
	expect(t, names(t, dir), nil)
	if !exists(t, dir) {
		t.Error("the directory is gone")
	}
}
