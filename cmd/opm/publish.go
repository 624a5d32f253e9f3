package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/help"
	"github.com/opm-toolchain/opm/internal/publish"
	"github.com/opm-toolchain/opm/internal/publish/pipeline"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/template"
)

func publishCmd() *cobra.Command {
	f := publishFlags{report: reportFlags{each: eachFlag{together: true}}}
	return command{
		Use:   "publish (DIRECTORY | CONFIG | TEMPLATE...) (--tag REF | --skip push)",
		Short: "Check a catalog, build its image and push it, in one run for CI",
		Long: `Publish a catalog: a directory, what opm compose makes of CONFIG, or what opm render-template
makes of each TEMPLATE. The steps are those of the commands of the same name:

  validate, resolve (--all), check-images    with the opm.yaml beside the argument
  diff           with the image at the first --tag, or --against; none yet means that all is new
  build, push    of the image, if no step has failed, to the repository of each --tag, by digest
  sign           with --sign: cosign sign --yes IMAGE@DIGEST, also if the image is unchanged
  tag            makes each --tag name the image, if it is signed

With --against, problems that this catalog has too are hints, and what its users would lose is a
problem of diff, as for validate --against.

With --each, each catalog has an image of its own: {{.Catalog}} in a --tag is its name. Nothing is
pushed unless the steps of all catalogs pass, and tags come after the images of all are signed.

A step that fails does not stop those that can do without it, so that one run reports every
problem. Bases, architectures, cosign and, unless push is skipped, the right to push are checked
first. A catalog without objects is an error, unless opm.yaml sets the level of no-objects. Nothing
is pushed unless all steps pass. If a tag cannot be set, the summary names the tags that were, with
their digest. No file is written but --summary and --lock: what compose and render-template make is
gone at the end.

The summary on standard output is Markdown that fits into a comment on a pull request, JSON with
everything, or with -o github the problems as annotations, at their lines. A --summary file whose
name ends in .json is replaced by JSON; to others, Markdown is appended.

Exit status:
  0  published; or unchanged, since the same image is there; or checked, with --dry-run
  1  the catalog has problems, or the command line is wrong
  2  no problem was found, but something else failed: a registry, credentials, cosign; try again`,
		Example: `  opm publish catalog -t registry.example/crafts/catalog:v1 -i scratch --skip check-images,push
  opm publish crafts.yaml -t registry.example/crafts/catalog:v1 -i scratch --skip check-images,push
  docker login registry.example && opm publish catalog -t registry.example/crafts/catalog:v2 --sign
  opm publish --each catalog/ -t 'registry.example/crafts:{{.Catalog}}' -i scratch --skip check-images,diff,push`,
		args:     f.args,
		complete: completion.Files,
		flags: func(cmd *cobra.Command) {
			f.addImage(cmd)
			f.add(cmd, cmdline.Texts(pipeline.Optional()))
		},
		each: &f.report.each,
		do:   f.run,
	}.cobra()
}

// addImage adds the flags about the image.
func (f *publishFlags) addImage(cmd *cobra.Command) {
	f.build.addImage(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "do everything but push and sign")
	flags.BoolVar(&f.sign, "sign", false, "sign the image with cosign, which must be in PATH")
	flags.StringArrayVar(&f.signArgs, "sign-arg", nil, "pass `ARG` to cosign sign, such as --key=cosign.key; repeatable")
}

// publishFlags are the flags of publish and check.
type publishFlags struct {
	onlyCheck bool // without the image

	skip     []string
	dryRun   bool
	against  string
	summary  []string
	sign     bool
	signArgs []string
	format   string
	report   reportFlags
	olm      olmFlag
	others   []string // catalogs for dependencies
	diff     diffFlags
	build    buildFlags

	rendering templateRendering // its images are used by all steps
}

