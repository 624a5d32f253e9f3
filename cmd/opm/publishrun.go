package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/publish"
	"github.com/opm-toolchain/opm/pkg/publish/pipeline"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A publication is one run of publish.
type publication struct {
	*publishFlags
	cmd     *cobra.Command
	args    []string
	run     *pipeline.Run
	skipped []pipeline.Step // by --skip

	making pipeline.Step // the step that makes the catalog, "" if the argument is one
	dir    string        // of the catalog
	tmp    string        // the directory of what is made
	config *config

	unreadable bool // a part of the catalog, as validate has found

	registry image.Options
	options  publish.Options
	pusher   *image.Pusher
	built    *publish.Image
	signer   *pipeline.Signer
	output   *os.File // of --summary
	closers  []func() error
}

// start checks the command line, and opens what the steps write to.
func (f *publishFlags) start(cmd *cobra.Command, args []string) (*publication, error) {
	p := &publication{publishFlags: f, cmd: cmd, args: args}
	for _, open := range []func() error{p.checkFlags, p.findCatalog, p.openFiles, p.openRegistry} {
		if err := open(); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *publication) checkFlags() (err error) {
	p.build.push, p.build.images = true, p.rendering.images
	p.report.rules = template.Rules
	if p.skipped, err = pipeline.ParseSteps(p.skip); err != nil {
		return usageError{fmt.Errorf("--skip: %w: want %s", err, oneOf(texts(pipeline.Optional())))}
	}
	switch {
	case len(p.build.tags) == 0 && !slices.Contains(p.skipped, pipeline.Push):
		return usageError{errors.New("--tag is missing: it names the image to publish")}
	case p.signArgs != nil && !p.sign:
		return usageError{errors.New("--sign-arg needs --sign")}
	}
	if p.before() == "" {
		p.skipped = append(p.skipped, pipeline.Diff)
	}
	if p.options, err = p.build.checkImage(); err != nil {
		return err
	}
	return p.diff.checkKinds()
}

// findCatalog finds out what the arguments are: a catalog, or what it is made of.
func (p *publication) findCatalog() (err error) {
	for _, arg := range p.args {
		info, err := os.Stat(arg)
		switch {
		case err != nil:
			return fmt.Errorf("publish: %w", err)
		case info.IsDir() && len(p.args) == 1:
			p.dir = arg
			err = bundleError(arg)
		case isTemplate(arg):
			p.making = pipeline.Template
		case len(p.args) > 1:
			const want = "one directory, one config of opm compose, or templates"
			err = usageError{fmt.Errorf("%s is not a template: want %s", arg, want)}
		case holdsObjects(p.cmd.Context(), arg, true):
			err = fmt.Errorf("publish: %s is a file of a catalog: want its directory", arg)
		default:
			p.making = pipeline.Compose
		}
		if err != nil {
			return err
		}
	}
	if err := p.checkRendering(); err != nil {
		return err
	}
	if p.config, err = p.report.read(p.args[0]); err != nil {
		return err
	}
	// An empty catalog would take all operators away from clusters: nearly always, something before has failed.
	if levels := p.config.levels.Rules; levels[validate.NoObjects] == "" {
		levels[validate.NoObjects] = problem.Error
	}
	return nil
}

// checkRendering checks the flags about how templates are rendered.
func (p *publication) checkRendering() error {
	for _, name := range slices.Sorted(maps.Keys(renderingFlags)) {
		switch ofCompose := renderingFlags[name]; {
		case !p.cmd.Flags().Changed(name) || p.making == pipeline.Template || p.making == pipeline.Compose && ofCompose:
		case ofCompose:
			return usageError{fmt.Errorf("--%s needs a template or a config of opm compose", name)}
		default:
			return usageError{fmt.Errorf("--%s needs a template", name)}
		}
	}
	_, err := p.rendering.options(p.cmd)
	return err
}

func (p *publication) openFiles() (err error) {
	if p.tmp, err = os.MkdirTemp("", "opm-publish-"); err != nil {
		return err
	}
	p.closers = append(p.closers, func() error { return os.RemoveAll(p.tmp) })
	if p.summary == "" {
		return nil
	}
	if p.output, err = regular.CreateNamed(p.summary, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err != nil {
		return fmt.Errorf("--summary: %w", err)
	}
	p.closers = append(p.closers, p.output.Close)
	return nil
}

// appendSummary appends to the file of --summary, if there is one.
func (p *publication) appendSummary(text string) error {
	if p.output == nil {
		return nil
	}
	_, err := p.output.WriteString(text)
	return err
}

func (p *publication) openRegistry() error {
	options, err := p.build.images.options(p.cmd)
	if err != nil {
		return err
	}
	if p.registry, err = options(); err != nil {
		return err
	}
	p.closers = append(p.closers, p.registry.Cache.Close)
	p.options.Limits = p.registry.Limits
	return nil
}

// close removes what was made.
func (p *publication) close() {
	for _, c := range slices.Backward(p.closers) {
		_ = c()
	}
}

// prepare checks what can be known before anything is read or built: programs, platforms, and whether the registry
// accepts a push.
func (p *publication) prepare() {
	defer progress(p.cmd, "asking registries")()
	steps := []pipeline.Step{
		pipeline.Validate, pipeline.Resolve, pipeline.CheckImages, pipeline.Diff, pipeline.Build, pipeline.Push,
		pipeline.Tag,
	}
	if p.making != "" {
		steps = slices.Insert(steps, 0, p.making)
	}
	if p.sign {
		steps = slices.Insert(steps, len(steps)-1, pipeline.Sign)
	}
	skipped := p.skipped
	if p.dryRun {
		skipped = append(slices.Clip(skipped), pipeline.Push, pipeline.Sign, pipeline.Tag)
	}
	p.run = pipeline.New(strings.Join(p.args, " "), p.build.tags, steps, skipped)
	ctx := p.cmd.Context()
	var err error
	if p.run.Runs(pipeline.Sign) {
		p.signer, err = pipeline.NewSigner(p.signArgs)
		p.run.Fail(pipeline.Sign, err)
	}
	if p.run.Runs(pipeline.Build) {
		platforms, closeAll, err := p.build.open(ctx, p.registry)
		p.closers = append(p.closers, func() error { closeAll(); return nil })
		p.options.Platforms = platforms
		p.run.Fail(pipeline.Build, err)
	}
	if !slices.Contains(p.skipped, pipeline.Push) {
		p.run.Fail(pipeline.Push, p.checkPush(ctx))
	}
}

// checkPush asks the registries whether they accept a push.
func (p *publication) checkPush(ctx context.Context) (err error) {
	if p.pusher, err = image.NewPusher(p.build.tags, p.registry); err != nil {
		return err
	}
	p.closers = append(p.closers, p.pusher.Close)
	return p.pusher.Check(ctx)
}

// show adds what a check found to its result, as the configuration says.
func (p *publication) show(r *pipeline.Result, report *problem.Report) error {
	problems, _, err := unknown(p.config.Baseline, p.config.levels.Apply(p.withoutTmp(report.Problems)))
	if err != nil {
		return err
	}
	report.Problems = problems
	r.Report(report)
	return nil
}

// refuse adds the problems that keep a step from its work, whatever the configuration says.
func (p *publication) refuse(r *pipeline.Result, problems []*problem.Problem) {
	r.Report(&problem.Report{Subject: "catalog", Problems: p.withoutTmp(problems)})
}

// withoutTmp removes the directory of what is made from the places of problems: it is gone when these are read.
func (p *publication) withoutTmp(problems []*problem.Problem) []*problem.Problem {
	for _, found := range problems {
		for _, text := range []*string{&found.Pos.File, &found.Message, &found.Fix} {
			*text = strings.ReplaceAll(*text, p.tmp+string(filepath.Separator), "")
		}
	}
	return problems
}

// before returns what the catalog is compared with, "" for nothing.
func (p *publication) before() string {
	if p.against == "" && len(p.build.tags) > 0 {
		return p.build.tags[0]
	}
	return p.against
}
