package tarfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/internal/testing/tartest"
)

// layersOf returns layers in memory, named by their index.
func layersOf(layers ...[]byte) []Layer {
	var list []Layer
	for n, data := range layers {
		list = append(list, Layer{
			Name: fmt.Sprint(n),
			Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		})
	}
	return list
}

// openUnion returns a directory of layers, and closes it with the test.
func openUnion(t testing.TB, limits Limits, dir string, layers ...[]byte) (*FS, error) {
	t.Helper()
	fsys, err := Union(t.Context(), layersOf(layers...), dir, nil, Options{Limits: limits})
	if err == nil {
		t.Cleanup(func() {
			if err := fsys.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return fsys, err
}

func mustUnion(t testing.TB, dir string, layers ...[]byte) *FS {
	t.Helper()
	fsys, err := openUnion(t, Limits{}, dir, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

func TestUnion(t *testing.T) {
	type layers [][]string
	tests := []struct {
		name   string
		layers layers
		dir    string
		want   []string
		err    string // part of the error; want is then ignored
	}{
		{"one layer", layers{{"configs/", "configs/a=1", "configs/d/b=2", "other=3"}}, "/configs",
			[]string{"a=1", "d/b=2"}, ""},
		{"names with dots and slashes", layers{{"./configs/a=1", "/configs/b=2", "configs//c=3", "x/../configs/d=4"}},
			"configs/", []string{"a=1", "b=2", "c=3", "d=4"}, ""},
		{"all of the image", layers{{"a=1", "d/b=2"}}, "/", []string{"a=1", "d/b=2"}, ""},
		{"an empty label is the root", layers{{"a=1"}}, "", []string{"a=1"}, ""},
		{"a name that begins alike", layers{{"configs-old/a=1", "configs/b=2"}}, "configs", []string{"b=2"}, ""},
		{"upper over lower", layers{{"c/a=1", "c/b=1"}, {"c/a=2"}}, "c", []string{"a=2", "b=1"}, ""},
		{"same layer twice", layers{{"c/a=1"}, {"c/a=2"}, {"c/a=1"}}, "c", []string{"a=1"}, ""},
		{"later in one layer", layers{{"c/a=1", "c/a=2"}}, "c", []string{"a=2"}, ""},

		{"whiteout of a file", layers{{"c/a=1", "c/b=1"}, {"c/.wh.a="}}, "c", []string{"b=1"}, ""},
		{"whiteout of a directory", layers{{"c/d/a=1", "c/b=1"}, {"c/.wh.d="}}, "c", []string{"b=1"}, ""},
		{"whiteout of the directory asked for", layers{{"c/a=1"}, {".wh.c="}}, "c", nil, "file does not exist"},
		{"whiteout of one above", layers{{"x/c/a=1"}, {".wh.x=", "x/c/b=2"}}, "x/c", []string{"b=2"}, ""},
		{"whiteout hides lower layers only", layers{{"c/a=1"}, {"c/a=2", "c/.wh.a="}}, "c", []string{"a=2"}, ""},
		{"whiteout of what is not there", layers{{"c/a=1"}, {"c/.wh.zzz=", "nowhere/.wh.x="}}, "c", []string{"a=1"}, ""},
		{"opaque", layers{{"c/a=1", "c/d/b=1"}, {"c/d/n=2", "c/d/.wh..wh..opq="}}, "c", []string{"a=1", "d/n=2"}, ""},
		{"opaque above", layers{{"x/c/a=1"}, {"x/.wh..wh..opq=", "x/c/b=2"}}, "x/c", []string{"b=2"}, ""},
		{"opaque root", layers{{"c/a=1"}, {".wh..wh..opq=", "c/b=2"}}, "c", []string{"b=2"}, ""},
		{"opaque twice", layers{{"c/a=1"}, {"c/.wh..wh..opq=", "c/b=2"}, {"c/.wh..wh..opq=", "c/d=3"}}, "c",
			[]string{"d=3"}, ""},
		{"names of union file systems", layers{{"c/a=1", ".wh..wh.plnk/x=1", ".wh..wh.aufs="}}, "c", []string{"a=1"}, ""},
		{"whiteout comes back", layers{{"c/a=1"}, {"c/.wh.a="}, {"c/a=3"}}, "c", []string{"a=3"}, ""},
		{"whiteout of nothing", layers{{"c/a=1"}, {"c/.wh.="}}, "c", nil, `entry "c/.wh.": whiteout without a name`},
		{"whiteout of the parent", layers{{"c/a=1"}, {"c/.wh...="}}, "c", nil, "whiteout without a name"},

		{"file over directory", layers{{"c/d/a=1"}, {"c/d=2"}}, "c", []string{"d=2"}, ""},
		{"directory over file", layers{{"c/d=1"}, {"c/d/", "c/d/a=2"}}, "c", []string{"d/a=2"}, ""},
		{"directory over directory", layers{{"c/d/a=1"}, {"c/d/"}}, "c", []string{"d/a=1"}, ""},
		{"link over directory", layers{{"c/d/a=1", "c/e/b=1"}, {"c/d->e"}}, "c", []string{"e/b=1"}, ""},
		{"directory over link", layers{{"c/d->e", "c/e/b=1"}, {"c/d/", "c/d/a=2"}}, "c", []string{"e/b=1", "d/a=2"}, ""},
		{"file below a file", layers{{"c/d=1"}, {"c/d/a=2"}}, "c", nil, "not a directory"},
		{"the directory is a file", layers{{"c=1"}}, "c", nil, "open c: not a directory"},
		{"the directory is not there", layers{{"d/a=1"}}, "/c", nil, "open /c: file does not exist"},
		{"no layers", nil, "/c", nil, "file does not exist"},

		{"hard link", layers{{"c/a=1", "c/b=>c/a"}}, "c", []string{"a=1", "b=1"}, ""},
		{"hard link to a lower layer", layers{{"c/a=1"}, {"c/b=>/c/a"}}, "c", []string{"a=1", "b=1"}, ""},
		{"hard link out of the directory", layers{{"x/a=1", "c/b=>x/a"}}, "c", []string{"b=1"}, ""},
		{"hard link keeps what it linked to", layers{{"c/a=1", "c/b=>c/a"}, {"c/a=2"}, {"c/.wh.a="}}, "c",
			[]string{"b=1"}, ""},
		{"hard link through a link", layers{{"x/a=1", "y->x", "c/b=>y/a"}}, "c", []string{"b=1"}, ""},
		{"hard link to nothing", layers{{"c/b=>c/a", "c/a=1"}}, "c", nil,
			`entry "c/b": hard link to "c/a": file does not exist`},
		{"hard link to nothing outside", layers{{"c/b=>x/a"}}, "c", nil, `hard link to "x/a": file does not exist`},
		{"hard link to a directory", layers{{"c/d/", "c/b=>c/d"}}, "c", nil, "is a directory"},
		{"hard link out of the image", layers{{"c/b=>../../etc/passwd"}}, "c", nil, "leads out of the root directory"},

		{"link", layers{{"c/a=1", "c/b->a", "c/d/e->../a"}}, "c", []string{"a=1", "b=1", "d/e=1"}, ""},
		{"absolute link", layers{{"c/a=1", "c/b->/c/a"}}, "c", []string{"a=1", "b=1"}, ""},
		{"link out of the directory", layers{{"c/b->/x/a", "c/d->../x/a"}, {"x/a=1"}}, "c", []string{"b=1", "d=1"}, ""},
		{"link to a link", layers{{"c/b->/x/a", "x/a->../y/a", "y/a=1"}}, "c", []string{"b=1"}, ""},
		{"links never leave the root", layers{{"etc/passwd=mine", "c/b->../../../../etc/passwd"}}, "c",
			[]string{"b=mine"}, ""},
		{"dangling link", layers{{"c/a=1", "c/b->nowhere", "c/d->/x/y"}}, "c", []string{"a=1"}, ""},
		{"looping link", layers{{"c/a=1", "c/b->d", "c/d->b", "c/self->self"}}, "c", []string{"a=1"}, ""},
		{"link through a loop", layers{{"c/a=1", "c/b->/x/a/f", "x/a->a"}}, "c", []string{"a=1"}, ""},
		{"link and dots", layers{{"x/y->/z/w", "z/a=1", "z/w/b=2", "c/b->/x/y/../a"}}, "c", []string{"b=1"}, ""},
		{"link to the directory", layers{{"c->data/c", "data/c/a=1"}}, "c", []string{"a=1"}, ""},
		{"link to the directory, absolute", layers{{"data/c/a=1", "c->/data/c"}}, "c", []string{"a=1"}, ""},
		{"link above the directory", layers{{"x->/data", "data/c/a=1"}}, "x/c", []string{"a=1"}, ""},
		{"the directory is a loop", layers{{"c->d", "d->c"}}, "c", nil, "too many symbolic links, or a loop of them: the last is of layer 0"},
		{"files put through a link", layers{{"c->data", "data/a=1"}, {"c/b=2"}}, "c", []string{"a=1", "b=2"}, ""},
		{"files put through a link elsewhere", layers{{"x->/c", "c/a=1"}, {"x/b=2"}}, "c", []string{"a=1", "b=2"}, ""},
		{"files put through a link to what is above", layers{{"host->/", "v/c/a=1"}, {"host/v/c/b=2"}}, "v/c",
			[]string{"a=1", "b=2"}, ""},
		{"whiteout through a link elsewhere", layers{{"x->/c", "c/a=1", "c/b=1"}, {"x/.wh.a="}}, "c",
			[]string{"b=1"}, ""},
		{"opaque directory over a link", layers{{"x->c", "c/a=1"}, {"x/", "x/.wh..wh..opq=", "x/b=2"}}, "c",
			[]string{"a=1"}, ""},
		{"whiteout in a directory over a link", layers{{"x->c", "c/d/a=1"}, {"x/", "x/d/", "x/d/.wh.a="}}, "c",
			[]string{"d/a=1"}, ""},
		{"two links to the root", layers{{"h1->/", "h2->/", "c/a=1"}, {"h1/h2/c/b=2", "h2/c/d=3"}}, "c",
			[]string{"a=1", "b=2", "d=3"}, ""},
		{"a link that was replaced", layers{{"x->/wrong", "wrong/a=bad", "c/b->/x/a"}, {"x/", "x/a=1"}}, "c",
			[]string{"b=1"}, ""},

		{"device", layers{{"c/a=1", "c/null%"}}, "c", nil, `entry "c/null": it is a device`},
		{"device over a file", layers{{"c/a=1", "c/b=1"}, {"c/b%"}}, "c", nil, `entry "c/b": it is a device`},
		{"device over the directory", layers{{"c/a=1"}, {"c%"}}, "c", nil, `entry "c": it is a device`},
		{"device elsewhere", layers{{"c/a=1", "x/null%"}}, "c", []string{"a=1"}, ""},
		{"devices where engines put theirs", layers{{"a=1", "dev/null%", "dev/pts/1%"}}, "/", []string{"a=1"}, ""},
		{"link to a device", layers{{"c/a=1", "c/b->/dev/null", "dev/null%"}}, "c", []string{"a=1"}, ""},
		{"hard link to a device", layers{{"dev/null%", "c/a=>dev/null"}}, "c", nil,
			`entry "c/a": it is a device`},
		{"path that leaves", layers{{"c/a=1"}, {"../../etc/passwd=bad"}}, "c", nil, "it leads out of the root directory"},
		{"path that leaves below the directory", layers{{"c/../../c/a=1"}}, "c", nil, "it leads out of the root directory"},
		{"the root is a file", layers{{".=1"}}, "/", nil, "the root is not a directory"},
		{"bytes that are not text elsewhere", layers{{"etc/\xff\xfe=1", "c/a=1"}}, "c", []string{"a=1"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var data [][]byte
			for _, l := range tt.layers {
				data = append(data, tartest.Tar(t, l...))
			}
			fsys, err := openUnion(t, Limits{}, tt.dir, data...)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tartest.WantFiles(t, fsys, tartest.Files(tt.want...))
		})
	}
}

func TestUnionOfNames(t *testing.T) {
	layer := tartest.Tar(t, "bin/sh=x", "manifests/a=1", "metadata->m", "m/b=2", "tests/c=3", "x/")
	fsys, err := Union(t.Context(), layersOf(layer), "/", []string{"manifests/", "metadata", "missing"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fsys.Close()
	tartest.WantFiles(t, fsys, tartest.Files("manifests/a=1", "m/b=2"))
	if data, err := fs.ReadFile(fsys, "metadata/b"); err != nil || string(data) != "2" {
		t.Errorf("metadata/b: got %q, %v", data, err)
	}
	for _, name := range []string{"tests/c", "tests", "x", "bin"} {
		if _, err := fs.Stat(fsys, name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is held, too: %v", name, err)
		}
	}
	none, err := Union(t.Context(), layersOf(layer), "/", []string{"missing"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	tartest.WantFiles(t, none, tartest.Files())
}

// TestUnionReads counts the reads of each layer.
func TestUnionReads(t *testing.T) {
	for _, tt := range []struct {
		name   string
		layers [][]string
		names  []string // the listed names of the first layer
		want   []int
	}{
		{"a link out to a directory", [][]string{{"c/a=1", "x/b=2", "c/l->a", "c/m->/x"}, {"c/d=>c/a", "x/e=3"}}, nil,
			[]int{2, 2}},
		{"no links out", [][]string{{"c/a=1", "x/b=2", "c/l->a"}, {"c/d=>c/a", "x/e=3"}}, nil, []int{1, 1}},
		{"a link out", [][]string{{"x/b=2"}, {"c/l->/x/b"}, {"x/e=3"}}, nil, []int{2, 1, 1}},
		{"a link out to what is replaced", [][]string{{"x/b=2"}, {"c/l->/x/b"}, {"x/b=3"}}, nil, []int{1, 1, 2}},
		{"listed names elsewhere", [][]string{{"x/b=2"}, {"c/a=1", "y->x"}}, []string{"x", "x/b"}, []int{0, 1}},
		{"listed names in the directory", [][]string{{"c/b=2"}, {"c/a=1"}}, []string{"c/b"}, []int{1, 1}},
		{"listed names above the directory", [][]string{{"c/b=2"}, {"c/a=1"}}, []string{"c"}, []int{1, 1}},
		{"a link to a layer with listed names", [][]string{{"x/b=2"}, {"c/l->/x/b"}}, []string{"x/b"}, []int{2, 2}},
		{"a directory in a layer with listed names", [][]string{{"x/b=2"}, {"c->x"}}, []string{"x/b"}, []int{2, 2}},
		{"a hard link to a layer with listed names", [][]string{{"x/b=2"}, {"c/l=>x/b"}}, []string{"x/b"}, []int{2, 2}},
	} {
		var layers []Layer
		opened := make([]int, len(tt.layers))
		for n, entries := range tt.layers {
			l := layersOf(tartest.Tar(t, entries...))[0]
			layers = append(layers, Layer{Open: func(ctx context.Context) (io.ReadCloser, error) {
				opened[n]++
				return l.Open(ctx)
			}})
		}
		layers[0].Names = tt.names
		fsys, err := Union(t.Context(), layers, "c", nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(opened, tt.want) {
			t.Errorf("%s: layers were opened %d times, want %d", tt.name, opened, tt.want)
		}
		fsys.Close()
	}
}

// TestChangedLayer reads a layer that has changed when it is read again.
func TestChangedLayer(t *testing.T) {
	for _, tt := range []struct {
		second []byte
		want   string
	}{
		{tartest.Tar(t, "c/l->/x"), "layer test: it changed since it was first read"},
		{tartest.Tar(t, "c/l->/x", "x=1"), `layer test: entry "x": unexpected EOF`},
		{tartest.Tar(t, "c/l->/x", "d/"), `layer test: entry "d/": unexpected EOF`},
	} {
		contents := [][]byte{tartest.Tar(t, "c/l->/x", "x=123"), tt.second}
		_, err := Union(t.Context(), []Layer{{Name: "test", Open: func(context.Context) (io.ReadCloser, error) {
			data := contents[0]
			contents = contents[1:]
			return io.NopCloser(bytes.NewReader(data)), nil
		}}}, "c", nil, Options{})
		if err == nil || err.Error() != tt.want {
			t.Errorf("got error %v, want %q", err, tt.want)
		}
	}
}

// TestStreamError checks that an error of the stream itself, such as a wrong digest, takes precedence over its content.
func TestStreamError(t *testing.T) {
	broken := errors.New("broken")
	for _, data := range [][]byte{nil, []byte("no archive"), tartest.Tar(t, "c/a=1"), tartest.Gzip(t, tartest.Tar(t, "c/a=1"))[:20]} {
		r := io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken))
		_, err := Union(t.Context(), []Layer{{Name: "test", Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(r), nil
		}}}, "c", nil, Options{})
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "layer test: ") {
			t.Errorf("%d bytes: got error %v", len(data), err)
		}
	}
}

// TestUnionFS runs the checks of testing/fstest.
func TestUnionFS(t *testing.T) {
	shared.OneGoroutine(t)
	fsys := mustUnion(t, "/c", tartest.Tar(t, "c/a=hello", "c/d/b="+strings.Repeat("x", 3<<20), "c/l->/c/d/b", "c/e/"))
	if err := fstest.TestFS(fsys, "a", "d/b", "l", "e"); err != nil {
		t.Error(err)
	}
	f, err := fsys.Open("l")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	at, ok := f.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		t.Fatal("files cannot be read at an offset")
	}
	var p [4]byte
	if _, err := at.ReadAt(p[:], 3<<20-4); err != nil || string(p[:]) != "xxxx" {
		t.Errorf("got %q, %v", p, err)
	}
}

func TestReadLink(t *testing.T) {
	fsys := mustUnion(t, "c", tartest.Tar(t, "c->/data", "data/a=1", "data/d/l->/data/a", "data/d/m->/c/a", "data/d/n->../a",
		"data/d/o->/etc/x", "data/d/p->/c"))
	for name, want := range map[string]string{"d/l": "../a", "d/m": "../a", "d/n": "../a", "d/o": "/etc/x", "d/p": "../."} {
		if got, err := fs.ReadLink(fsys, name); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := fs.ReadLink(fsys, "a"); err == nil {
		t.Error("a file is no link")
	}
}

// TestClosedUnion checks that files cannot be read after Close.
func TestClosedUnion(t *testing.T) {
	for _, size := range []int{2, 2 << 20} {
		fsys := mustUnion(t, "c", tartest.Tar(t, "c/a="+strings.Repeat("x", size)))
		if err := fsys.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := fs.ReadFile(fsys, "a"); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("got %v, want an error that wraps fs.ErrClosed", err)
		}
	}
}
