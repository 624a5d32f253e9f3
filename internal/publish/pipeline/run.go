package pipeline

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A publication is the state of one run.
type publication struct {
	Options
	*run

	tmp     string // directory of a catalog that the run makes
	dir     string // of the catalog
	catalog *render.Catalog
	images  *image.Opener
	pusher  *image.Pusher
	cosign  string           // path of the program
	valid   *validate.Report // without errors, nil if the catalog was not validated with all rules
	known   *memo.Memo       // of the validation of all catalogs, nil if there is one
	built   *publish.Image

	published func() (*render.Catalog, error) // opens the catalog to compare with, once

	unreadable bool // a part of the catalog, as validate has found
	mustEnd    bool // no more steps, of other catalogs either, because the process must end soon
	closers    []func()
}

// Run publishes catalogs, each of which it opens once for all steps. Nothing is pushed unless the steps before have
// passed for all catalogs, and no tag is set unless all images are pushed and signed; a tag that cannot be set stops
// the tags of the catalogs after it. The summaries are in the order of the catalogs and have the errors of steps; Run
// returns an error if ctx is done or there is no temporary directory. All temporary files are gone at the end.
func Run(ctx context.Context, catalogs ...Options) ([]*Summary, error) {
	var all []*publication
	var known *memo.Memo
	if len(catalogs) > 1 {
		known = new(memo.Memo)
	}
	defer func() {
		for _, p := range slices.Backward(all) {
			p.close()
		}
	}()
	for _, o := range catalogs {
		p, err := newPublication(o)
		if err != nil {
			return nil, err
		}
		p.known = known
		all = append(all, p)
		p.prepare(ctx)
	}
	for i, p := range all {
		if p.check(ctx); p.mustEnd {
			for _, later := range all[i+1:] {
				for _, r := range later.results {
					later.block(r.Step, p.run.catalog)
				}
			}
			break
		}
	}
	for _, phase := range []struct {
		step Step
		do   func(*publication, context.Context)
	}{{Push, (*publication).ship}, {Tag, (*publication).name}} {
		for _, p := range all {
			p.blockFor(phase.step, all)
			phase.do(p, ctx)
		}
	}
	var summaries []*Summary
	for _, p := range all {
		summaries = append(summaries, p.summary())
	}
	return summaries, ctx.Err()
}

// newPublication returns the state of a run for a catalog. Its resources are open until close is called.
func newPublication(o Options) (*publication, error) {
	tmp, err := os.MkdirTemp("", "opm-publish-")
	if err != nil {
		return nil, err
	}
	p := &publication{Options: o, tmp: tmp, images: image.NewOpener(o.Registry)}
	p.published = sync.OnceValues(p.openPublished)
	p.onClose(func() error { return os.RemoveAll(tmp) })
	p.onClose(p.images.Close)
	if p.Making == "" {
		p.dir = p.Sources[0]
	}
	return p, nil
}

func (p *publication) close() {
	for _, c := range slices.Backward(p.closers) {
		c()
	}
}

func (p *publication) onClose(c func() error) { p.closers = append(p.closers, func() { _ = c() }) }

// prepare fails early, before a catalog is read or an image built: it checks programs and platforms, and that the
// registry accepts a push.
func (p *publication) prepare(ctx context.Context) {
	defer p.Progress.Start("asking registries")()
	steps := []Step{Validate, Resolve, CheckImages, Diff, Build, Push, Tag}
	if p.Making != "" {
		steps = slices.Insert(steps, 0, p.Making)
	}
	if p.Sign {
		steps = slices.Insert(steps, len(steps)-1, Sign)
	}
	skipped := slices.Clip(p.Skip)
	if p.before() == "" {
		skipped = append(skipped, Diff)
	}
	if p.DryRun {
		skipped = append(skipped, Push, Sign, Tag)
	}
	p.run = newRun(cmp.Or(p.Name, strings.Join(p.Sources, " ")), p.Tags, steps, skipped)
	var err error
	if p.runs(Sign) {
		if p.cosign, err = exec.LookPath(cosign); err != nil {
			p.fail(Sign, errors.New("cosign is not in PATH: install it, or do not sign"))
		}
	}
	if p.runs(Build) {
		p.Build.Platforms, err = p.OpenPlatforms()
		p.fail(Build, err)
	}
	if !slices.Contains(p.Skip, Push) {
		if p.pusher, err = image.NewPusher(p.Tags, p.Registry); err == nil {
			p.onClose(p.pusher.Close)
			err = p.pusher.Check(ctx)
		}
		p.fail(Push, err)
	}
}

