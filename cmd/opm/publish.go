package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

func publishCmd() *cobra.Command {
	var f publishFlags
	optional := texts(pipeline.Optional())
	cmd := &cobra.Command{
		Use:   "publish (DIRECTORY | CONFIG | TEMPLATE...) (--tag REF | --skip push)",
		Short: "Check a catalog, build its image and push it, in one run for CI",
		Long: `Publish a catalog: a directory, what opm compose makes of CONFIG, or what opm render-template
makes of each TEMPLATE. The steps are those of the commands of the same name:

  validate, resolve (--all), check-images    with the opm.yaml beside the argument
  diff           with the image at the first --tag, or --against; none yet means that all is new
  build, push    of the image, if no step has failed, to the repository of each --tag, by digest
  sign           with --sign: cosign sign --yes IMAGE@DIGEST, also if the image is unchanged
  tag            makes each --tag name the image, if it is signed

A step that fails does not stop those that can do without it, so that one run reports every
problem. Bases, platforms, cosign and, unless push is skipped, the permission to push are checked
first. A catalog without objects is an error, unless opm.yaml sets the level of no-objects. Nothing
is pushed unless all steps pass. If a tag cannot be set, the summary names the tags that were, with
their digest. No file is written but --summary and --lock: what compose and render-template make is
gone at the end.

The summary on standard output is Markdown that fits into a comment on a pull request, or JSON with
everything; in the file it is always Markdown.

Exit status:
  0  published; or unchanged, since the same image is there; or checked, with --dry-run
  1  the catalog has problems, or the command line is wrong
  2  no problem was found, but something else failed: a registry, credentials, cosign; try again`,
		Example: `  opm publish catalog -t registry.example/crafts/catalog:v1 -i scratch --skip check-images,push
  opm publish crafts.yaml -t registry.example/crafts/catalog:v1 -i scratch --skip check-images,push
  docker login registry.example && opm publish catalog -t registry.example/crafts/catalog:v2 --sign`,
		Args:              atLeastOne("DIRECTORY, CONFIG or TEMPLATE"),
		ValidArgsFunction: files,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd, optional)
	return cmd
}

// publishFlags are the flags of publish.
type publishFlags struct {
	skip     []string
	dryRun   bool
	against  string
	summary  string
	sign     bool
	signArgs []string
	format   string
	report   reportFlags
	olm      string
	others   []string // catalogs for dependencies
	diff     diffFlags
	build    buildFlags

	rendering templateRendering // its images are those of all steps
}

// renderingFlags are the flags about how templates are rendered, each with whether compose has it, too.
var renderingFlags = map[string]bool{
	"jobs": true, "migrate": true, "migrate-level": true,
	"bundle-format": false, "env-related-images": false, "lock": false, "reuse": false, "rewrite-image": false,
	"strict": false, "strict-channels": false, "target": false,
}

func (f *publishFlags) add(cmd *cobra.Command, optional []string) {
	f.build.addImage(cmd)
	f.diff.addFailOn(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.skip, "skip", nil, "skip these comma-separated `STEPS`: "+strings.Join(optional, ", "))
	completeWith(cmd, listOf(func() []string { return optional }), "skip")
	flags.BoolVar(&f.dryRun, "dry-run", false, "do everything but push and sign")
	flags.StringVar(&f.against, "against", "", "compare with this `CATALOG` instead of the image at the first --tag")
	flags.StringVar(&f.summary, "summary", "", "append the summary to `FILE`, as Markdown")
	flags.BoolVar(&f.sign, "sign", false, "sign the image with cosign, which must be in PATH")
	flags.StringArrayVar(&f.signArgs, "sign-arg", nil, "pass `ARG` to cosign sign, such as --key=cosign.key; repeatable")
	choiceVar(cmd, &f.olm, "olm", "", olmBoth, "which OLM to ask", olmClassic, olmV1, olmBoth)
	choiceVar(cmd, &f.format, "output", "o", "markdown", "output format of the summary", "markdown", "json")
	flags.StringArrayVar(&f.others, "dependencies-from", nil,
		"resolve dependencies also from this `CATALOG`, as the cluster has it; repeatable")
	flags.StringVar(&f.report.config, "config", "", "read `FILE` instead of the opm.yaml beside the argument")
	flags.BoolVar(&f.report.strict, "warnings-as-errors", false, "make every warning an error")
	must(cmd.MarkFlagFilename("config", "yaml", "yml"))
	completeNothing(cmd, "sign-arg")
	f.rendering.add(cmd)
	for name := range renderingFlags {
		must(flags.SetAnnotation(name, templateFlag, nil))
	}
}

// run runs all steps and prints the summary.
func (f *publishFlags) run(cmd *cobra.Command, args []string) error {
	p, err := f.start(cmd, args)
	if err != nil {
		return err
	}
	defer p.close()
	p.prepare()
	p.doAll()
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	return p.print(p.run.Summary())
}

// print prints the summary. The error of steps that failed has the exit status of the outcome.
func (p *publication) print(s *pipeline.Summary) error {
	var text strings.Builder
	if err := s.WriteMarkdown(&text); err != nil {
		return err
	}
	err := p.appendSummary(text.String())
	if p.format == "json" {
		err = errors.Join(err, writeValue(dataOutput(p.cmd), s, "json"))
	} else {
		_, printErr := io.WriteString(textOutput(p.cmd), text.String())
		err = errors.Join(err, printErr)
	}
	failed := s.Err()
	if err != nil || failed == nil || s.Outcome == pipeline.Rejected {
		return errors.Join(err, failed)
	}
	return &statusError{failed, 2}
}

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

// start checks the command line, and opens the files and registries that the steps write to.
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

// findCatalog determines whether the argument is a catalog, or templates or a config that a catalog is made from.
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

// close removes temporary files and closes connections.
func (p *publication) close() {
	for _, c := range slices.Backward(p.closers) {
		_ = c()
	}
}

// prepare fails early, before a catalog is read or an image built: it checks programs and platforms, and that the
// registry accepts a push.
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

// show adds the findings of a check to its result, at the levels of the configuration.
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

// withoutTmp removes the temporary directory from the places of problems: it is gone when users read them.
func (p *publication) withoutTmp(problems []*problem.Problem) []*problem.Problem {
	for _, found := range problems {
		for _, text := range []*string{&found.Pos.File, &found.Message, &found.Fix} {
			*text = strings.ReplaceAll(*text, p.tmp+string(filepath.Separator), "")
		}
	}
	return problems
}

// before returns the reference to compare the catalog with, "" for none.
func (p *publication) before() string {
	if p.against == "" && len(p.build.tags) > 0 {
		return p.build.tags[0]
	}
	return p.against
}
