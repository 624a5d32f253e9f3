// Package imagecheck reports images that a catalog refers to and that do not exist: bundle images and related images,
// which a cluster without internet access has to mirror.
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
// It downloads nothing, and requests only digests from registries and mirrors.
package imagecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Registries look up digests of images. [image.Opener] implements it.
type Registries interface {
	// Digest returns the digest of the image named by ref. The error wraps [image.ErrNotFound] if the registry or
	// mirror responsible for the image answers that it does not exist. A report shows the unwrapped error, without
	// the outer text that names ref. Calls may be concurrent.
	Digest(ctx context.Context, ref string) (string, error)
}

// Options are the options of Check. The zero value is the default.
type Options struct {
	// Jobs is the number of concurrent requests; 0 means DefaultJobs. Retry-After is honoured too.
	Jobs int

	// Checked is called with every checked reference; calls may be concurrent. It may be nil.
	Checked func(reference string)

	// Answers, if not nil, has the answers of registries in earlier checks, and gets the answers of this one.
	Answers *Answers
}

// Answers are answers of registries, shared by the checks of several catalogs so that each image is looked up once. The
// zero value is empty. It must not be used by several checks at once.
type Answers struct {
	failures failureLog
	verdicts map[string]verdict // by reference
}

// DefaultJobs is the default number of concurrent requests. It is low because most images of a catalog are often in
// one registry.
const DefaultJobs = 8

// Unknown is the rule for images whose existence no registry could confirm or deny.
const Unknown = "unknown"

// A Report is the result of a check.
type Report struct {
	Images   int                // the number of distinct references
	Problems []*problem.Problem // a problem for each use of an image, sorted by position; Names has the reference
}

// Report returns the problems as a report that has the number of images as a count.
func (r *Report) Report() *problem.Report {
	return &problem.Report{
		Subject: "catalog", Problems: r.Problems, Rules: Rules(), Counts: map[string]int{"images": r.Images},
		Summary: []string{r.Summary()},
	}
}

// Summary returns the number of images and of images with problems: "of 40 images 2 are missing, 1 cannot be
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
	for _, kind := range []struct {
		rule      *problem.Rule
		one, many string
	}{
		{ruleMissing, "is missing", "are missing"},
		{ruleUnknown, "cannot be checked", "cannot be checked"},
		{ruleInvalid, "has no valid reference", "have no valid reference"},
	} {
		if n := len(wrong[kind.rule.Name]); n > 0 {
			parts = append(parts, plural.Words(n, kind.one, kind.many))
		}
	}
	return "of " + plural.Of(r.Images, "image") + " " + strings.Join(parts, ", ")
}

// Check looks up every reference once. Different spellings of a reference, such as with a tag in addition to the
// digest, are looked up separately.
//
// A registry is given up if it cannot be reached, times out or is overloaded (429, 503) several times in a row,
// without an answer about an image in between. After other server errors (5xx), only the repository is given up. The
// remaining images are reported as Unknown with the last error. The only error is ctx's, once ctx is done.
func Check(ctx context.Context, references *References, registries Registries, opts Options) (*Report, error) {
	refs := references.all()
	found := make([]verdict, len(refs))
	answers := cmp.Or(opts.Answers, new(Answers))
	c := checker{registries: registries, failures: &answers.failures}
	parallel.Each(ctx, cmp.Or(max(opts.Jobs, 0), DefaultJobs), len(refs), func(ctx context.Context, i int) {
		var known bool
		if found[i], known = answers.verdicts[refs[i]]; !known {
			found[i] = c.check(ctx, refs[i])
		}
		if opts.Checked != nil {
			opts.Checked(refs[i])
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if answers.verdicts == nil {
		answers.verdicts = make(map[string]verdict, len(refs))
	}
	for i, ref := range refs {
		answers.verdicts[ref] = found[i]
	}
	report := &Report{Images: len(refs)}
	for _, u := range references.uses {
		i, _ := slices.BinarySearch(refs, u.reference)
		if v := found[i]; v.rule != nil {
			report.Problems = append(report.Problems, u.problem(v))
		}
	}
	return report, nil
}

// problem returns the problem of a use of an image.
func (u use) problem(v verdict) *problem.Problem {
	what := u.kind() + " "
	if u.name != "" {
		what += fmt.Sprintf("%q ", u.name)
	}
	switch v.rule {
	case ruleMissing:
		what += u.reference + " does not exist"
	case ruleUnknown:
		what += u.reference + " cannot be checked"
	default:
		what += fmt.Sprintf("%q is not valid", u.reference)
	}
	p := &problem.Problem{
		Rule: v.rule.Name, Severity: v.rule.Severity, Pos: u.pos, Package: u.pkg, Names: []string{u.reference},
		Path: fmt.Sprintf("package %q: bundle %q", u.pkg, u.bundle), Message: what + ": " + v.reason,
	}
	if v.rule == ruleUnknown {
		p.Cause = strings.TrimPrefix(v.reason, notAsked)
	}
	return p
}

// notAsked is the prefix of the reason for images of a registry or repository that was given up.
const notAsked = "not asked, since "

type checker struct {
	registries Registries
	failures   *failureLog
}

// A verdict is the rule that a reference breaks, or nil, with the reason.
type verdict struct {
	rule   *problem.Rule
	reason string
}

func (c *checker) check(ctx context.Context, text string) verdict {
	ref, err := image.ParseReference(text)
	if err != nil {
		return verdict{ruleInvalid, err.Error()}
	}
	if reason, ok := c.failures.givenUp(ref.Context()); ok {
		return verdict{ruleUnknown, notAsked + reason}
	}
	_, err = c.registries.Digest(ctx, ref.String())
	c.failures.note(ref.Context(), err)
	switch {
	case err == nil:
		return verdict{}
	case errors.Is(err, image.ErrNotFound):
		return verdict{ruleMissing, reasonOf(err)}
	}
	return verdict{ruleUnknown, reasonOf(err)}
}

// reasonOf returns the text of err without the reference, which the problem already contains. Equal texts of many
// images share memory, and the error itself is not retained.
func reasonOf(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	return unique.Make(err.Error()).Value()
}
