package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// editFlags are the flags of commands that change a catalog or a template in place.
type editFlags struct {
	pkg    string
	dryRun bool
	create bool

	replaces string // see addEntry
	each     eachFlag
	format   string
	impact   bool // a report in the format is on standard output

	releases     string // the annotation of an added bundle with the releases of OpenShift that it supports
	allPlatforms bool   // add it also to catalogs for others
}

// editNote is the paragraph in the help of all commands that edit catalogs.
const editNote = `

CATALOG is a directory or a file with a catalog, or a template. Comments, order and formatting stay
as they are. Nothing is written unless the package is valid afterwards; a template is checked
without its images. With -o json or yaml, the output lists the changed files and the changes.`

// add adds the flags to a command whose argument at is CATALOG. Call it last.
func (f *editFlags) add(cmd *cobra.Command, at int) {
	flags := cmd.Flags()
	flags.StringVar(&f.pkg, "package", "", "edit `PACKAGE`, if several have what is named")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would change as a diff, and write nothing")
	if flags.Lookup("output") == nil {
		addOutput(cmd, &f.format, output.Text, output.JSON, output.YAML)
	}
	if flags.Lookup(maxObjectSize) == nil {
		addObjectLimit(cmd)
	}
	f.each.addForAll(cmd, at)
}

// addEntry adds the flags for a new channel entry: the flag called name for its channel, and flags for its edges. The
// command itself passes on --replaces. created names the objects that --create creates, for the help.
func (f *editFlags) addEntry(cmd *cobra.Command, name string, channel *string, u *edit.Updates, created string) {
	flags := cmd.Flags()
	flags.StringVar(channel, name, "", "put the bundle into `CHANNEL`")
	must(cmd.MarkFlagRequired(name))
	flags.StringVar(&f.replaces, "replaces", "",
		"replace `BUNDLE`, or nothing if it is empty (default the head of the channel)")
	flags.StringSliceVar(&u.Skips, "skips", nil, "skip these comma-separated `BUNDLES`")
	flags.StringVar(&u.SkipRange, "skip-range", "", "also update the versions in `RANGE`, such as \">=1.0.0 <1.2.0\"")
	completeNothing(cmd, "replaces")
	flags.BoolVar(&f.create, "create", false, "create "+created)
}

// run applies an edit to a catalog or, with --each, to several catalogs, and prints its notes, or the problems that it
// would cause.
func (f *editFlags) run(cmd *cobra.Command, path string, e edit.Edit) error {
	done := display{cmd}.Start("editing")
	defer done()
	refs, err := f.each.catalogs(path)
	if err != nil {
		return err
	}
	platforms, err := platformsOf(refs, e) // before anything is changed
	if err != nil {
		return err
	}
	paths := pathsOf(refs)
	w := display{cmd}
	opts := edit.Options{
		Package: f.pkg, DryRun: f.dryRun, Create: f.create, MaxObject: sizeOf(cmd, maxObjectSize), Read: w.Read,
		Warn: warnOfLeftovers(cmd),
	}
	results, err := edit.ApplyAll(cmd.Context(), paths, e, opts)
	if err != nil {
		return err
	}
	problems, invalid := problemsOf(paths, results)
	stderr := cmd.ErrOrStderr()
	if invalid != nil {
		hint := hintRemove(cmd.Context(), paths, e, opts)
		done()
		unchanged := fmt.Sprintf("%s is unchanged: the package would not be valid", paths[0])
		if len(paths) > 1 {
			unchanged = "no catalog is changed: the package would not be valid in " + strings.Join(invalid, ", ")
		}
		err := printProblems(stderr, stderr, problems, false)
		return withNotes(cmd, err, "opm: "+legibleLines(unchanged)+"\n"+hint)
	}
	done()
	var without []string
	for i, r := range results {
		if r.Absent != nil {
			without = append(without, paths[i])
		}
		for _, note := range r.Notes {
			if f.isData() {
				break // they are in the output
			}
			if len(paths) > 1 {
				note = paths[i] + ": " + note
			}
			fmt.Fprintf(stderr, "opm: %s\n", legibleLines(note))
		}
	}
	noteAbsent(cmd, paths, without)
	if err := f.print(cmd, paths, results); err != nil {
		return err
	}
	for i, p := range platforms {
		f.warnOfPlatform(cmd, paths[i], p, results[i].Bundle)
	}
	return nil
}

