package imagecheck

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"unique"

	"github.com/opm-toolchain/opm/pkg/image"
)

// Registries tell whether images exist. An [image.Opener] does.
type Registries interface {
	// Digest returns the digest of the image named by ref. The error wraps [image.ErrNotFound] if whoever should have
	// the image answers but has none. A report has the reason without what is wrapped around it, which names ref.
	// Calls may run at once.
	Digest(ctx context.Context, ref string) (string, error)
}

// Options say how registries are asked. The zero value is the default.
type Options struct {
	// Jobs is how many images are asked for at once; 0 means DefaultJobs. What a registry says of its own pace is
	// honoured besides.
	Jobs int
}

// DefaultJobs is how many images are asked for at once where nothing else is said. It is few, since most of a catalog
// is often in one registry.
const DefaultJobs = 8

// A Kind is what is wrong with a reference.
type Kind string

// The kinds of problems.
const (
	Missing Kind = "missing" // registries answer that there is no such image
	Unknown Kind = "unknown" // nobody could be asked, or the answer was neither yes nor no
	Invalid Kind = "invalid" // it is no reference, so nobody was asked
)

// A Problem is a reference without an image.
type Problem struct {
	Kind      Kind
	Reference string // as the catalog has it
	Reason    string // why it is Unknown or Invalid, or who says that it is Missing
	Uses      []Use  // sorted by place, at least one
}

// A Report is the result of a check.
type Report struct {
	Images   int        // how many references there are, each counted once
	Problems []*Problem // sorted by reference
}

// OK reports whether all images exist.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// Of returns the problems of one kind.
func (r *Report) Of(kind Kind) []*Problem {
	var of []*Problem
	for _, p := range r.Problems {
		if p.Kind == kind {
			of = append(of, p)
		}
	}
	return of
}

// Check asks for every reference once. What is written differently but means the same, such as with a tag beside the
// digest, is asked for as often as it is written.
//
// A registry that cannot be reached, is silent or has too much to do (429, 503) several times in a row, without an
// answer about an image in between, is not asked any more; where it fails otherwise (5xx), that holds for the
// repository only. The images that remain are Unknown, as not asked, with the last failure. The error is that of ctx,
// when it is done.
func Check(ctx context.Context, references *References, registries Registries, opts Options) (*Report, error) {
	refs := slices.Sorted(maps.Keys(references.uses))
	found := make([]*Problem, len(refs))
	c := checker{registries: registries}
	each(ctx, len(refs), opts.Jobs, func(i int) { found[i] = c.check(ctx, refs[i]) })
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	report := &Report{Images: len(refs)}
	for _, p := range found {
		if p != nil {
			p.Uses = references.uses[p.Reference]
			report.Problems = append(report.Problems, p)
		}
	}
	return report, nil
}

// each calls fn for 0 to n-1 on up to jobs goroutines, until ctx is done, and returns when all calls have ended.
func each(ctx context.Context, n, jobs int, fn func(int)) {
	if jobs <= 0 {
		jobs = DefaultJobs
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, jobs) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				fn(i)
			}
		})
	}
	group.Wait()
}

type checker struct {
	registries Registries
	places     places
}

// check returns what is wrong with a reference, nil for nothing.
func (c *checker) check(ctx context.Context, text string) *Problem {
	ref, err := image.ParseReference(text)
	if err != nil {
		return &Problem{Kind: Invalid, Reference: text, Reason: err.Error()}
	}
	if reason, ok := c.places.givenUp(ref.Context()); ok {
		return &Problem{Kind: Unknown, Reference: text, Reason: "not asked, since " + reason}
	}
	_, err = c.registries.Digest(ctx, ref.String())
	c.places.note(ref.Context(), err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, image.ErrNotFound):
		return &Problem{Kind: Missing, Reference: text, Reason: reasonOf(err)}
	}
	return &Problem{Kind: Unknown, Reference: text, Reason: reasonOf(err)}
}

// reasonOf returns what is wrong, without the reference that is named around it: a Problem has it already. It is the
// same for many images, and what the error holds, such as the request, is not kept.
func reasonOf(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return unique.Make(err.Error()).Value()
}
