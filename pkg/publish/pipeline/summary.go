package pipeline

import (
	"errors"
	"fmt"
	"slices"
)

// An Outcome is what a run came to.
type Outcome string

// The outcomes.
const (
	Published Outcome = "published"
	Unchanged Outcome = "unchanged" // the image is there already
	Checked   Outcome = "checked"   // nothing is wrong, and nothing was to be pushed
	Rejected  Outcome = "rejected"  // the catalog has problems
	Broken    Outcome = "failed"    // something else failed, such as a registry, and no problem was found
)

// A Summary is what a run did.
type Summary struct {
	Outcome Outcome   `json:"outcome"`
	Catalog string    `json:"catalog"` // or what it is made of, as given
	Tags    []string  `json:"tags"`
	Digest  string    `json:"digest,omitzero"` // of the image, if it was built
	Live    []string  `json:"live,omitzero"`   // the tags that name the image now, each as TAG@DIGEST
	Steps   []*Result `json:"steps"`
}

// Summary returns what the run did.
func (r *Run) Summary() *Summary {
	s := &Summary{Outcome: r.outcome(), Catalog: r.catalog, Tags: r.tags, Steps: r.results}
	if built := r.result(Build); built != nil && built.Image != nil {
		s.Digest = built.Image.Digest
	}
	if tag := r.result(Tag); tag != nil {
		s.Live = tag.Live
	}
	return s
}

func (r *Run) outcome() Outcome {
	failed := func(result *Result) bool { return result.Status == Failed }
	switch tag := r.result(Tag); {
	case slices.ContainsFunc(r.results, func(result *Result) bool { return result.rejected }):
		return Rejected
	case slices.ContainsFunc(r.results, failed):
		return Broken
	case tag == nil || tag.Status != Passed:
		return Checked
	case r.unchanged:
		return Unchanged
	}
	return Published
}

// Err returns an error that joins those of the steps that failed, or nil.
func (s *Summary) Err() error {
	var errs []error
	for _, r := range s.Steps {
		if r.Status == Failed {
			errs = append(errs, fmt.Errorf("%s: %s", r.Step, r.Note))
		}
	}
	return errors.Join(errs...)
}
