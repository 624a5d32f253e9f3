package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/watch"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

func validateCmd() *cobra.Command {
	f := validateFlags{reportFlags: reportFlags{rules: validateRules, upstream: true}}
	cmd := &cobra.Command{
		Use:   "validate CATALOG",
		Short: "Validate a catalog and report every problem",
		Long: `Validate a catalog and report every problem with its place, the rule that it breaks and how to
fix it. An error is a problem that keeps opm from serving the catalog; the exit code is 1 if
there are any. A warning is a problem that clusters or users may trip over; info is what could
be better. Text has one line for the warnings of one rule in a package. Text and github have no
info without --info; all other formats have every problem.

opm.yaml beside the catalog, or the file of --config, sets the level of rules, names a baseline
and schemas, and states the policy of the catalog:

  rules: {related-image-tag: warning, z-release: off}   # error, warning, info or off
  packages: {kiln: {rules: {skips-only: off}}}
  baseline: known.json
  schemas: [ours.cue]
  policy:
    defaultChannel: stable
    channelNames: ^(stable|fast)(-v[0-9.]+)?$
    largestSkip: {major: 0, minor: 1}    # how far an update may reach
    registries: [registry.example/pottery]
    bundleRegistries: [registry.example/bundles]    # if other ones than for all images
    packages: [kiln, loom]
    onePackage: false

With --target, the catalog is also checked against a platform, ocp=VERSION or kubernetes=VERSION:
the form of its metadata, the APIs that Kubernetes removed, and the versions that its bundles
support. opm.yaml can have the target of a catalog, or of each catalog beside it by the name of
its directory:

  targets: {v4.16: ocp=4.16, v4.18: ocp=4.18}

With --against, the catalog, which may be a fragment or a template, is also compared with the
published catalog INDEX that it goes into: what users of a package would lose is a problem, by the
rules published-*. Packages that only INDEX has are not compared. Problems that INDEX has too are
known: they are hints, and do not fail.

CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or an
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an image archive. A file with a
template is checked as one, without its images unless there is --against.
Text goes to standard error, other formats to standard output.`,
		Example: `  opm validate catalog
  opm validate catalog --package kiln --info
  opm validate catalog -o sarif > problems.sarif
  opm validate catalog --warnings-as-errors --disable skips-only
  opm validate catalog --target ocp=4.18
  opm validate catalog/kiln --against catalog
  opm validate catalog --baseline known.json --write-baseline
  opm validate catalog --watch`,
		Args:              exactArgs("CATALOG"),
		ValidArgsFunction: completeArgs(files),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.watched {
				return f.watch(cmd, args[0])
			}
			return f.run(cmd, args[0])
		},
	}
	addProblemFormat(cmd, &f.format, "o", "", "output format (default text)")
	f.reportFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.schemas, "schema", nil, "check with the CUE definitions in `FILE` too")
	flags.StringVar(&f.pkg, "package", "", "validate `PACKAGE` only")
	flags.StringVar(&f.target, "target", "", "check that the catalog fits the platform `TARGET`, such as ocp=4.16")
	flags.StringVar(&f.against, "against", "",
		"report what users of the catalog `INDEX` would lose, and only new problems")
	flags.BoolVar(&f.watched, "watch", false, "validate again whenever a file changes, until Ctrl-C")
	f.addRules(cmd, "schema", "package", "target", "against", "watch")
	exclude(cmd, "write-baseline", "watch")
	must(cmd.MarkFlagFilename("schema", "cue"))
	addReadFlags(cmd, &f.images)
	f.addEach(cmd, (*cobra.Command).ErrOrStderr, &f.format)
	f.images.each = &f.each
	exclude(cmd, "each", "watch")
	exclude(cmd, "against", "watch")
	return cmd
}

// validateFlags are the flags of validate.
type validateFlags struct {
	reportFlags
	format  string
	schemas []string
	pkg     string
	target  string
	against string
	watched bool
	images  imageFlags
}

func (f *validateFlags) run(cmd *cobra.Command, ref string) error {
	if ref == render.Stdin && f.against == render.Stdin {
		return usageError{errors.New("CATALOG and --against cannot both be standard input")}
	}
	c, err := f.read(ref)
	if err != nil {
		return err
	}
	opts, err := f.options(c, ref)
	if err != nil {
		return err
	}
	if isText(f.format) && !f.info && f.against == "" {
		opts.Info = validate.InfoUnplaced
		if c.Baseline == "" && !f.each.given() {
			opts.Info = validate.InfoCounted
		}
	}
	report := problem.Report{Subject: "catalog", Rules: validate.Rules()}
	if isTemplate(ref) {
		report = problem.Report{Subject: "template", Rules: template.Rules()}
		if report.Problems, err = f.checkTemplate(cmd, ref, opts); err != nil {
			return err
		}
	} else if report.Problems, err = f.checkCatalog(cmd, ref, opts); err != nil {
		return err
	}
	if f.against != "" {
		report.Rules = f.rules()
	}
	return f.print(cmd, cmd.ErrOrStderr(), f.format, c, &report, f.known(report.Problems)...)
}

