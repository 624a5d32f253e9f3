package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

func validateCmd() *cobra.Command {
	f := validateFlags{reportFlags: reportFlags{Printer: problems.Printer{Rules: validateRules, Quiet: true}}}
	return command{
		Use:   "validate CATALOG",
		Short: "Validate a catalog and report every problem",
		Long: `Validate a catalog and report every problem with its place, the rule that it breaks and how to
fix it. An error is a problem that keeps opm from serving the catalog; the exit code is 1 if
there are any. A warning is a problem that clusters or users may trip over; info is what could
be better. Text has one line for the warnings of one rule in a package. Text and github have no
info without --info; all other formats have every problem.

opm.yaml beside the catalog, or the file of --config, sets the level of rules, names a baseline
and schemas, and states the policy of the catalog: see opm help opm.yaml.

With --target, the catalog is also checked against a platform, ocp=VERSION or kubernetes=VERSION:
the form of its metadata, the APIs that Kubernetes removed, and the versions that its bundles
support. opm.yaml can have the target, too.

With --against, the catalog, which may be a fragment or a template, is also compared with the
published catalog INDEX that it goes into: what users of a package would lose is a problem, by the
rules published-*. Packages that only INDEX has are not compared. Problems that INDEX has too are
known: they are hints, and do not fail.

opm help references describes CATALOG. A file with a template is checked as one, without its images
unless there is --against. Text goes to standard error, other formats to standard output.`,
		Example: `  opm validate catalog
  opm validate catalog --package kiln --info
  opm validate catalog -o sarif > problems.sarif
  opm validate catalog --warnings-as-errors --disable skips-only
  opm validate catalog --target ocp=4.18
  opm validate catalog/kiln --against catalog
  opm validate catalog --baseline known.json --write-baseline
  opm validate catalog --watch`,
		flags:  f.add,
		images: &f.images,
		report: &f.reportFlags,
		each:   f.forEach(),
		do: func(cmd *cobra.Command, args []string) error {
			if f.watched {
				return f.watch(cmd, args[0])
			}
			return f.run(cmd, args[0])
		},
	}.cobra()
}

// validateFlags are the flags of validate.
type validateFlags struct {
	reportFlags
	schemas []string
	pkg     string
	target  string
	against string
	watched bool
	images  imageFlags
}

func (f *validateFlags) add(cmd *cobra.Command) {
	cmdline.ChoiceVar(cmd, new(string), "output", "o", "", "output format (default text)", problem.Formats()...)
	f.reportFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.schemas, "schema", nil, "check with the CUE definitions in `FILE` too")
	flags.StringVar(&f.pkg, "package", "", "validate `PACKAGE` only")
	flags.StringVar(&f.target, "target", "", "check that the catalog fits the platform `TARGET`, such as ocp=4.16")
	flags.StringVar(&f.against, "against", "",
		"report what users of the catalog `INDEX` would lose, and only new problems")
	flags.BoolVar(&f.watched, "watch", false, "validate again whenever a file changes, until Ctrl-C")
	f.addRules(cmd, "schema", "package", "target", "against", "watch")
	cmdline.Exclude(cmd, "write-baseline", "watch")
	cmdline.Exclude(cmd, "rules", "each")
	cmdline.Exclude(cmd, "each", "watch")
	cmdline.Exclude(cmd, "against", "watch")
	cmdline.Must(cmd.MarkFlagFilename("schema", "cue"))
}

func (f *validateFlags) run(cmd *cobra.Command, ref string) error {
	if ref == render.Stdin && f.against == render.Stdin {
		return cmdline.Errorf("CATALOG and --against cannot both be standard input")
	}
	return f.reportFlags.run(cmd, ref, func(c *opmyaml.Config) (*problem.Report, error) { return f.check(cmd, ref, c) })
}

// check returns the problems of a catalog or a template.
func (f *validateFlags) check(cmd *cobra.Command, ref string, c *opmyaml.Config) (*problem.Report, error) {
	opts, err := f.options(c, ref)
	if err != nil {
		return nil, err
	}
	if cmdline.Format(cmd) == output.Text && !f.Info && f.against == "" {
		opts.Info = validate.InfoUnplaced
		if c.Baseline == "" && !f.each.given() {
			opts.Info = validate.InfoCounted
		}
	}
	report, find := &problem.Report{Subject: "catalog", Rules: validate.Rules()}, f.checkCatalog
	if input.IsTemplate(ref) {
		report, find = &problem.Report{Subject: "template", Rules: template.Rules()}, f.checkTemplate
	}
	if report.Problems, err = find(cmd, ref, opts); err != nil {
		return nil, err
	}
	if f.against != "" {
		report.Rules = f.Rules()
	}
	report.Summary = f.known(report.Problems)
	return report, nil
}

// checkCatalog returns the problems of a catalog.
func (f *validateFlags) checkCatalog(
	cmd *cobra.Command, ref string, opts validate.Options,
) (problems []*problem.Problem, err error) {
	defer display(cmd).Start("validating")()
	from := openOptions(cmd)
	from.AnyDirectory = true // as upstream: only rendering knows bundles
	c, found, err := f.images.openValidated(cmd, from, ref, opts)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if problems = found.Problems; f.pkg != "" { // files that cannot be read may have more of the package
		if _, err = list.Choose(found.Index, f.pkg); err != nil {
			return nil, err
		}
		problems = slices.DeleteFunc(problems, func(p *problem.Problem) bool {
			return p.Package != f.pkg && p.Rule != validate.Unreadable
		})
	}
	if f.against != "" {
		return f.compare(cmd, opts, problems, c.Sources)
	}
	return problems, nil
}

// options returns the validation options for a catalog with a configuration.
func (f *validateFlags) options(c *opmyaml.Config, ref string) (validate.Options, error) {
	opts := validate.Options{Levels: c.Levels, Policy: c.Policy}
	var err error
	if opts.Target, err = f.platform(c, ref); err != nil {
		return opts, err
	}
	for i, name := range slices.Concat(c.Schemas, f.schemas) {
		data, err := regular.ReadNamed(name)
		if err != nil {
			return opts, fmt.Errorf("read schema: %w", err)
		}
		opts.Schemas = append(opts.Schemas, schemas.File{Name: name, Data: data, Secret: i < len(c.Schemas)})
	}
	return opts, nil
}

// platform returns the target of a catalog: the target of the flag, or else of the configuration.
func (f *validateFlags) platform(c *opmyaml.Config, ref string) (platform.Platform, error) {
	if f.target == "" {
		return c.TargetOf(ref)
	}
	p, err := platform.ParseTarget(f.target)
	if err != nil {
		return p, cmdline.Errorf("--target: %w", err)
	}
	return p, nil
}

// checkTemplate returns the problems of a template.
func (f *validateFlags) checkTemplate(
	cmd *cobra.Command, file string, opts validate.Options,
) ([]*problem.Problem, error) {
	if f.pkg != "" {
		return nil, cmdline.Errorf("--package is for catalogs, not for templates")
	}
	text, err := regular.ReadNamed(file)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	problems, err := template.Check(cmd.Context(), file, text, opts)
	if err != nil || f.against == "" {
		return problems, err
	}
	compared, err := f.compareTemplate(cmd, opts, problems, file, text)
	if err != nil && problem.HasErrors(problems) { // which keep it from being rendered
		return problems, nil
	}
	return compared, err
}
