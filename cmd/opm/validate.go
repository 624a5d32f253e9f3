package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

func validateCmd() *cobra.Command {
	var opts validate.Options
	var format string
	var baseline baselineFile
	var rules bool
	var userSchemas []string
	var from imageFlags
	cmd := &cobra.Command{
		Use:   "validate CATALOG",
		Short: "Validate a catalog and report every problem",
		Long: `Validate a catalog and report every problem with its place, the rule that it breaks and how to
fix it. An error is a problem that keeps opm from serving the catalog; the exit code is 1 if
there are any. A warning is a problem that clusters or users may trip over.

CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or an
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an image archive.
Text goes to standard error, other formats to standard output.`,
		Example: `  opm validate catalog
  opm validate catalog -o sarif > problems.sarif
  opm validate catalog --warnings-as-errors --disable related-image-tag
  opm validate catalog --baseline known.json --write-baseline
  opm validate --rules`,
		Args: func(cmd *cobra.Command, args []string) error {
			if rules {
				return rangeArgs(0)(cmd, args)
			}
			return exactArgs("CATALOG")(cmd, args)
		},
		ValidArgsFunction: completeArgs(files),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if rules {
				return validate.Rules().Write(cmd.OutOrStdout())
			}
			if baseline.write && baseline.name == "" {
				return usageError{errors.New("--write-baseline needs the file of --baseline")}
			}
			if err := validate.Rules().CheckNames(opts.Disable); err != nil {
				return usageError{fmt.Errorf("%w; opm validate --rules lists them", err)}
			}
			if opts.Schemas, err = readSchemas(userSchemas); err != nil {
				return err
			}
			problems, err := problemsOf(cmd, args[0], &from, opts)
			if err != nil {
				return err
			}
			if baseline.write {
				return baseline.writeKnown(cmd.ErrOrStderr(), problems)
			}
			if problems, err = baseline.unknown(problems); err != nil {
				return err
			}
			report := problem.Report{Subject: "catalog", Problems: problems, Rules: validate.Rules()}
			return printReport(cmd, cmd.ErrOrStderr(), format, &report)
		},
	}
	flags := cmd.Flags()
	addProblemFormat(cmd, &format, "o", "", "output format (default text)")
	baseline.addFlags(cmd)
	flags.BoolVar(&rules, "rules", false, "list all rules with their reasons and examples")
	flags.StringSliceVar(&opts.Disable, "disable", nil, "leave out `RULES`, with commas in between")
	flags.BoolVar(&opts.Strict, "warnings-as-errors", false, "make every warning an error")
	flags.StringArrayVar(&userSchemas, "schema", nil, "check with the CUE definitions in `FILE` too")
	exclude(cmd, "rules", "output", "disable", "warnings-as-errors", "schema", "baseline", "write-baseline")
	must(cmd.MarkFlagFilename("schema", "cue"))
	from.add(cmd)
	must(cmd.RegisterFlagCompletionFunc("disable",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return validate.Rules().Names(), cobra.ShellCompDirectiveNoFileComp
		}))
	return cmd
}

func readSchemas(names []string) ([]schemas.File, error) {
	var all []schemas.File
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
		all = append(all, schemas.File{Name: name, Data: data})
	}
	return all, nil
}

func problemsOf(
	cmd *cobra.Command, ref string, images *imageFlags, opts validate.Options,
) ([]*problem.Problem, error) {
	defer progress(cmd, "validating")()
	from := openOptions(cmd)
	from.AnyDirectory = true // as upstream: only rendering knows bundles
	catalog, closeAll, err := images.openWith(cmd, from, []string{ref})
	if err != nil {
		return nil, err
	}
	defer closeAll()
	report, err := validate.Catalog(cmd.Context(), opts, catalog.Sources...)
	if err != nil {
		return nil, err
	}
	return report.Problems, nil
}
