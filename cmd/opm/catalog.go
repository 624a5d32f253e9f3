package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/resolve"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// catalogNote is the paragraph of help texts that defines CATALOG.
const catalogNote = `

CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or an
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an image archive.`

// openCatalog opens references to catalogs, including images; closeAll closes them.
func (f *imageFlags) openCatalog(
	cmd *cobra.Command, refs ...string,
) (catalog *render.Catalog, closeAll func(), err error) {
	return f.openWith(cmd, openOptions(cmd), refs)
}

// openWith is openCatalog with options other than Images.
func (f *imageFlags) openWith(
	cmd *cobra.Command, opts render.Options, refs []string,
) (catalog *render.Catalog, closeAll func(), err error) {
	images, err := f.open(cmd)
	if err != nil {
		return nil, nil, err
	}
	opts.Images = images.opener
	display{cmd}.showOpening(&opts, refs)
	catalog, err = render.Open(cmd.Context(), refs, opts)
	if err != nil {
		images.close()
		return nil, nil, err
	}
	closeAll = func() {
		catalog.Close()
		images.close()
	}
	if f.keepGoing {
		if err := withhold(cmd, catalog); err != nil {
			closeAll()
			return nil, nil, err
		}
	}
	return catalog, closeAll, nil
}

// readIndex calls use with the index of catalogs, whose objects can be read again until use returns. check is passed to
// [declcfg.ReadIndexAndCheck]; it may be nil.
func readIndex(
	cmd *cobra.Command, refs []string, from *imageFlags, check func(*declcfg.Meta, any) error,
	use func(*declcfg.Index) error,
) error {
	done := display{cmd}.Start("reading")
	defer done()
	catalog, closeAll, err := from.openCatalog(cmd, refs...)
	if err != nil {
		return err
	}
	defer closeAll()
	index, err := declcfg.ReadIndexAndCheck(cmd.Context(), check, catalog.Sources...)
	if err := cmp.Or(catalog.Unchanged(), err); err != nil {
		return ofParts(refs, err)
	}
	done()
	warnIfNone(cmd, len(index.Packages()), "packages", refs...)
	return use(index)
}

// readResolvable reads a catalog to resolve dependencies, whose objects can be read again until closeAll is called.
func readResolvable(
	cmd *cobra.Command, ref string, from *imageFlags, checks ...catalogCheck,
) (c *resolve.Catalog, closeAll func(), err error) {
	catalog, closeAll, err := from.openCatalog(cmd, ref)
	if err != nil {
		return nil, nil, err
	}
	c, err = resolve.ReadCatalog(cmd.Context(), catalog.Sources...)
	for _, check := range checks {
		err = cmp.Or(err, check(cmd, ref, catalog.Sources))
	}
	if err := cmp.Or(catalog.Unchanged(), err); err != nil {
		closeAll()
		return nil, nil, ofParts([]string{ref}, err)
	}
	warnIfNone(cmd, len(c.Index.Packages()), "packages", ref)
	return c, closeAll, nil
}

// A catalogCheck checks a catalog that was read. The error ends the command.
type catalogCheck func(cmd *cobra.Command, ref string, sources []declcfg.Source) error

// warnOfInvalid warns of a catalog that opm serve refuses, so that a cluster cannot have it.
func warnOfInvalid(cmd *cobra.Command, ref string, sources []declcfg.Source) error {
	report, err := validate.Catalog(cmd.Context(), validate.Options{ErrorsOnly: true}, sources...)
	if err == nil && len(report.Problems) > 0 {
		first, more := report.Problems[0], ""
		if n := len(report.Problems); n > 1 {
			more = fmt.Sprintf(" (the first of %s)", plural.Of(n, "error"))
		}
		what := fmt.Sprintf("opm serve refuses this catalog: %s: %s%s; run: opm validate %s",
			first.Path, first.Message, more, ref)
		fmt.Fprintln(cmd.ErrOrStderr(), placed(first.Pos, problem.Warning, what))
	}
	return err
}

// warnOfRanges warns of invalid skipRanges, in the named channels or, without names, in all.
func warnOfRanges(cmd *cobra.Command, packages []*declcfg.PackageIndex, channels ...string) {
	for _, p := range packages {
		for _, o := range p.Channels {
			if channels != nil && !slices.Contains(channels, o.Value.Name) {
				continue
			}
			for i, e := range o.Value.Entries {
				if _, err := graph.ParseRange(e.SkipRange); e.SkipRange != "" && err != nil {
					ptr := jsontext.Pointer(fmt.Sprintf("/entries/%d/skipRange", i))
					what := fmt.Sprintf("package %q: channel %q: %s: %q is ignored: %v",
						p.Name, o.Value.Name, declcfg.Path(ptr), e.SkipRange, err)
					fmt.Fprintln(cmd.ErrOrStderr(), placed(o.Meta.Place(ptr), "warning", what))
				}
			}
		}
	}
}

