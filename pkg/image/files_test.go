package image

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestFiles(t *testing.T) {
	img := imageOf(t, nil, tarOf(t, "c/a=1", "c/b=1", "x/l->/c/a", "bad/device%"), tarOf(t, "c/.wh.b=", "c/d=2"))
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	ref := newRegistry(t).push(t, "org/image:v1", img)
	opts := testOptions(t)
	opened := mustOpen(t, ref, opts)
	for _, tt := range []struct {
		dir   string
		names []string
		want  []string
	}{
		{"c", nil, []string{"a=1", "d=2"}},
		{"/c/", []string{"d", "e"}, []string{"d=2"}},
		{"/", []string{"x"}, []string{"x/l=1"}},
	} {
		fsys, err := opened.Files(t.Context(), tt.dir, tt.names...)
		if err != nil {
			t.Fatal(err)
		}
		wantFiles(t, fsys, filesOf(tt.want...))
	}

	prefix := "read image " + ref + ": "
	_, err = opened.Files(t.Context(), "bad")
	if want := prefix + "layer " + digestOf(t, layers[0]) + `: entry "bad/device": `; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
	if _, err = opened.Files(t.Context(), "/y"); !errors.Is(err, fs.ErrNotExist) || err.Error() != prefix+"open /y: file does not exist" {
		t.Errorf("got error %v", err)
	}
	for _, limits := range []Limits{{Files: 2}, {Unpacked: 4000}} {
		opts.Limits = limits
		if _, err := mustOpen(t, ref, opts).Files(t.Context(), "c"); !errors.Is(err, ErrLimit) {
			t.Errorf("%+v: got error %v", limits, err)
		}
	}
}

// TestClosedImage checks that closing an image closes its files.
func TestClosedImage(t *testing.T) {
	img := mustOpen(t, newRegistry(t).push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "c/a=1"))), testOptions(t))
	fsys, err := img.Files(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := img.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(fsys, "a"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want an error that wraps fs.ErrClosed", err)
	}
}