// checkCatalog returns the problems of a catalog.
func (f *validateFlags) checkCatalog(
	cmd *cobra.Command, ref string, opts validate.Options,
) (problems []*problem.Problem, err error) {
	from := openOptions(cmd)
	from.AnyDirectory = true // as upstream: only rendering knows bundles
	use := func(c *catalog, found *validate.Report, _ func()) (err error) {
		if problems = found.Problems; f.pkg != "" { // files that cannot be read may have more of the package
			if _, err = list.Choose(found.Index, f.pkg); err != nil {
				return err
			}
			problems = slices.DeleteFunc(problems, func(p *problem.Problem) bool {
				return p.Package != f.pkg && p.Rule != validate.Unreadable
			})
		}
		if f.against != "" {
			problems, err = f.compare(cmd, opts, problems, c.Sources)
		}
		return err
	}
	return problems, f.images.withValidated(cmd, "validating", from, ref, opts, use)
}

// options returns the validation options for a catalog with a configuration.
func (f *validateFlags) options(c *config, ref string) (validate.Options, error) {
	opts := validate.Options{Levels: c.levels, Policy: c.Policy}
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
func (f *validateFlags) platform(c *config, ref string) (platform.Platform, error) {
	if f.target == "" {
		return c.targetOf(ref)
	}
	p, err := parseMinorTarget(f.target)
	if err != nil {
		return p, usageError{fmt.Errorf("--target: %w", err)}
	}
	return p, nil
}

// checkTemplate returns the problems of a template.
func (f *validateFlags) checkTemplate(
	cmd *cobra.Command, file string, opts validate.Options,
) ([]*problem.Problem, error) {
	if f.pkg != "" {
		return nil, usageError{errors.New("--package is for catalogs, not for templates")}
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

// watch validates ref, and validates it again when a file that the result depends on changes, until the command is
// interrupted. It returns the error of the last run.
func (f *validateFlags) watch(cmd *cobra.Command, ref string) error {
	if err := checkWatchable(ref); err != nil {
		return err
	}
	w, err := watch.New(ref)
	if err != nil {
		return fmt.Errorf("watch %s: %w", ref, err)
	}
	defer w.Close()
	last := context.Canceled // if no run finishes
	for {
		if err := w.Follow(f.inputs(ref)...); err != nil { // before a run, so that no change is missed
			return fmt.Errorf("watch %s: %w", ref, err)
		}
		err := f.run(cmd, ref)
		if _, ok := errors.AsType[usageError](err); ok || errors.Is(err, validate.ErrSchemas) {
			return err
		}
		if cmd.Context().Err() != nil {
			return last
		}
		if errors.Is(err, declcfg.ErrChanged) { // while it was read
			time.Sleep(watch.Quiet)
			continue
		}
		stderr, verdict := cmd.ErrOrStderr(), "valid"
		if last = err; err != nil {
			printError(stderr, cmd, err)
			last, verdict = failed(""), "not valid"
		}
		fmt.Fprintf(stderr, "opm: %s; waiting for changes, Ctrl-C ends\n", verdict)
		debug.FreeOSMemory() // the next run may be much later
		changed, err := w.Wait(cmd.Context())
		switch {
		case cmd.Context().Err() != nil:
			return last
		case err != nil:
			return fmt.Errorf("watch %s: %w", ref, err)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "\n--- %s %s changed ---\n", time.Now().Format(time.TimeOnly), legible.Name(changed))
	}
}

// checkWatchable returns an error unless ref is a path that can be read again.
func checkWatchable(ref string) error {
	var what string
	switch r := reference.Of(ref); r.Kind {
	case reference.Directory, reference.File:
		return nil
	case reference.Missing:
		return fmt.Errorf("open %q: %w", ref, r.Err)
	case reference.StandardInput, reference.Pipe:
		what = "standard input or a pipe"
	default:
		what = "an image"
	}
	return usageError{fmt.Errorf("--watch needs a directory or a file, found %s", what)}
}

// inputs returns the files that a run reads apart from ref itself, whether or not they exist.
func (f *validateFlags) inputs(ref string) []string {
	files := slices.Concat(optional(configOf(f.config, ref)), f.schemas)
	if c, err := f.read(ref); err == nil { // else the run reports it
		files = slices.Concat(files, c.Schemas, optional(c.Baseline))
	}
	return files
}
