package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// layered returns an Image of layers in memory, each an archive.
func layered(t testing.TB, limits Limits, layers ...[]byte) *Image {
	t.Helper()
	img := &Image{Ref: "test", limits: limits, source: memorySource{}}
	for _, data := range layers {
		h, _, err := v1.SHA256(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		img.source.(memorySource)[h] = data
		img.layers = append(img.layers, v1.Descriptor{Digest: h, Size: int64(len(data))})
	}
	t.Cleanup(func() {
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	})
	return img
}

// A memorySource has layers by digest.
type memorySource map[v1.Hash][]byte

func (s memorySource) document(_ context.Context, desc v1.Descriptor) ([]byte, error) {
	return s[desc.Digest], nil
}

func (s memorySource) blob(_ context.Context, desc v1.Descriptor) (io.ReadCloser, error) {
	return newCheckedReader(io.NopCloser(bytes.NewReader(s[desc.Digest])), desc)
}

func TestFiles(t *testing.T) {
	type layers [][]string
	tests := []struct {
		name   string
		layers layers
		dir    string
		want   []string
		err    string // part of the error of Files; want does not count then
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
		{"whiteout of nothing", layers{{"c/a=1"}, {"c/.wh.="}}, "c", nil, `entry "c/.wh.": it is a whiteout of nothing`},
		{"whiteout of the parent", layers{{"c/a=1"}, {"c/.wh...="}}, "c", nil, "a whiteout of nothing"},

		{"file over directory", layers{{"c/d/a=1"}, {"c/d=2"}}, "c", []string{"d=2"}, ""},
		{"directory over file", layers{{"c/d=1"}, {"c/d/", "c/d/a=2"}}, "c", []string{"d/a=2"}, ""},
		{"directory over directory", layers{{"c/d/a=1"}, {"c/d/"}}, "c", []string{"d/a=1"}, ""},
		{"link over directory", layers{{"c/d/a=1", "c/e/b=1"}, {"c/d->e"}}, "c", []string{"e/b=1"}, ""},
		{"directory over link", layers{{"c/d->e", "c/e/b=1"}, {"c/d/", "c/d/a=2"}}, "c", []string{"e/b=1", "d/a=2"}, ""},
		{"file below a file", layers{{"c/d=1"}, {"c/d/a=2"}}, "c", nil, "not a directory"},
		{"the directory is a file", layers{{"c=1"}}, "c", nil, "open c: not a directory"},
		{"the directory is not there", layers{{"d/a=1"}}, "/c", nil, "read image test: open /c: file does not exist"},
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
		{"hard link out of the image", layers{{"c/b=>../../etc/passwd"}}, "c", nil, "leads out of the image"},

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
		{"the directory is a loop", layers{{"c->d", "d->c"}}, "c", nil, "too many symbolic links, or a loop of them: the last is of layer sha256:"},
		{"files put through a link", layers{{"c->data", "data/a=1"}, {"c/b=2"}}, "c", []string{"a=1", "b=2"}, ""},
		{"files put through a link elsewhere", layers{{"x->/c", "c/a=1"}, {"x/b=2"}}, "c", []string{"a=1", "b=2"}, ""},
		{"files put through a link to what is above", layers{{"host->/", "v/c/a=1"}, {"host/v/c/b=2"}}, "v/c",
			[]string{"a=1", "b=2"}, ""},
		{"whiteout through a link elsewhere", layers{{"x->/c", "c/a=1", "c/b=1"}, {"x/.wh.a="}}, "c",
			[]string{"b=1"}, ""},
		{"two links to the root", layers{{"h1->/", "h2->/", "c/a=1"}, {"h1/h2/c/b=2", "h2/c/d=3"}}, "c",
			[]string{"a=1", "b=2", "d=3"}, ""},
		{"a link that was replaced", layers{{"x->/wrong", "wrong/a=bad", "c/b->/x/a"}, {"x/", "x/a=1"}}, "c",
			[]string{"b=1"}, ""},

		{"device", layers{{"c/a=1", "c/null%"}}, "c", nil, `entry "c/null": it is a device or a pipe`},
		{"device over a file", layers{{"c/a=1", "c/b=1"}, {"c/b%"}}, "c", nil, `entry "c/b": it is a device or a pipe`},
		{"device over the directory", layers{{"c/a=1"}, {"c%"}}, "c", nil, `entry "c": it is a device or a pipe`},
		{"device elsewhere", layers{{"c/a=1", "x/null%"}}, "c", []string{"a=1"}, ""},
		{"devices where engines put theirs", layers{{"a=1", "dev/null%", "dev/pts/1%"}}, "/", []string{"a=1"}, ""},
		{"link to a device", layers{{"c/a=1", "c/b->/dev/null", "dev/null%"}}, "c", []string{"a=1"}, ""},
		{"hard link to a device", layers{{"dev/null%", "c/a=>dev/null"}}, "c", nil,
			`entry "c/a": hard link to "dev/null": it is a device or a pipe`},
		{"path that leaves", layers{{"c/a=1"}, {"../../etc/passwd=bad"}}, "c", nil, "it leads out of the image"},
		{"path that leaves below the directory", layers{{"c/../../c/a=1"}}, "c", nil, "it leads out of the image"},
		{"the root is a file", layers{{".=1"}}, "/", nil, "the root of the image is not a directory"},
		{"bytes that are not text elsewhere", layers{{"etc/\xff\xfe=1", "c/a=1"}}, "c", []string{"a=1"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var data [][]byte
			for _, l := range tt.layers {
				data = append(data, tarOf(t, l...))
			}
			fsys, err := layered(t, Limits{}, data...).Files(t.Context(), tt.dir)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			wantFiles(t, fsys, filesOf(tt.want...))
		})
	}
}

func TestFilesOnly(t *testing.T) {
	img := layered(t, Limits{}, tarOf(t, "bin/sh=x", "manifests/a=1", "metadata->m", "m/b=2", "tests/c=3"))
	fsys, err := img.Files(t.Context(), "/", "manifests/", "metadata", "missing")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range filesOf("manifests/a=1", "metadata/b=2") {
		if got, err := fs.ReadFile(fsys, name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := fs.Stat(fsys, "tests/c"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("tests/c is held, too: %v", err)
	}
}

// TestFilesFS holds the result to what package fs demands.
func TestFilesFS(t *testing.T) {
	img := layered(t, Limits{}, tarOf(t, "c/a=hello", "c/d/b="+strings.Repeat("x", 3<<20), "c/l->/c/d/b", "c/e/"))
	fsys, err := img.Files(t.Context(), "/c")
	if err != nil {
		t.Fatal(err)
	}
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
	img := layered(t, Limits{}, tarOf(t, "c->/data", "data/a=1", "data/d/l->/data/a", "data/d/m->/c/a", "data/d/n->../a",
		"data/d/o->/etc/x", "data/d/p->/c"))
	fsys, err := img.Files(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"d/l": "../a", "d/m": "../a", "d/n": "../a", "d/o": "/etc/x", "d/p": "../."} {
		if got, err := fs.ReadLink(fsys, name); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
	if _, err := fs.ReadLink(fsys, "a"); err == nil {
		t.Error("a file is no link")
	}
}

// TestClosedImage tells that nothing is left open.
func TestClosedImage(t *testing.T) {
	img := layered(t, Limits{}, tarOf(t, "c/big="+strings.Repeat("x", 2<<20)))
	fsys, err := img.Files(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := img.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(fsys, "big"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want an error that wraps fs.ErrClosed", err)
	}
}
