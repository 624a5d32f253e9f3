package main

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/plural"
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
	opts := edit.Options{
		Package: f.pkg, DryRun: f.dryRun, Create: f.create, MaxObject: sizeOf(cmd, maxObjectSize), Read: w.Read,
	}
	result, err := edit.Apply(cmd.Context(), path, e, opts)
	if err != nil {
		return err
	}
	hint := ""
	if remove, ok := e.(edit.Remove); ok && len(result.Problems) > 0 && remove.Kind == edit.Bundle && !remove.Reconnect {
		remove.Reconnect, opts.DryRun = true, true
		if other, err := edit.Apply(cmd.Context(), path, remove, opts); err == nil && len(other.Problems) == 0 {
			hint = "hint: with --reconnect, what updates the bundle updates what that updates, and the package stays valid\n"
		}
	}
	done()
	stderr := cmd.ErrOrStderr()
	if len(result.Problems) > 0 {
		err := printProblems(stderr, stderr, result.Problems, false)
		return withNotes(cmd, err, fmt.Sprintf("opm: %s is unchanged: the package would not be valid\n", path)+hint)
	}
	for _, note := range result.Notes {
		fmt.Fprintf(stderr, "opm: %s\n", legibleLines(note))
	}
	_, err = textOutput(cmd).Write(abbreviated(result.Diff))
	return err
}

// maxDiffLine is how many characters of a line are shown in a diff. Those of manifests in base64 have thousands.
const maxDiffLine = 200

// abbreviated returns a diff with the ends of long lines left out.
func abbreviated(text []byte) []byte {
	var short []byte
	for line := range bytes.Lines(text) {
		if n := utf8.RuneCount(line); n > maxDiffLine+1 {
			line = fmt.Appendf(nil, "%s… (%s characters)\n", string([]rune(string(line))[:maxDiffLine]), plural.Number(n-1))
		}
		short = append(short, line...)
	}
	return short
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
