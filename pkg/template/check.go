package template

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Recognized reports whether the first document of a file has a template schema.
func Recognized(r io.ReaderAt, size int64) bool {
	var schema string
	for d, err := range document.All(r, size) {
		if err == nil {
			schema = schemaOf(d.JSON)
		}
		break
	}
	return slices.ContainsFunc(kinds, func(k kind) bool { return k.schema == schema })
}

// Check returns all problems of a template that can be found without its bundles, sorted by position. It returns an
// error if the options are not valid.
func Check(ctx context.Context, name string, text []byte, opts validate.Options) ([]*problem.Problem, error) {
	opts.WhiteSpace = !opts.ErrorsOnly
	c := &checker{ctx: ctx, opts: opts}
	t, err := Parse(name, text, Detect, func(e *declcfg.Error) { c.addError(ruleTemplateKey, e) })
	if err != nil {
		c.problems = append(c.problems, problem.FromError(ruleTemplate.Name, err)...)
	} else {
		c.Template, c.pkg = t, t.spec.pkg()
		c.checkImages()
		err = t.spec.lint(c)
	}
	if t != nil && err != nil {
		return nil, err
	}
	off := opts.Levels.Always(problem.Off, Rules())
	disabled := func(p *problem.Problem) bool { return slices.Contains(off, p.Rule) }
	c.problems = slices.DeleteFunc(c.problems, disabled)
	return problem.Sort(c.problems), nil
}

// A checker collects the problems of one template.
type checker struct {
	*Template
	ctx      context.Context //nolint:containedctx // it lives as long as one call of Check
	opts     validate.Options
	pkg      string // the only package that the template defines, or ""
	problems []*problem.Problem
}

func (c *checker) find(rule *problem.Rule, ptr jsontext.Pointer, format string, args ...any) {
	c.addError(rule, c.file.Errorf(ptr, format, args...))
}

func (c *checker) addError(r *problem.Rule, err *declcfg.Error) {
	p := &problem.Problem{Rule: r.Name, Severity: r.Severity, Pos: err.Pos, Message: err.Err.Error(), Fix: r.Fix}
	if err.Pointer != "" {
		p.Path = place.Path(err.Pointer)
	}
	c.problems = append(c.problems, p)
}

func (c *checker) checkImages() {
	images, versions := map[string]reference{}, map[string]reference{}
	for _, r := range c.spec.images() {
		list := "" // the stage in a semver template
		if c.Type == Semver {
			list, _, _ = strings.Cut(string(r.ptr[1:]), "/")
			list += " "
		}
		if before, again := images[list+r.image]; again {
			c.find(ruleTemplateImageTwice, r.ptr, "image %q is already listed at %s", r.image, c.file.Pos(before.ptr)[0])
			continue
		}
		images[list+r.image] = r
		if p := c.opts.Image(r.image); p != nil {
			p.Pos, p.Path, p.Package = c.file.Pos(r.ptr)[0], place.Path(r.ptr), c.pkg
			c.problems = append(c.problems, p)
		}
		if strings.Contains(r.image, "@") {
			continue
		}
		c.find(ruleTemplateTag, r.ptr, "image %q is named by a tag, which can be moved", r.image)
		repo, tag := r.image, ""
		if i := strings.LastIndexByte(r.image, ':'); i > strings.LastIndexByte(r.image, '/') {
			repo, tag = r.image[:i], r.image[i+1:]
		}
		v, err := declcfg.ParseVersion(strings.TrimPrefix(tag, "v"), "")
		if err != nil {
			continue
		}
		key := list + repo + " " + v.String()
		if before, again := versions[key]; again {
			c.find(ruleTemplateVersionTwice, r.ptr, "the tags of %q and of the image at %s are both version %s",
				r.image, c.file.Pos(before.ptr)[0], v)
		} else {
			versions[key] = r
		}
	}
}

func (b *basic) lint(c *checker) error {
	objects := slices.DeleteFunc(slices.Clone(b.entries), func(e entry) bool { return e.Schema == declcfg.SchemaBundle })
	l := layOut(c.file, objects)
	l.addPlaceholders()
	problems, err := l.problems(c.ctx, c.opts)
	c.problems = append(c.problems, problems...)
	return err
}

func (s *semverSpec) lint(*checker) error { return nil }

func (s *substitutes) lint(c *checker) error {
	problems, err := layOut(c.file, s.entries).problems(c.ctx, c.opts)
	c.problems = append(c.problems, problems...)
	if base := s.firstBase(c.file); base != nil {
		c.addError(ruleTemplateBase, base)
	}
	return err
}
