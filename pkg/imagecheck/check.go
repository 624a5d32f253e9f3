// Package imagecheck reports the images that a catalog names and that do not exist: those of its bundles, and the
// related images that a cluster without access to the internet has to mirror.
//
//	references, err := imagecheck.Read(ctx, catalog.Sources...)
//	if err != nil {
//		return err
//	}
//	opener := image.NewOpener(image.Options{})
//	defer opener.Close()
//	report, err := imagecheck.Check(ctx, references, opener, imagecheck.Options{})
//	if err != nil {
//		return err
//	}
//	err = problem.WriteText(os.Stdout, report.Problems, false)
//
// Nothing is downloaded: registries and mirrors are asked for digests only.
package imagecheck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unique"

	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Registries know which images exist. [image.Opener] implements it.
type Registries interface {
	// Digest returns the digest of the image named by ref. The error wraps [image.ErrNotFound] if whoever should have
	// the image answers but has none. A report has the reason without what is wrapped around it, which names ref.
	// Calls may run at once.
	Digest(ctx context.Context, ref string) (string, error)
}

// Options are the options of Check. The zero value is the default.
type Options struct {
	// Jobs is how many images are asked for at once; 0 means DefaultJobs. Retry-After is honoured as well.
	Jobs int

	// Checked is called with every reference that was checked; calls may run at once. It may be nil.
	Checked func(reference string)
}

// DefaultJobs is how many images are asked for at once by default. It is few, since most of a catalog is often in one
// registry.
const DefaultJobs = 8

// Unknown is the name of the rule about images that no registry could be asked for.
const Unknown = "unknown"

// A Report is the result of a check.
type Report struct {
	Images   int                // how many references there are, each counted once
	Problems []*problem.Problem // one for each use of an image, by place; the reference is their name
}

// Summary says how many images there are and how many of them have problems: "of 40 images 2 are missing, 1 cannot be
// checked".
func (r *Report) Summary() string {
	if len(r.Problems) == 0 {
		return plural.Of(r.Images, "image") + ", all there"
	}
	wrong := map[string]map[string]bool{} // references by rule
	for _, p := range r.Problems {
		if wrong[p.Rule] == nil {
			wrong[p.Rule] = map[string]bool{}
		}
		wrong[p.Rule][p.Names[0]] = true
	}
	var parts []string
	for _, words := range [][3]string{
		{"missing", "is missing", "are missing"},
		{Unknown, "cannot be checked", "cannot be checked"},
		{"invalid", "has no valid reference", "have no valid reference"},
	} {
		if n := len(wrong[words[0]]); n > 0 {
			parts = append(parts, plural.Words(n, words[1], words[2]))
		}
	}
	return "of " + plural.Of(r.Images, "image") + " " + strings.Join(parts, ", ")
}

// Check asks for every reference once. References that are spelled differently but mean the same, such as with a tag in
// addition to the digest, are asked for separately.
//
// A registry that cannot be reached, is silent or has too much to do (429, 503) several times in a row, without an
// answer about an image in between, is not asked any more; where it fails otherwise (5xx), that holds for the
// repository only. The images that remain are unknown, as not asked, with the last failure. The error is that of ctx,
// when it is done.
func Check(ctx context.Context, references *References, registries Registries, opts Options) (*Report, error) {
	refs := references.all()
	found := make([]verdict, len(refs))
	c := checker{registries: registries}
	each(ctx, len(refs), opts.Jobs, func(i int) {
		found[i] = c.check(ctx, refs[i])
		if opts.Checked != nil {
			opts.Checked(refs[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	report := &Report{Images: len(refs)}
	for _, u := range references.uses {
		i, _ := slices.BinarySearch(refs, u.reference)
		if v := found[i]; v.rule != "" {
			report.Problems = append(report.Problems, u.problem(v))
		}
	}
	return report, nil
}

// problem says what is wrong with the image.
func (u use) problem(v verdict) *problem.Problem {
	what := u.kind() + " "
	if u.name != "" {
		what += fmt.Sprintf("%q ", u.name)
	}
	switch v.rule {
	case "missing":
		what += u.reference + " does not exist"
	case Unknown:
		what += u.reference + " cannot be checked"
	default:
		what += fmt.Sprintf("%q is not valid", u.reference)
	}
	p := &problem.Problem{
		Rule: v.rule, Severity: Rules().Of(v.rule).Severity, Pos: u.pos, Package: u.pkg, Names: []string{u.reference},
		Path: fmt.Sprintf("package %q: bundle %q", u.pkg, u.bundle), Message: what + ": " + v.reason,
	}
	if v.rule == Unknown {
		p.Cause = strings.TrimPrefix(v.reason, notAsked)
	}
	return p
}

// each calls fn for 0 to n-1 on up to jobs goroutines, until ctx is done, and returns when all calls have ended.
func each(ctx context.Context, n, jobs int, fn func(int)) {
	if jobs <= 0 {
		jobs = DefaultJobs
	}
	var next atomic.Int64
	var group errgroup.Group
	for range min(n, jobs) {
		group.Go(func() error {
			return parallel.Catch(func() error {
				for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
					fn(i)
				}
				return nil
			})
		})
	}
	if panicked := group.Wait(); panicked != nil {
		panic(panicked)
	}
}

// notAsked is before the reason why other images could not be checked.
const notAsked = "not asked, since "

type checker struct {
	registries Registries
	places     places
}

// A verdict is the rule that a reference breaks, "" for none, and why it does or who says so.
type verdict struct{ rule, reason string }

func (c *checker) check(ctx context.Context, text string) verdict {
	ref, err := image.ParseReference(text)
	if err != nil {
		return verdict{"invalid", err.Error()}
	}
	if reason, ok := c.places.givenUp(ref.Context()); ok {
		return verdict{Unknown, notAsked + reason}
	}
	_, err = c.registries.Digest(ctx, ref.String())
	c.places.note(ref.Context(), err)
	switch {
	case err == nil:
		return verdict{}
	case errors.Is(err, image.ErrNotFound):
		return verdict{"missing", reasonOf(err)}
	}
	return verdict{Unknown, reasonOf(err)}
}

// reasonOf returns the text of err without the reference around it, which a problem has already. The text is the same
// for many images and kept once; the error is not kept.
func reasonOf(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return unique.Make(err.Error()).Value()
}
