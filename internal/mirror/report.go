package mirror

import (
	"maps"
	"math"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// A State is the state of an image in the target.
type State string

// The states.
const (
	There  State = "there"  // before the run
	ToCopy State = "copy"   // to be copied, if the plan is run
	Copied State = "copied" // by the run
	Failed State = "failed" // not resolved or not copied
)

// A Report describes a plan or, after it was run, the result.
type Report struct {
	Target   string          `json:"target"`
	Total    Sizes           `json:"total"`
	Packages []PackageReport `json:"packages"` // sorted by name
	Images   []ImageReport   `json:"images"`   // sorted by target, catalogs last
	Obsolete []string        `json:"obsolete"` // images that earlier runs mirrored and that are no longer needed, sorted

	// Served are the images of earlier runs that are no longer selected, but that the mirror still needs because a
	// catalog was not written; sorted.
	Served []string `json:"served"`
}

// Sizes are numbers of images, and of the bytes of their content, each blob once.
type Sizes struct {
	Images       int   `json:"images"`
	Bytes        int64 `json:"bytes"`
	Missing      int   `json:"missing"` // images that the target did not have, without the failed ones
	MissingBytes int64 `json:"missingBytes"`
	Failed       int   `json:"failed"` // images
}

// A PackageReport has the sizes of the images that a package names. Packages may share images and blobs.
type PackageReport struct {
	Name string `json:"name"`
	Sizes
}

// An ImageReport describes an image.
type ImageReport struct {
	Source   string   `json:"source"`
	Target   string   `json:"target"` // below the path of the mirror
	Digest   string   `json:"digest,omitzero"`
	State    State    `json:"state"`
	Reason   string   `json:"reason,omitzero"` // of a failure
	Bytes    int64    `json:"bytes"`
	Attached int      `json:"attached"` // number of signatures and other artifacts that refer to the image
	Packages []string `json:"packages"` // sorted
	Bundles  []string `json:"bundles"`  // that name it, sorted
}

// Report describes the plan.
func (p *Plan) Report() *Report {
	r := &Report{Target: p.to.String(), Packages: []PackageReport{}, Images: []ImageReport{}}
	var total tally
	packages := map[string]*tally{}
	for _, img := range p.Images {
		total.add(img)
		entry := img.report()
		for _, name := range entry.Packages {
			if packages[name] == nil {
				packages[name] = new(tally)
			}
			packages[name].add(img)
		}
		r.Images = append(r.Images, entry)
	}
	r.Total = total.Sizes
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		r.Packages = append(r.Packages, PackageReport{name, packages[name].Sizes})
	}
	s := (&Record{Images: p.Images}).compare(p.Last)
	r.Obsolete, r.Served = digests(s.obsolete), digests(s.served)
	return r
}

// digests returns the images in the mirror by digest, sorted.
func digests(images []*Image) []string {
	names := []string{}
	for _, img := range images {
		names = append(names, img.Repository+"@"+img.Digest)
	}
	slices.Sort(names)
	return names
}

func (i *Image) report() ImageReport {
	r := ImageReport{
		Source: i.Source, Target: i.Target(), Digest: i.Digest, State: i.state, Reason: i.Failure,
		Packages: []string{}, Bundles: []string{},
	}
	for _, use := range i.Uses {
		r.Packages, r.Bundles = append(r.Packages, use.Package), append(r.Bundles, use.Bundle)
	}
	slices.Sort(r.Bundles)
	r.Packages, r.Bundles = slices.Compact(r.Packages), slices.Compact(r.Bundles)
	r.Bytes = sum(map[v1.Hash]bool{}, i.content())
	for _, n := range i.Manifests {
		if n.attached() {
			r.Attached++
		}
	}
	return r
}

// A tally adds up images and their content.
type tally struct {
	Sizes
	seen, missing map[v1.Hash]bool
}

func (t *tally) add(img *Image) {
	if t.seen == nil {
		t.seen, t.missing = map[v1.Hash]bool{}, map[v1.Hash]bool{}
	}
	t.Images++
	switch img.state {
	case Failed:
		t.Failed++
	case ToCopy, Copied:
		t.Missing++
	}
	t.Bytes = addSize(t.Bytes, sum(t.seen, img.content()))
	t.MissingBytes = addSize(t.MissingBytes, sum(t.missing, img.absent))
}

// sum returns the bytes of the blobs that were not seen before.
func sum(seen map[v1.Hash]bool, blobs []Blob) (n int64) {
	for _, b := range blobs {
		if !seen[b.Digest] {
			n = addSize(n, b.Size)
		}
		seen[b.Digest] = true
	}
	return n
}

// addSize returns the sum of a size that is not negative and another one, or the largest size if the sum is larger.
// Manifests claim sizes, and records may be edited.
func addSize(a, b int64) int64 {
	if b = max(b, 0); b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

// Failures returns the failed images of a report.
func (r *Report) Failures() []ImageReport {
	return slices.DeleteFunc(slices.Clone(r.Images), func(i ImageReport) bool { return i.State != Failed })
}
