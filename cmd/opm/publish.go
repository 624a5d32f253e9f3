package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/publish/pipeline"
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