// warnOfLeftovers returns a function that prints warnings about leftovers of killed commands in catalogs. Its argument
// may be nil.
func warnOfLeftovers(cmd *cobra.Command) func(error) {
	printOnce := printOnce(cmd.ErrOrStderr())
	return func(err error) {
		if err == nil {
			return
		}
		for _, err := range flatten(err) {
			printOnce("opm: warning: " + legibleLines(err.Error()))
		}
	}
}

// isData reports whether the output is the edits for programs.
func (f *editFlags) isData() bool { return !f.impact && output.Format(f.format).IsData() }

// An editedCatalog is a catalog with the changes that a command made or, with --dry-run, would make.
type editedCatalog struct {
	Catalog string      `json:"catalog"`
	Files   []edit.File `json:"files"`
	Changes []string    `json:"changes"`        // sentences for people
	Diff    string      `json:"diff,omitempty"` // of the files, with --dry-run
}

// print prints the edits for programs, or the diff of --dry-run. That follows a report as text, and is left out after
// another report.
func (f *editFlags) print(cmd *cobra.Command, paths []string, results []*edit.Result) error {
	if f.isData() {
		catalogs := []editedCatalog{}
		for i, r := range results {
			if r.Absent == nil {
				files, changes := append([]edit.File{}, r.Files...), append([]string{}, r.Notes...) // not null
				catalogs = append(catalogs, editedCatalog{paths[i], files, changes, string(r.Diff)})
			}
		}
		return printResult(cmd, &output.Result{Value: catalogs})
	}
	var all []byte
	for _, r := range results {
		all = append(all, r.Diff...)
	}
	switch {
	case f.impact && f.format == "text" && len(all) > 0:
		all = slices.Insert(all, 0, '\n')
	case f.impact:
		return nil
	}
	return writeDiff(cmd, all)
}

// hintRemove returns a line that names --reconnect or --with-bundles, if the flag would make a refused edit valid.
func hintRemove(ctx context.Context, paths []string, e edit.Edit, opts edit.Options) string {
	remove, ok := e.(edit.Remove)
	hint := "with --reconnect, what updates the bundle updates what that updates, and the package stays valid"
	switch {
	case ok && remove.Kind == edit.Bundle && !remove.Reconnect:
		remove.Reconnect = true
	case ok && remove.Kind == edit.Channel && !remove.WithBundles:
		remove.WithBundles = true
		hint = "with --with-bundles, the bundles that only the channel has are removed too, and the package stays valid"
	default:
		return ""
	}
	opts.DryRun = true
	results, err := edit.ApplyAll(ctx, paths, remove, opts)
	if err != nil || slices.ContainsFunc(results, func(r *edit.Result) bool { return len(r.Problems) > 0 }) {
		return ""
	}
	return "hint: " + hint + "\n"
}

// problemsOf returns the problems of all results, and the paths of the results that have any.
func problemsOf(paths []string, results []*edit.Result) (problems []*problem.Problem, invalid []string) {
	var reports []problem.CatalogReport
	for i, r := range results {
		if len(r.Problems) > 0 {
			invalid = append(invalid, paths[i])
			reports = append(reports, problem.CatalogReport{Catalog: paths[i], Problems: r.Problems})
		}
	}
	if len(paths) == 1 {
		return results[0].Problems, invalid
	}
	return problem.Merge(reports), invalid
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

// kinds completes to the kinds of named objects in a package.
func kinds(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return texts(edit.Kinds()), cobra.ShellCompDirectiveNoFileComp
}

// namesOfKind completes to the names of the objects of a kind, the second argument, in the catalog of the first.
func namesOfKind(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	return namesOf(edit.Kind(args[1]).Schema())(cmd, args, start)
}

func promoteCmd() *cobra.Command {
	var f editFlags
	var e edit.Promote
	cmd := &cobra.Command{
		Use:   "promote CATALOG BUNDLE --to CHANNEL",
		Short: "Put a bundle of a catalog or a template into another channel",
		Long: `Put a bundle that is in one channel into another one too. It replaces the head of that channel,
unless --replaces says otherwise, and keeps the skips and the skipRange that it has.

In a semver template, BUNDLE is an image, and CHANNEL is candidate, fast or stable.` + editNote,
		Example: `  opm promote catalog kiln.v2.0.0-rc.1 --to stable
  opm promote catalog/kiln kiln.v2.0.0-rc.1 --to stable --dry-run`,
		Args:              exactArgs("CATALOG", "BUNDLE"),
		ValidArgsFunction: completeArgs(files, bundles),
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.Bundle = args[1]; cmd.Flags().Changed("replaces") {
				e.Updates.Replaces = &f.replaces
			}
			return f.run(cmd, args[0], e)
		},
	}
	f.addEntry(cmd, "to", &e.To, &e.Updates, "the channel if the package has none of that name")
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "channel" { // as of opm add
			name = "to"
		}
		return pflag.NormalizedName(name)
	})
	f.add(cmd, 0)
	return cmd
}

