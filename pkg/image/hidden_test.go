package image

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestHide checks that an image on a base does not have what is hidden, whatever layer has it, and that layers with
// nothing else are left out.
func TestHide(t *testing.T) {
	registry := newRegistry(t)
	content := func(entries ...string) Content { return Content{Source: mapOf(time.Time{}, 0o644, entries...)} }
	below := mustBuild(t, BuildOptions{Contents: []Content{
		content("bin/opm=program", "configs/a=1", "tmp/other=2", "configs-too=3"),
		content("configs/b=4", "configs/c/d=5"),
		content("tmp/cache/x=6"),
		content("etc/e=7"),
	}})
	base := mustOpen(t, registry.push(t, "org/base:v1", below), testOptions(t))
	if err := base.Hide(t.Context(), "/configs/", "tmp/cache", "absent"); err != nil {
		t.Fatal(err)
	}
	if want := []bool{false, true, true, false}; !slices.Equal(base.hidden.layers, want) {
		t.Errorf("left out: %v, want %v", base.hidden.layers, want)
	}
	built := mustBuild(t, BuildOptions{Base: base, Contents: []Content{content("configs/new=8")}})
	ref := registry.host + "/org/built:v1"
	if _, err := Push(t.Context(), built, ref, testOptions(t)); err != nil {
		t.Fatal(err)
	}
	fsys, err := mustOpen(t, ref, testOptions(t)).Files(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, fsys, filesOf("bin/opm=program", "tmp/other=2", "configs-too=3", "etc/e=7", "configs/new=8"))
	if _, err := fs.Stat(fsys, "tmp/cache"); err == nil {
		t.Error("tmp/cache exists")
	}
	config, err := built.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := built.Layers()
	if err != nil || len(layers) != 4 || len(config.RootFS.DiffIDs) != 4 || len(config.History) != 4 {
		t.Fatalf("%d layers, %d digests, history %v, %v", len(layers), len(config.RootFS.DiffIDs), config.History, err)
	}
	for n, l := range layers {
		if id, err := l.DiffID(); err != nil || id != config.RootFS.DiffIDs[n] {
			t.Errorf("layer %d has the digest %v and not %v, %v", n, id, config.RootFS.DiffIDs[n], err)
		}
	}
	if names := headers(t, layers[2]); len(names) != 1 || !strings.HasPrefix(names[0], ".wh.configs 644 ") {
		t.Errorf("whiteouts: %v", names)
	}
	if err := base.Hide(t.Context(), "/"); err == nil {
		t.Error("the root can be hidden")
	}
}

// TestHideParents checks that a layer is kept if only it has a parent of what is hidden, such as tmp.
func TestHideParents(t *testing.T) {
	h := &hider{paths: []string{"tmp/cache"}, directories: map[string]bool{}, covered: map[string]bool{}}
	for i, tt := range []struct {
		names string
		want  bool
	}{
		{"bin bin/opm", false},
		{"tmp tmp/cache tmp/cache/x", false}, // nothing else has tmp
		{". tmp tmp/cache/y", true},
		{"tmp/cache-too", false},
		{"tmp", false},
	} {
		if got := h.leavesOut(strings.Fields(tt.names)); got != tt.want {
			t.Errorf("%d: %q: %v", i, tt.names, got)
		}
	}
	if !h.covered["tmp/cache"] {
		t.Error("tmp/cache is not hidden in the layer that is kept")
	}
}
