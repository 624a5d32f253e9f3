package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/compose"
	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

func (p *publication) compose(ctx context.Context, r *Result) error {
	config, err := compose.ReadConfig(p.Sources[0])
	if err != nil {
		return err
	}
	defer p.Progress.Start("composing")()
	opts := p.Options.Compose
	opts.Dir, opts.Render.Images = p.tmp, func() (*image.Opener, error) { return p.images, nil }
	result, err := compose.Run(ctx, config, opts)
	if wrong, ok := errors.AsType[*compose.ProblemsError](err); ok && wrong.Unwrap() == nil {
		p.refuse(r, wrong.Problems)
		return nil
	}
	if err != nil {
		return err
	}
	p.dir, r.Note = result.Catalog, plural.Of(len(result.References), "reference")
	return nil
}

// rendered is the name of the catalog that templates are rendered to.
const rendered = "rendered"

// renderTemplates renders the templates, unless one of them has problems that do not depend on its bundles.
func (p *publication) renderTemplates(ctx context.Context, r *Result) error {
	defer p.Progress.Start("rendering")()
	opts, err := p.Options.Validate()
	if err != nil {
		return err
	}
	report, texts := &problem.Report{Subject: "template"}, [][]byte{}
	for _, file := range p.Sources {
		text, err := regular.ReadNamed(file)
		if err != nil {
			return fmt.Errorf("read template: %w", err)
		}
		problems, err := template.Check(ctx, file, text, opts)
		if err != nil {
			return err
		}
		report.Problems, texts = append(report.Problems, problems...), append(texts, text)
	}
	if err := p.show(r, report); err != nil || r.Status == Failed {
		return err
	}
	p.dir = filepath.Join(p.tmp, rendered)
	if err := os.Mkdir(p.dir, 0o777); err != nil {
		return err
	}
	var errs []error
	for i, file := range p.Sources {
		errs = append(errs, p.renderTemplate(ctx, file, texts[i]))
	}
	return errors.Join(errs...)
}

// renderTemplate adds the packages of a template to the catalog.
func (p *publication) renderTemplate(ctx context.Context, file string, text []byte) error {
	t, err := template.Parse(file, text, template.Detect, p.Warn)
	if err != nil {
		return err
	}
	bundles, closeAll, err := p.Pull(t)
	if err != nil {
		return err
	}
	defer closeAll()
	catalog, err := t.Render(ctx, bundles, p.Options.Template)
	if err != nil {
		return err
	}
	stage := filepath.Join(p.tmp, "stage")
	write := declcfg.WriteOptions{Format: declcfg.YAML, Edit: catalog.Edit}
	if err := declcfg.WriteDir(ctx, stage, catalog.Metas, write); err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	entries, err := os.ReadDir(stage)
	for _, e := range entries {
		to := filepath.Join(p.dir, e.Name())
		if _, exists := os.Lstat(to); exists == nil {
			return fmt.Errorf("%s: another template has %s too", file, e.Name())
		}
		err = errors.Join(err, os.Rename(filepath.Join(stage, e.Name()), to))
	}
	if err != nil || p.Lock == "" {
		return err
	}
	return bundles.Lock.WriteFile(p.Lock)
}

func (p *publication) validate(ctx context.Context, r *Result) (err error) {
	defer func() {
		if errors.Is(err, validate.ErrSchemas) {
			p.unreadable, p.mustEnd = true, true
		}
	}()
	opts, err := p.Options.Validate()
	if err != nil {
		return err
	}
	defer p.Progress.Start("validating", p.dir)()
	if err := p.open(); err != nil {
		return err
	}
	if p.known != nil {
		ctx = p.known.With(ctx)
	}
	check := func(sources []declcfg.Source) (*validate.Report, error) {
		return validate.Catalog(ctx, opts, sources...)
	}
	report, err := check(p.catalog.Sources)
	if err := cmp.Or(p.catalog.Unchanged(), err); err != nil {
		return err
	}
	if len(opts.Levels.Always(problem.Off, validate.Rules())) == 0 && !problem.HasErrors(report.Problems) {
		p.valid = report
	}
	p.unreadable = slices.ContainsFunc(report.Problems, func(found *problem.Problem) bool {
		return found.Rule == validate.Unreadable
	})
	known, err := p.mark(report.Problems, func(sources []declcfg.Source) ([]*problem.Problem, error) {
		before, err := check(sources)
		if err != nil {
			return nil, err
		}
		return before.Problems, nil
	})
	shown := p.show(r, &problem.Report{Subject: "catalog", Problems: report.Problems})
	r.Note += known
	return cmp.Or(shown, err)
}

