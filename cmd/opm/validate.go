package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

// validateFlags are the flags of opm validate.
type validateFlags struct {
	output        string
	rules         bool
	disable       []string
	strict        bool
	schemas       []string
	baseline      string
	writeBaseline bool
}

func validateCmd() *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use:   "validate CATALOG",
		Short: "Report every problem in a catalog",
		Long: `Check a catalog and report every problem in it with its place, the rule that it breaks and
what to do about it. The exit code is 0 if there are no errors; warnings are about what a
cluster or a user may trip over.

A CATALOG is a directory, a file, an archive (.tar or .tar.gz) or "-" for standard input.`,
		Example: `  opm validate catalog
  opm validate catalog -o sarif > problems.sarif
  opm validate catalog --warnings-as-errors --disable related-image-tag
  opm validate catalog --baseline known.json --write-baseline
  opm validate --rules`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.rules {
				return rangeArgs(0)(cmd, args)
			}
			return exactArgs("CATALOG")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.rules {
				return validate.WriteRules(cmd.OutOrStdout())
			}
			return f.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "text", "output format (text|json|yaml|sarif|github)")
	flags.BoolVar(&f.rules, "rules", false, "list all rules with their reasons and examples")
	flags.StringSliceVar(&f.disable, "disable", nil, "leave out these rules")
	flags.BoolVar(&f.strict, "warnings-as-errors", false, "make every warning an error")
	flags.StringArrayVar(&f.schemas, "schema", nil, "a CUE file with definitions of your own for objects and properties")
	flags.StringVar(&f.baseline, "baseline", "", "a file with known problems, which are not reported")
	flags.BoolVar(&f.writeBaseline, "write-baseline", false, "write the problems that there are to the file of --baseline")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp)))
	must(cmd.RegisterFlagCompletionFunc("disable", cobra.FixedCompletions(ruleNames(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

var outputs = []string{"text", "json", "yaml", "sarif", "github"}

func ruleNames() []string {
	var names []string
	for _, r := range validate.Rules() {
		names = append(names, r.Name)
	}
	return names
}

func (f *validateFlags) run(cmd *cobra.Command, ref string) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	catalog, err := render.Open(ctx, []string{ref}, openOptions(cmd))
	if err != nil {
		return err
	}
	defer catalog.Close()
	done := progress(cmd, "validating")
	defer done()
	report, err := validate.Catalog(ctx, opts, catalog.Sources...)
	if err != nil {
		return err
	}
	done()
	problems, err := f.withBaseline(report.Problems)
	if err != nil {
		return err
	}
	if err := f.print(cmd, problems); err != nil {
		return err
	}
	if slices.ContainsFunc(problems, func(p *validate.Problem) bool { return p.Severity == validate.Error }) {
		return errReported
	}
	return nil
}

func (f *validateFlags) options() (validate.Options, error) {
	opts := validate.Options{Disable: f.disable, Strict: f.strict}
	if !slices.Contains(outputs, f.output) && f.output != "" {
		return opts, usageError{fmt.Errorf("unknown output format %q, want one of %q", f.output, outputs)}
	}
	if f.writeBaseline && f.baseline == "" {
		return opts, usageError{errors.New("--write-baseline needs the file of --baseline")}
	}
	if err := validate.CheckNames(f.disable); err != nil {
		return opts, usageError{err}
	}
	for _, name := range f.schemas {
		data, err := os.ReadFile(name)
		if err != nil {
			return opts, fmt.Errorf("read schema: %w", err)
		}
		opts.Schemas = append(opts.Schemas, schemas.File{Name: name, Data: data})
	}
	return opts, nil
}

// withBaseline returns the problems that are not known, after it made all of them known if asked to.
func (f *validateFlags) withBaseline(problems []*validate.Problem) ([]*validate.Problem, error) {
	if f.baseline == "" {
		return problems, nil
	}
	if f.writeBaseline {
		write := validate.NewBaseline(problems).Write
		if err := atomicfile.Write(f.baseline, atomicfile.Options{Replace: true}, write); err != nil {
			return nil, fmt.Errorf("write baseline: %w", err)
		}
		return nil, nil
	}
	text, err := os.ReadFile(f.baseline)
	if err != nil {
		return nil, fmt.Errorf("read baseline: %w", err)
	}
	b, err := validate.ReadBaseline(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", f.baseline, err)
	}
	return b.Filter(problems), nil
}

func (f *validateFlags) print(cmd *cobra.Command, problems []*validate.Problem) error {
	out := cmd.OutOrStdout()
	switch f.output {
	case "json":
		return validate.WriteJSON(out, problems)
	case "yaml":
		return validate.WriteYAML(out, problems)
	case "sarif":
		return validate.WriteSARIF(out, problems, version)
	case "github":
		return validate.WriteGitHub(out, problems)
	}
	return printProblems(cmd.ErrOrStderr(), problems)
}

// manyProblems is how many problems are worth a line that counts them, also where nobody watches.
const manyProblems = 100

// printProblems prints problems for people: with colours and a count on a terminal.
func printProblems(w io.Writer, problems []*validate.Problem) error {
	terminal := isTerminal(w)
	colour := terminal && os.Getenv("NO_COLOR") == ""
	if err := validate.WriteText(w, problems, colour); err != nil {
		return err
	}
	if terminal || len(problems) >= manyProblems {
		_, err := fmt.Fprintf(w, "opm: %s\n", validate.Summary(problems))
		return err
	}
	return nil
}