func deprecateCmd() *cobra.Command {
	var f editFlags
	var e edit.Deprecate
	cmd := &cobra.Command{
		Use:   "deprecate CATALOG package|channel|bundle NAME --message TEXT",
		Short: "Deprecate a package, a channel or a bundle",
		Long: `Deprecate a package, a channel or a bundle with a message for its users, or change the message.
--undo removes the deprecation.` + editNote,
		Example: `  opm deprecate catalog bundle kiln.v1.0.0 --message "kiln 1.0 is no longer supported; update to 1.1"
  opm deprecate catalog channel candidate --package kiln --message "use the channel stable"
  opm deprecate catalog bundle kiln.v1.0.0 --undo`,
		Args:              kindArgs,
		ValidArgsFunction: completeArgs(files, kinds, namesOfKind),
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.Message == "" && !e.Undo {
				return usageError{errors.New("--message or --undo is missing")}
			}
			e.Kind, e.Name = edit.Kind(args[1]), args[2]
			return f.run(cmd, args[0], e)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&e.Message, "message", "m", "", "tell users `TEXT`: why, and what to use instead")
	flags.BoolVar(&e.Undo, "undo", false, "remove the deprecation")
	exclude(cmd, "undo", "message")
	f.add(cmd, 0)
	return cmd
}

func removeCmd() *cobra.Command {
	var f editFlags
	var e edit.Remove
	cmd := &cobra.Command{
		Use:   "remove CATALOG package|channel|bundle NAME",
		Short: "Remove a package, a channel or a bundle",
		Long: `Remove a package, a channel or a bundle, with its deprecation. A bundle is removed from all
channels, or from that of --channel only.

What the package needs to stay valid is changed only if you ask for it: --reconnect lets bundles
that replace the removed one replace what that replaced, and skip it; --with-bundles also removes
the bundles that only the removed channel has.

In a semver template, NAME is an image, and --channel is candidate, fast or stable.` + editNote,
		Example: `  opm remove catalog bundle kiln.v1.1.1 --reconnect
  opm remove catalog bundle kiln.v1.2.0 --channel candidate --reconnect --dry-run
  opm remove catalog channel candidate --package kiln --with-bundles`,
		Args:              kindArgs,
		ValidArgsFunction: completeArgs(files, kinds, namesOfKind),
		RunE: func(cmd *cobra.Command, args []string) error {
			e.Kind, e.Name = edit.Kind(args[1]), args[2]
			switch {
			case e.Kind != edit.Bundle && (e.Channel != "" || e.Image != "" || e.Reconnect):
				return usageError{errors.New("--channel, --image and --reconnect are for bundles")}
			case e.Kind != edit.Channel && e.WithBundles:
				return usageError{errors.New("--with-bundles is for channels")}
			}
			return f.run(cmd, args[0], e)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&e.Channel, "channel", "", "remove the bundle from `CHANNEL` only")
	flags.BoolVar(&e.Reconnect, "reconnect", false, "reconnect the updates around the bundle")
	flags.BoolVar(&e.WithBundles, "with-bundles", false, "also remove the bundles that only the channel has")
	flags.StringVar(&e.Image, "image", "", "the bundle is `IMAGE`, in a basic template that does not have its name")
	exclude(cmd, "image", "channel")
	f.add(cmd, 0)
	return cmd
}

func defaultChannelCmd() *cobra.Command {
	var f editFlags
	cmd := &cobra.Command{
		Use:   "default-channel CATALOG CHANNEL",
		Short: "Set the default channel of a package",
		Long:  `Make a channel the default of its package.` + editNote,
		Example: `  opm default-channel catalog/kiln stable
  opm default-channel catalog stable --package kiln --dry-run`,
		Args:              exactArgs("CATALOG", "CHANNEL"),
		ValidArgsFunction: completeArgs(files, channels),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args[0], edit.DefaultChannel{Channel: args[1]})
		},
	}
	f.add(cmd, 0)
	return cmd
}
