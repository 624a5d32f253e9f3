package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/edit"
)

// editFlags are the flags of commands that change a catalog or a template in place.
type editFlags struct {
	pkg    string
	dryRun bool
	create bool
}

// editNote says what all edits have in common.
const editNote = `

CATALOG is a directory or a file with a catalog, or a template. Comments, order and formatting stay
as they are. Nothing is written unless the package is valid afterwards; a template is checked
without its images.`

func (f *editFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pkg, "package", "", "edit `PACKAGE`, if several have what is named")
	completeWith(cmd, packages, "package")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would change as a diff, and write nothing")
	if flags.Lookup(maxObjectSize) == nil {
		addObjectLimit(cmd)
	}
}

// addUpdates adds the flags for what a new entry of a channel updates, and returns what reads them.
func addUpdates(cmd *cobra.Command) func() edit.Updates {
	var replaces string
	var u edit.Updates
	flags := cmd.Flags()
	flags.StringVar(&replaces, "replaces", "",
		"replace `BUNDLE`, or nothing if it is empty (default the head of the channel)")
	flags.StringSliceVar(&u.Skips, "skips", nil, "skip `BUNDLES`, with commas in between")
	flags.StringVar(&u.SkipRange, "skip-range", "", "also update the versions in `RANGE`, such as \">=1.0.0 <1.2.0\"")
	completeNothing(cmd, "replaces", "skips", "skip-range")
	return func() edit.Updates {
		if flags.Changed("replaces") {
			u.Replaces = &replaces
		}
		return u
	}
}

// run makes an edit, and prints what it decided, or the problems that it would cause.
func (f *editFlags) run(cmd *cobra.Command, path string, e edit.Edit) error {
	done := progress(cmd, "editing")
	defer done()
	w := workOf(cmd)
	result, err := edit.Apply(cmd.Context(), path, e, edit.Options{
		Package: f.pkg, DryRun: f.dryRun, Create: f.create, MaxObject: sizeOf(cmd, maxObjectSize), Read: w.Read,
	})
	if err != nil {
		return err
	}
	done()
	stderr := cmd.ErrOrStderr()
	if len(result.Problems) > 0 {
		err := printProblems(stderr, stderr, result.Problems, false)
		return withNotes(cmd, err, fmt.Sprintf("opm: %s is unchanged: the package would not be valid\n", path))
	}
	for _, note := range result.Notes {
		fmt.Fprintf(stderr, "opm: %s\n", legibleLines(note))
	}
	_, err = textOutput(cmd).Write(result.Diff)
	return err
}

// kindArgs requires the arguments CATALOG KIND NAME.
func kindArgs(cmd *cobra.Command, args []string) error {
	if err := exactArgs("CATALOG", "package|channel|bundle", "NAME")(cmd, args); err != nil {
		return err
	}
	if words := texts(edit.Kinds()); !slices.Contains(words, args[1]) {
		return usageError{fmt.Errorf("unknown kind %q%s: want %s", args[1], nearest.Hint(args[1], words), oneOf(words))}
	}
	return nil
}

// kinds completes to what has names in a package.
func kinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return texts(edit.Kinds()), cobra.ShellCompDirectiveNoFileComp
}

// namesOfKind completes to the names in the catalog of the first argument of what the second one says.
func namesOfKind(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return namesOf(edit.Kind(args[1]).Schema())(cmd, args, start)
}