// add adds the flags that both commands have. optional are the steps that can be skipped.
func (f *publishFlags) add(cmd *cobra.Command, optional []string) {
	f.diff.addFailOn(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.skip, "skip", nil, "skip these comma-separated `STEPS`: "+strings.Join(optional, ", "))
	completion.With(cmd, completion.ListOf(func() []string { return optional }), "skip")
	flags.StringVar(&f.against, "against", "", "compare with this `CATALOG` instead of the image at the first --tag")
	flags.StringArrayVar(&f.summary, "summary", nil,
		"append the summary to `FILE` as Markdown, or replace it as JSON if its name ends in .json; repeatable")
	f.olm.add(cmd, "which OLM to ask")
	cmdline.ChoiceVar(cmd, &f.format, "output", "o", "markdown", "output format of the summary, or of the problems",
		"markdown", "json", "yaml", string(problem.GitHub))
	flags.StringArrayVar(&f.others, "dependencies-from", nil,
		"resolve dependencies also from this `CATALOG`, as the cluster has it; repeatable")
	flags.StringVar(&f.report.config, "config", "", "read `FILE` instead of the opm.yaml beside the argument")
	flags.BoolVar(&f.report.strict, "warnings-as-errors", false, "make every warning an error")
	cmdline.Must(cmd.MarkFlagFilename("config", "yaml", "yml"))
	f.rendering.add(cmd)
	for name := range renderingFlags {
		cmdline.Must(flags.SetAnnotation(name, help.TemplateFlag, nil))
	}
}

// args requires what to publish: the arguments or, with --each, no arguments.
func (f *publishFlags) args(cmd *cobra.Command, args []string) error {
	switch {
	case f.report.each.given():
		return cmdline.WantArgs("CATALOG")(cmd, args)
	case len(args) == 0:
		return cmdline.Errorf("argument DIRECTORY, CONFIG or TEMPLATE is missing")
	}
	return nil
}

// run runs all steps and prints the summary.
func (f *publishFlags) run(cmd *cobra.Command, args []string) error {
	refs, err := f.report.each.catalogs(args[0])
	if err != nil {
		return err
	}
	if err := f.prepare(); err != nil {
		return err
	}
	places, err := placesOf(publish.Place{Tags: f.build.Tags}, refs)
	if err != nil {
		return err
	}
	var all []pipeline.Options
	for i, ref := range refs {
		if f.report.each.given() {
			args = []string{ref.Ref}
		}
		f.report.each.now = ref
		opts, err := f.options(cmd, args, places[i].Tags)
		if err != nil {
			return err
		}
		if f.report.each.given() {
			opts.Name = ref.Name
		}
		all = append(all, opts)
	}
	var files []*os.File
	for _, name := range f.summary {
		file, err := regular.CreateNamed(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return fmt.Errorf("--summary: %w", err)
		}
		defer file.Close()
		files = append(files, file)
	}
	registry, err := f.build.images.options(cmd)
	if err != nil {
		return err
	}
	defer registry.Cache.Close()
	closeBases := func() {}
	defer func() { closeBases() }()
	bases := sync.OnceValues(func() (platforms []publish.Platform, err error) {
		platforms, closeBases, err = f.build.open(cmd.Context(), registry)
		return platforms, err
	})
	for i := range all {
		all[i].Registry, all[i].Build.Limits, all[i].OpenPlatforms = registry, registry.Limits, bases
		f.setHooks(cmd, &all[i])
	}
	summaries, err := pipeline.Run(cmd.Context(), all...)
	if err != nil {
		return err
	}
	return f.print(cmd, summaries, files)
}

// prepare derives flags from others, and checks the flags that all catalogs share.
func (f *publishFlags) prepare() error {
	f.build.push, f.build.images = true, f.rendering.images
	f.report.Rules = template.Rules
	if f.onlyCheck {
		f.skip = append(f.skip, string(pipeline.Build)) // and with it all that follow
		f.build.platforms = optional(f.build.images.platform)
	}
	skip, err := pipeline.ParseSteps(f.skip)
	switch {
	case err != nil:
		return cmdline.Errorf("--skip: %w: want %s", err, cmdline.OneOf(pipeline.Optional()))
	case len(f.build.Tags) == 0 && !slices.Contains(skip, pipeline.Push):
		return cmdline.Errorf("--tag is missing: it names the image to publish")
	case f.signArgs != nil && !f.sign:
		return cmdline.Errorf("--sign-arg needs --sign")
	}
	return nil
}