// mark marks the problems that the catalog of Against has too, by the same check. It returns words for the note of the
// step; "" if there are none, or nothing to compare with. The problems of a step are shown even if mark fails.
func (p *publication) mark(
	problems []*problem.Problem, check func([]declcfg.Source) ([]*problem.Problem, error),
) (note string, err error) {
	if p.Against == "" || len(problems) == 0 {
		return "", nil
	}
	before, err := p.published()
	if err != nil {
		return "", err
	}
	found, err := check(before.Sources)
	if err := cmp.Or(before.Unchanged(), err); err != nil {
		return "", err
	}
	problem.NewBaseline(found).Mark(problems)
	if n := problem.CountKnown(problems); n > 0 {
		note = fmt.Sprintf("; %s known from %s", plural.Words(n, "is", "are"), p.Against)
	}
	return note, nil
}

func (p *publication) resolve(ctx context.Context, r *Result) error {
	catalog, err := resolve.ReadCatalog(ctx, p.catalog.Sources...)
	if err := cmp.Or(p.catalog.Unchanged(), err); err != nil {
		return err
	}
	p.WarnIfNone(len(catalog.Index.Names()), p.dir)
	others, closeAll, err := p.Dependencies()
	if err != nil {
		return err
	}
	defer closeAll()
	check := p.Options.Resolve
	check.Lenient = true
	run := func(catalog *resolve.Catalog) (*resolve.Checked, error) {
		setup, err := resolve.NewSetup(resolve.SetupOptions{}, append([]*resolve.Catalog{catalog}, others...))
		if err != nil {
			return nil, err
		}
		check.Namespace = setup.Classic
		check.Namespace.Subscriptions = nil
		return check.Run(ctx)
	}
	check.Start, check.Checked = func(total int) { p.Progress.Count(total, "packages") }, p.Progress.Did
	checked, err := run(catalog)
	if err != nil {
		return err
	}
	known, err := p.mark(checked.Problems, func(sources []declcfg.Source) ([]*problem.Problem, error) {
		before, err := resolve.ReadCatalog(ctx, sources...)
		if err != nil {
			return nil, err
		}
		check.Start, check.Checked = nil, nil
		checked, err := run(before)
		if err != nil {
			return nil, err
		}
		return checked.Problems, nil
	})
	if err := cmp.Or(p.show(r, checked.Report()), err); err != nil {
		return err
	}
	var good, bad []string
	for _, t := range checked.Tallies() {
		all, failed := plural.Number(t.Questions), t.HeldBack+t.Unresolved
		good = append(good, fmt.Sprintf("%s %s of %s", t.OLM, plural.Number(t.Questions-failed), all))
		if failed > 0 {
			bad = append(bad, fmt.Sprintf("%s %s of %s", t.OLM, plural.Number(failed), all))
		}
	}
	switch {
	case bad != nil:
		r.Note = "new installations and updates not as they should be: " + strings.Join(bad, ", ")
	case good != nil:
		r.Note = "new installations and updates as they should be: " + strings.Join(good, ", ")
	}
	r.Note += known
	return nil
}

func (p *publication) checkImages(ctx context.Context, r *Result) error {
	references, err := imagecheck.Read(ctx, p.catalog.Sources...)
	if err := cmp.Or(p.catalog.Unchanged(), err); err != nil {
		return err
	}
	p.Progress.Count(references.Len(), "images")
	opts := imagecheck.Options{Jobs: imagecheck.DefaultJobs, Checked: p.Progress.Did}
	report, err := imagecheck.Check(ctx, references, p.images, opts)
	if err != nil {
		return err
	}
	note := report.Summary()
	if err := p.show(r, report.Report()); err != nil {
		return err
	}
	r.Note = note
	return nil
}

