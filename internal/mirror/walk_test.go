package mirror

import (
	"fmt"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"

	"github.com/opm-toolchain/opm/pkg/image"
)

// indexOf returns an index of images and indexes, in this order.
func indexOf(entries ...mutate.Appendable) v1.ImageIndex {
	index := v1.ImageIndex(empty.Index)
	for _, e := range entries {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: e})
	}
	return index
}

// TestNestedIndexes checks that each manifest of an image is requested once, however often indexes name it, and that a
// manifest is put after the manifests that it refers to.
func TestNestedIndexes(t *testing.T) {
	const times = 4 // with a request for each way to the image, there would be 4⁴
	repeated := mutate.Appendable(newImage(t))
	for range 4 {
		var entries []mutate.Appendable
		for range times {
			entries = append(entries, repeated)
		}
		repeated = indexOf(append(entries, newImage(t))...)
	}
	leaf := newImage(t)
	low := indexOf(leaf, newImage(t))
	middle := indexOf(low, newImage(t))
	for name, tt := range map[string]struct {
		index     v1.ImageIndex
		manifests int
	}{
		"the same index many times":            {repeated.(v1.ImageIndex), 9},
		"an index at several depths":           {indexOf(low, middle, leaf), 6},
		"an index at several depths, reversed": {indexOf(leaf, middle, low), 6},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := newRegistry(t, true), newRegistry(t, true)
			digest := from.push(t, "nests/nest:v1", tt.index)
			from.push(t, "nests/nest:"+signTag(digest, ".sig"), newImage(t))
			from.reset()
			img, err := Names{}.New(from.host + "/nests/nest@" + digest)
			if err != nil {
				t.Fatal(err)
			}
			opener := from.opener(t)
			target, err := ToRegistry(opener, to.host)
			if err != nil {
				t.Fatal(err)
			}
			_, record := mustRun(t.Context(), t, []*Image{img}, target, Options{Opener: opener})
			asked := map[string]int{}
			for _, r := range from.requests() {
				if strings.HasPrefix(r, "GET ") && strings.Contains(r, "/manifests/sha256:") {
					asked[r]++
				}
			}
			for r, n := range asked {
				if n > 1 {
					t.Errorf("%d times %s", n, r)
				}
			}
			if got := len(record.Images[0].Manifests); got != tt.manifests+1 {
				t.Errorf("got %d manifests, want %d and a signature", got, tt.manifests)
			}
			checkPull(t, to, "nests/nest@"+digest)
		})
	}
}

// TestManifestLimits checks that an image with too many manifests, or too many bytes of them, fails, and that others are
// copied.
func TestManifestLimits(t *testing.T) {
	from, to := newRegistry(t, true), newRegistry(t, true)
	var entries []mutate.Appendable
	for range 10 {
		entries = append(entries, newImage(t))
	}
	images := map[string]string{ // the reason of the failure by repository
		"fine":  "",
		"many":  "more than 11 manifests",
		"large": "its manifests have more than",
	}
	from.push(t, "fine:v1", indexOf(entries...))
	from.push(t, "many:v1", indexOf(append(entries, newImage(t))...))
	large := newImage(t)
	for i := range 10 {
		entries[i] = mutate.Annotations(large, map[string]string{fmt.Sprint(i): strings.Repeat("x", 20_000)}).(v1.Image)
	}
	from.push(t, "large:v1", indexOf(entries...))
	opener := from.opener(t)
	target, err := ToRegistry(opener, to.host)
	if err != nil {
		t.Fatal(err)
	}
	var all []*Image
	for repo := range images {
		img, err := Names{}.New(from.host + "/" + repo + ":v1")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, img)
	}
	p, err := NewPlan(t.Context(), all, target, Options{
		Opener: opener, Limits: image.Limits{Manifest: 100_000, Manifests: 11},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context(), RunOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, img := range p.Images {
		want := images[img.Repository]
		if (img.Failure == "") != (want == "") || !strings.Contains(img.Failure, want) {
			t.Errorf("%s: got %q, want %q", img.Source, img.Failure, want)
		}
	}
	checkPull(t, to, "fine@"+from.digest(t, "fine:v1"))
}

// TestManifestsAreReadAgain checks that manifests that are not kept in memory are read again when they are copied.
func TestManifestsAreReadAgain(t *testing.T) {
	from, to := newPottery(t, true), newRegistry(t, true)
	opener := from.opener(t)
	target, err := ToRegistry(opener, to.host)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(t.Context(), from.images(t, Names{}), target, Options{Opener: opener})
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, img := range p.Images {
		for i := range img.Manifests {
			kept += len(img.Manifests[i].raw)
			img.Manifests[i].raw = nil
		}
	}
	if kept == 0 || int64(kept) != p.kept.Load() {
		t.Errorf("%d bytes of manifests were kept, and %d counted", kept, p.kept.Load())
	}
	if _, err := p.Run(t.Context(), RunOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Report().Failures() {
		t.Errorf("%s: %s", f.Source, f.Reason)
	}
	from.checkMirror(t, to, "")
}
