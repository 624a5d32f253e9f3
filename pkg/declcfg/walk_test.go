package declcfg_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// walk returns the files with the objects of a catalog, and errors.
func walk(t *testing.T, sources ...declcfg.Source) []string {
	t.Helper()
	var got []string
	for m, err := range declcfg.Map(t.Context(), metaOf, sources...) {
		if err != nil {
			got = append(got, err.Error())
		} else {
			got = append(got, m.Pos.File)
		}
	}
	return got
}

func TestWalk(t *testing.T) {
	tests := []struct {
		name string
		tree []string // see mkdirs
		want []string
	}{
		{
			"lexical order, directory by directory, hidden ones too",
			[]string{"b.yaml", "a/z.yaml", "a.yaml", "a-/x.yaml", ".hidden/h.yaml", ".h.yaml"},
			[]string{"c/.h.yaml", "c/.hidden/h.yaml", "c/a/z.yaml", "c/a-/x.yaml", "c/a.yaml", "c/b.yaml"},
		},
		{
			"what is being written",
			[]string{"b.yaml", "a/.opm-1a2b.tmp", ".opm-3c4d.tmp/b.yaml", ".opm-notes.yaml"},
			[]string{"c/.opm-notes.yaml", "c/b.yaml"},
		},
		{
			"patterns",
			[]string{".indexignore: *.md\n/top.yaml\n", "README.md", "top.yaml", "a/top.yaml", "a/x.md", "a/.indexignore: !x.md\n"},
			[]string{"c/a/top.yaml", "c/a/x.md"},
		},
		{
			"patterns in an ignored directory count",
			[]string{".indexignore: a/\n", "a/x.yaml", "a/y.yaml", "a/.indexignore: !x.yaml\n"},
			[]string{"c/a/x.yaml"},
		},
		{
			"of two ignore files the later in the walk wins",
			[]string{".indexignore: x.yaml\n", ".a/.indexignore: !x.yaml\n", ".a/x.yaml", "b/.indexignore: !x.yaml\n", "b/x.yaml"},
			[]string{"c/b/x.yaml"},
		},
		{
			"a file that is no catalog file",
			[]string{"README.md: # Words\n\n- more words\n", "b.yaml"},
			[]string{"c/README.md:3:1: want an object, found a list (if this is not a catalog file, add it to .indexignore)", "c/b.yaml"},
		},
		{
			"links to files count once, by the path nearest the root and then the first",
			[]string{"d/a.yaml", "z.yaml -> d/a.yaml", "y.yaml -> z.yaml", "d/e/b.yaml", "d/f/b.yaml -> ../e/b.yaml"},
			[]string{"c/d/e/b.yaml", "c/y.yaml"},
		},
		{
			"a link counts where its file is ignored",
			[]string{".indexignore: data/\n", "data/a.yaml", "z.yaml -> data/a.yaml"},
			[]string{"c/z.yaml"},
		},
		{
			"a file counts where the link to it is ignored",
			[]string{".indexignore: z.yaml\n", "data/a.yaml", "z.yaml -> data/a.yaml"},
			[]string{"c/data/a.yaml"},
		},
		{
			"a mounted ConfigMap",
			[]string{
				"..2026_01/catalog.yaml", "..2026_01/more.yaml", "..2026_01/.indexignore: more.yaml\n", "..data -> ..2026_01",
				"catalog.yaml -> ..data/catalog.yaml", "more.yaml -> ..data/more.yaml", ".indexignore -> ..data/.indexignore",
			},
			[]string{"c/catalog.yaml"},
		},
		{
			"a link to a directory, and one to its own",
			[]string{"a/b/x.yaml", "link -> a/b", "self -> .", ".indexignore: self"},
			[]string{"c/link/x.yaml"},
		},
		{
			"links to files outside are followed",
			[]string{"x.yaml -> ../outside.yaml", "y.yaml -> ../outside.yaml"},
			[]string{"c/x.yaml"},
		},
		{
			"links that lead nowhere",
			[]string{
				"a.yaml", "dangling -> nowhere", "loop1 -> loop2", "loop2 -> loop1",
				"out -> ..", "abs -> /", "d/up -> ..", "through -> a.yaml/x",
			},
			[]string{
				"c/abs: symbolic link to a directory outside the catalog",
				"c/d/up: symbolic link to a directory that holds it",
				"c/dangling: symbolic link to a file that does not exist",
				"c/loop1: symbolic link that leads back to itself",
				"c/loop2: symbolic link that leads back to itself",
				"c/out: symbolic link to a directory outside the catalog",
				"c/through: not a directory",
				"c/a.yaml",
			},
		},
		{
			"links that lead nowhere and are ignored",
			[]string{
				".indexignore: *\n!a.yaml\n", "a.yaml", "dangling -> nowhere", "loop1 -> loop2", "loop2 -> loop1",
				"out -> ..", "abs -> /", "d/up -> ..",
			},
			[]string{"c/a.yaml"},
		},
		{
			"directories that link to each other",
			[]string{"a/b -> ../b", "b/a -> ../a", "b/x.yaml"},
			[]string{
				"c/a/b/a: symbolic link to a directory that holds it",
				"c/b/a/b: symbolic link to a directory that holds it",
				"c/b/x.yaml",
			},
		},
		{
			"an ignore file that cannot be read",
			[]string{".indexignore -> nowhere", "a.yaml"},
			[]string{"c/.indexignore: no such file or directory", "c/a.yaml"},
		},
		{"nothing", nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := mkdirs(t, tt.tree...)
			outside := filepath.Join(filepath.Dir(root), "outside.yaml")
			if err := os.WriteFile(outside, []byte("schema: s\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			expect(t, walk(t, declcfg.Source{Name: "c", FS: os.DirFS(root)}), tt.want)
		})
	}
}

func TestIgnored(t *testing.T) {
	ignored := declcfg.Source{FS: fstest.MapFS{
		".indexignore":     {Data: []byte("*.txt\n")},
		"a/.indexignore":   {Data: []byte("b.yaml\n!keep.txt\n")},
		"a/unreadable.txt": {Mode: fs.ModeNamedPipe},
	}}.Ignored()
	for name, want := range map[string]bool{
		"x.txt": true, "a/b.yaml": true, "a/c/new.txt": true, "b.yaml": false, "a/keep.txt": false,
	} {
		if got := ignored(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWalkManyLinks walks links whose number of paths doubles with every level.
func TestWalkManyLinks(t *testing.T) {
	const levels = 30
	tree := fstest.MapFS{fmt.Sprintf("%d/x.yaml", levels): {Data: []byte("schema: s\n")}}
	for i := range levels {
		for _, link := range []string{"a", "b"} {
			to := fmt.Appendf(nil, "../%d", i+1)
			tree[fmt.Sprintf("%d/%s", i, link)] = &fstest.MapFile{Data: to, Mode: fs.ModeSymlink}
		}
	}
	got := walk(t, declcfg.Source{Name: "c", FS: tree})
	if len(got) < 2 || got[len(got)-1] != "c/30/x.yaml" {
		t.Errorf("got %q, want errors and the file by its own path", got)
	}
}

func TestWalkRoot(t *testing.T) {
	expect(t, walk(t, declcfg.Source{Name: "c", FS: os.DirFS(filepath.Join(t.TempDir(), "none"))}),
		[]string{"c: no such file or directory"})
	root := mkdirs(t, "a.yaml")
	expect(t, walk(t, declcfg.Source{Name: root + "/", FS: os.DirFS(root)}), []string{root + "/a.yaml"})
}

func TestSources(t *testing.T) {
	a, b := source("x.yaml", "schema: s\n"), source("a.md", "schema: s\n", ".indexignore", "*.md")
	a.Name, b.Name = "second", "first"
	b.File = "a.md" // .indexignore does not apply to a named file
	expect(t, walk(t, b, a), []string{"first", "second/x.yaml"})
	b.File = "none.md"
	expect(t, walk(t, b, a), []string{"first: file does not exist", "second/x.yaml"})
	b.File = "."
	expect(t, walk(t, b, a), []string{"first: want a file, found a directory", "second/x.yaml"})
}

func TestNoHintForNamedFile(t *testing.T) {
	s := source("README", "words\n")
	s.File = "README"
	expect(t, read(t, s), []string{"c:1:1: want an object, found a string"})
}

func TestUnreadableFiles(t *testing.T) {
	denied := errors.New("disk on fire")
	files := source("a.yaml", "schema: a\n", "b.yaml", "schema: b\n")
	files.FS = brokenFS{files.FS, func(f fs.File) (fs.File, error) {
		info, _ := f.Stat()
		if info.Name() == "a.yaml" {
			return nil, &fs.PathError{Op: "open", Path: "/secret/a.yaml", Err: denied}
		}
		return f, nil
	}}
	expect(t, read(t, files), []string{"c/a.yaml: disk on fire", `c/b.yaml:1:1 {"schema":"b"}`})
	for _, err := range declcfg.Map(t.Context(), metaOf, files) {
		if e, _ := errors.AsType[*declcfg.Error](err); !errors.Is(err, denied) || e.Lost != nil {
			t.Errorf("error %#v, want one that wraps the cause and does not know what is lost", err)
		}
		break
	}
}

func TestFilesMustBeReadAtOffsets(t *testing.T) {
	files := source("a.yaml", "schema: a\n")
	files.FS = brokenFS{files.FS, func(f fs.File) (fs.File, error) { return struct{ fs.File }{f}, nil }}
	expect(t, read(t, files), []string{"c/a.yaml: the file system cannot read at an offset"})
}
