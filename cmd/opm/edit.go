package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/legible"
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
	impact   bool // a report is on standard output

	releases     string // the annotation of an added bundle with the releases of OpenShift that it supports
	allPlatforms bool   // add it also to catalogs for others
}

// editNote is the paragraph in the help of all commands that edit catalogs.
const editNote = `

CATALOG is a directory or a file with a catalog, or a template. Comments, order and formatting stay
as they are. Nothing is written unless the package is valid afterwards; a template is checked
without its images. With -o json or yaml, the output lists the changed files and the changes.`

// editFormats are the formats of commands that edit catalogs.
var editFormats = []output.Format{output.Text, output.JSON, output.YAML}

// add adds the flags to a command that has its own flags by now.
func (f *editFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pkg, "package", "", "edit `PACKAGE`, if several have what is named")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would change as a diff, and write nothing")
	if flags.Lookup(maxObjectSize) == nil {
		addObjectLimit(cmd)
	}
}

// addEntry adds the flags for a new channel entry: the flag called name for its channel, and flags for its edges. The
// command itself passes on --replaces. created names the objects that --create creates, for the help.
func (f *editFlags) addEntry(cmd *cobra.Command, name string, channel *string, u *edit.Updates, created string) {
	flags := cmd.Flags()
	flags.StringVar(channel, name, "", "put the bundle into `CHANNEL`")
	cmdline.Must(cmd.MarkFlagRequired(name))
	flags.StringVar(&f.replaces, "replaces", "",
		"replace `BUNDLE`, or nothing if it is empty (default the head of the channel)")
	flags.StringSliceVar(&u.Skips, "skips", nil, "skip these comma-separated `BUNDLES`")
	flags.StringVar(&u.SkipRange, "skip-range", "", "also update the versions in `RANGE`, such as \">=1.0.0 <1.2.0\"")
	completion.Nothing(cmd, "replaces")
	flags.BoolVar(&f.create, "create", false, "create "+created)
}

// run applies an edit to a catalog or, with --each, to several catalogs, and prints its notes, or the problems that it
// would cause.
func (f *editFlags) run(cmd *cobra.Command, path string, e edit.Edit) error {
	done := display(cmd).Start("editing")
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
	w := display(cmd)
	opts := edit.Options{
		Package: f.pkg, DryRun: f.dryRun, Create: f.create, MaxObject: cmdline.Size(cmd, maxObjectSize), Read: w.Read,
		Warn: warnOfLeftovers(cmd),
	}
	results, err := edit.Apply(cmd.Context(), paths, e, opts)
	if err != nil {
		return err
	}
	found, invalid := problemsOf(paths, results)
	stderr := cmd.ErrOrStderr()
	if invalid != nil {
		hint := edit.Hint(cmd.Context(), paths, e, opts)
		if hint != "" {
			hint = "hint: " + hint + "\n"
		}
		done()
		unchanged := fmt.Sprintf("%s is unchanged: the package would not be valid", paths[0])
		if len(paths) > 1 {
			unchanged = "no catalog is changed: the package would not be valid in " + strings.Join(invalid, ", ")
		}
		err := problems.PrintText(stderr, stderr, found, false)
		return failure.WithNotes(stderr, err, "opm: "+legible.Lines(unchanged)+"\n"+hint)
	}
	done()
	var without []string
	for i, r := range results {
		if r.Absent != nil {
			without = append(without, paths[i])
		}
		for _, note := range r.Notes {
			if f.isData(cmd) {
				break // they are in the output
			}
			if len(paths) > 1 {
				note = paths[i] + ": " + note
			}
			fmt.Fprintf(stderr, "opm: %s\n", legible.Lines(note))
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
		for _, err := range failure.Flatten(err) {
			printOnce("opm: warning: " + legible.Lines(err.Error()))
		}
	}
}

// isData reports whether the output is the edits for programs.
func (f *editFlags) isData(cmd *cobra.Command) bool { return !f.impact && cmdline.Format(cmd).IsData() }

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
	if f.isData(cmd) {
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
	case f.impact && cmdline.Format(cmd) == output.Text && len(all) > 0:
		all = slices.Insert(all, 0, '\n')
	case f.impact:
		return nil
	}
	return writeDiff(cmd, all)
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