// compare compares the catalog with the published one. If there is none, everything is new.
func (p *publication) compare(ctx context.Context, r *Result) error {
	var old []declcfg.Source
	unchanged := func() error { return nil }
	before, err := p.published()
	none := p.Against == "" && errors.Is(err, image.ErrNotFound)
	switch {
	case err == nil:
		old, unchanged = before.Sources, before.Unchanged
	case !none:
		return err
	}
	changes, err := diff.Compare(ctx, old, p.catalog.Sources)
	if err := cmp.Or(unchanged(), p.catalog.Unchanged(), err); err != nil {
		return err
	}
	r.Changes = changes
	switch n := len(changes.Packages); {
	case none:
		r.Note = "nothing is published yet: all is new"
	case n == 0:
		r.Note = "no changes"
	default:
		r.Note = plural.Words(n, "package differs", "packages differ")
	}
	if p.Against != "" {
		note := r.Note
		if err := p.show(r, &problem.Report{Subject: "catalog", Problems: changes.Problems()}); err != nil {
			return err
		}
		if r.Note == problem.Summary(nil) {
			r.Note = note
		} else {
			r.Note = note + "; " + r.Note
		}
	}
	if err := changes.Fail(p.FailOn...); err != nil {
		r.Reject("found changes that --fail-on names: " + err.Error())
	}
	return nil
}

func (p *publication) build(ctx context.Context, r *Result) error {
	if err := p.CheckBase(p.dir, p.Build.Platforms); err != nil {
		return err
	}
	opts := p.Options.Build
	opts.Valid = p.valid
	built, err := publish.Build(ctx, p.catalog.Sources[0], opts)
	if invalid, ok := errors.AsType[*publish.InvalidError](err); ok {
		p.refuse(r, invalid.Report.Problems)
		return nil
	}
	if err != nil {
		return err
	}
	p.WarnIfNone(built.Summary.Packages, p.dir)
	p.onClose(built.Close)
	p.built, r.Image = built, &built.Summary
	r.Note = strings.Join(p.Platforms, ", ")
	return nil
}

// push stores the image by its digest.
func (p *publication) push(ctx context.Context, r *Result) error {
	defer p.Progress.Start("pushing")()
	changed, err := p.pusher.Store(ctx, p.built.Artifact)
	if err == nil && !changed {
		r.Note = sameImage
	}
	return err
}

// sameImage is the note of a step that has nothing to do.
const sameImage = "the same image is there"

// cosign is the program that signs images.
const cosign = "cosign"

// sign signs the image once in each repository, by digest.
func (p *publication) sign(ctx context.Context, r *Result) error {
	var images []string
	for _, tag := range p.Tags {
		ref, err := image.ParseReference(tag)
		if err != nil {
			return err
		}
		if name := ref.Context().Digest(p.built.Summary.Digest).Name(); !slices.Contains(images, name) {
			images = append(images, name)
		}
	}
	for _, name := range images {
		args := slices.Concat([]string{"sign", "--yes"}, p.SignArgs, []string{name})
		line := shell.Join(append([]string{cosign}, args...)...)
		r.Commands = append(r.Commands, line)
		p.Note(line)
		cmd := exec.CommandContext(ctx, p.cosign, args...)
		cmd.Stdout, cmd.Stderr = p.Output, p.Output
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("cosign: %w", err)
		}
	}
	return nil
}

// setTags makes the tags name the image.
func (p *publication) setTags(ctx context.Context, r *Result) error {
	changed, err := p.pusher.Tag(ctx)
	r.Live = p.pusher.Live()
	switch {
	case err != nil && len(r.Live) > 0:
		p.Note("the image is live as " + strings.Join(r.Live, ", "))
	case err == nil && !changed:
		r.Note, p.unchanged = sameImage, true
	}
	return err
}