// warnOfFlaws warns of input that is not written as its author may expect.
func warnOfFlaws(cmd *cobra.Command, metas []*declcfg.Meta) {
	for _, m := range metas {
		for _, f := range m.Flaws() {
			what := "invalid UTF-8 is replaced by U+FFFD"
			if f.Key != "" {
				what = fmt.Sprintf("duplicate key %q: the last one is used", f.Key)
			}
			fmt.Fprintln(cmd.ErrOrStderr(), placed(f.Pos, "warning", what))
		}
	}
}

// openOptions returns the options set by the environment and by the flags for limits.
func openOptions(cmd *cobra.Command) render.Options {
	return render.Options{
		Stdin:     cmd.InOrStdin(),
		Spool:     spoolOptions(cmd),
		MaxObject: sizeOf(cmd, maxObjectSize),
		Limits:    image.Limits{Unpacked: sizeOf(cmd, maxImageSize)},
	}
}

// openValidated opens and validates a catalog, whose objects can be read again until closeAll is called.
func (f *imageFlags) openValidated(cmd *cobra.Command, ref string, from render.Options, opts validate.Options) (
	catalog *render.Catalog, report *validate.Report, closeAll func(), err error,
) {
	catalog, closeAll, err = f.openWith(cmd, from, []string{ref})
	if err != nil {
		return nil, nil, nil, err
	}
	report, err = validate.Catalog(cmd.Context(), opts, catalog.Sources...)
	if err := cmp.Or(catalog.Unchanged(), err, notCatalog(ref, report)); err != nil {
		closeAll()
		return nil, nil, nil, err
	}
	return catalog, report, closeAll, nil
}

// readValid reads a catalog, whose objects can be read again until done is called. It prints the problems of a catalog
// that is not valid.
func readValid(cmd *cobra.Command, ref string, from *imageFlags) (index *declcfg.Index, done func(), err error) {
	shown := display{cmd}.Start("reading")
	defer shown()
	_, report, closeAll, err := from.openValidated(cmd, ref, openOptions(cmd), validate.Options{ErrorsOnly: true})
	if err != nil {
		return nil, nil, err
	}
	if len(report.Problems) > 0 {
		closeAll()
		shown()
		return nil, nil, reportProblems(cmd, report.Problems)
	}
	warnIfNone(cmd, len(report.Index.Packages()), "packages", ref)
	return report.Index, closeAll, nil
}

// reportProblems prints the problems of a catalog that has to be valid, and returns an error that says nothing more.
func reportProblems(cmd *cobra.Command, problems []*problem.Problem) error {
	return printProblems(cmd.ErrOrStderr(), cmd.ErrOrStderr(), problems, false)
}

// printObjects prints the objects of a catalog.
func printObjects(cmd *cobra.Command, metas []*declcfg.Meta, opts declcfg.WriteOptions) error {
	return incomplete(declcfg.Write(cmd.Context(), dataOutput(cmd), metas, opts))
}

// incomplete says of an error that it may have come after some output.
func incomplete(err error) error {
	if errors.Is(err, declcfg.ErrChanged) {
		return errors.Join(err, errors.New("the output is not complete: discard it and run the command again"))
	}
	return err
}

const keepGoingUsage = "leave out packages that are not valid, and warn of each"

// addKeepGoing adds the flag by which a catalog is opened without its invalid packages.
func (f *imageFlags) addKeepGoing(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.keepGoing, "keep-going", false, keepGoingUsage)
}

// withhold takes the packages that are not valid out of a catalog, and warns of them. It is an error if no other
// package is there.
func withhold(cmd *cobra.Command, catalog *render.Catalog) error {
	report, err := validate.Catalog(cmd.Context(), validate.Options{ErrorsOnly: true}, catalog.Sources...)
	if err := cmp.Or(catalog.Unchanged(), err); err != nil {
		return err
	}
	held := report.Withheld()
	if held == nil {
		return nil
	}
	if held.HasAll(report.Index) {
		return reportProblems(cmd, report.Problems)
	}
	for _, name := range held.Names() {
		p := held[name]
		what := fmt.Sprintf("%s: %s [%s]", validate.WithheldText(name), p.Message, p.Rule)
		fmt.Fprintln(cmd.ErrOrStderr(), placed(p.Pos, problem.Warning, what))
	}
	catalog.Sources = held.Without(catalog.Sources...)
	return nil
}
