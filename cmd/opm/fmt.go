package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/render"
)

func fmtCmd() *cobra.Command {
	var check, diff bool
	each := eachFlag{together: true}
	return command{
		Use:   "fmt FILE|DIRECTORY...",
		Short: "Format the YAML and JSON files of catalogs and templates",
		Long: `Rewrite files in one layout: objects and their keys in the order of the format, two spaces of
indentation (four in JSON), quotes only where they are needed. Values do not change, and comments
stay with what they are about. The names of the files that changed are printed.

In a directory, all files of the catalog are formatted: those that .indexignore does not ignore. Of
a link, the target is formatted, even if it is elsewhere.
"-" formats standard input to standard output.

A file that cannot be formatted is left as it is, and the reason is an error at its place.`,
		Example: `  opm fmt catalog templates/basic.yaml
  opm fmt --check catalog || opm fmt --diff catalog
  opm fmt - < crafts.yaml`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.BoolVar(&check, "check", false, "change nothing; list the files that would change, and exit with 1 if any")
			flags.BoolVar(&diff, "diff", false, "change nothing; print what would change as a unified diff")
		},
		each: &each,
		work: "formatting",
		do: func(cmd *cobra.Command, args []string) error {
			if each.given() {
				all, err := each.catalogs("")
				if err != nil {
					return err
				}
				args = slices.Concat(pathsOf(all), args[1:])
			}
			return runFmt(cmd, args, check, diff)
		},
	}.cobra()
}

// runFmt formats the files of the arguments. With check, it fails if a file would change.
func runFmt(cmd *cobra.Command, args []string, check, diff bool) error {
	f := edit.Formatter{
		Compare: check || diff, Diff: diff, Warn: warnOfLeftovers(cmd),
		Changed: func(name string) error {
			_, err := fmt.Fprintln(textOutput(cmd), name)
			return err
		},
		Print: func(text []byte) error { return writeDiff(cmd, text) },
	}
	var errs []error
	for _, arg := range args {
		if arg == render.Stdin {
			errs = append(errs, f.Reader(cmd.Context(), dataOutput(cmd), "stdin", cmd.InOrStdin()))
		} else {
			errs = append(errs, f.Path(cmd.Context(), arg))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if check && f.Different > 0 {
		return fmt.Errorf("%d of %s not formatted; run: %s", f.Different, plural.Words(f.Compared, "file is", "files are"),
			shell.Join(append([]string{"opm", "fmt"}, args...)...))
	}
	return nil
}