// check does the steps before push.
func (p *publication) check(ctx context.Context) {
	do := func(step Step, fn func(context.Context, *Result) error, needs ...Step) {
		p.do(step, func(r *Result) error { return fn(ctx, r) }, needs...)
	}
	read := func(step Step, doing string, fn func(context.Context, *Result) error, needs ...Step) {
		do(step, func(ctx context.Context, r *Result) error {
			defer p.Progress.Start(doing, p.dir)()
			if err := p.open(); err != nil {
				return err
			}
			return fn(ctx, r)
		}, needs...)
	}
	do(Compose, p.compose)
	do(Template, p.renderTemplates)
	do(Validate, p.validate, p.Making)
	reading := []Step{p.Making}
	if p.unreadable {
		reading = append(reading, Validate)
	}
	read(Resolve, "resolving", p.resolve, reading...)
	read(CheckImages, "checking", p.checkImages, reading...)
	read(Diff, "comparing", p.compare, reading...)
	read(Build, "building", p.build, p.Making, Validate)
	p.valid = nil // build was the last to read it
}

// ship pushes and signs the image.
func (p *publication) ship(ctx context.Context) {
	push := func(r *Result) error { return p.push(ctx, r) }
	p.do(Push, push, p.Making, Validate, Resolve, CheckImages, Diff, Build, Sign)
	p.do(Sign, func(r *Result) error { return p.sign(ctx, r) }, Push)
}

// name makes the tags name the image.
func (p *publication) name(ctx context.Context) {
	p.do(Tag, func(r *Result) error { return p.setTags(ctx, r) }, Push, Sign)
}

// blockFor blocks a step if a step of another catalog has failed, and none of its own.
func (p *publication) blockFor(step Step, all []*publication) {
	if p.failed() {
		return
	}
	for _, other := range all {
		if other.failed() {
			p.block(step, other.run.catalog)
			return
		}
	}
}

// open opens the catalog for the steps that read it.
func (p *publication) open() error {
	if p.catalog != nil {
		return nil
	}
	catalog, closeAll, err := p.Open("", p.dir)
	if err != nil {
		return err
	}
	p.catalog, p.closers = catalog, append(p.closers, closeAll)
	return nil
}

func (p *publication) openPublished() (*render.Catalog, error) {
	catalog, closeAll, err := p.Open(p.Platforms[0], p.before())
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, closeAll)
	return catalog, nil
}

// show adds the problems found by a check to its result, with the severities of the configuration.
func (p *publication) show(r *Result, report *problem.Report) error {
	problems, err := p.Reported(p.withoutTmp(report.Problems))
	if err != nil {
		return err
	}
	report.Problems = problems
	r.Report(report)
	return nil
}

// refuse adds the problems that keep a step from its work, whatever the configuration says.
func (p *publication) refuse(r *Result, problems []*problem.Problem) {
	r.Report(&problem.Report{Subject: "catalog", Problems: p.withoutTmp(problems)})
}

// withoutTmp removes the temporary directory from the positions of problems: it is gone when users read them.
func (p *publication) withoutTmp(problems []*problem.Problem) []*problem.Problem {
	for _, found := range problems {
		for _, text := range []*string{&found.Pos.File, &found.Message, &found.Fix} {
			*text = strings.ReplaceAll(*text, p.tmp+string(filepath.Separator), "")
		}
	}
	return problems
}
