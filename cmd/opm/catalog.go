package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// catalogNote is the paragraph of help texts that defines CATALOG.
const catalogNote = `

CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or an
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an image archive.`

// A catalog is an open catalog, with the images that it reads.
type catalog struct {
	*render.Catalog
	cmd    *cobra.Command
	refs   []string
	images *images
	index  *declcfg.Index // nil unless the function that opened the catalog has read it
}

// openCatalog opens references to catalogs, including images.
func (f *imageFlags) openCatalog(cmd *cobra.Command, opts render.Options, refs ...string) (*catalog, error) {
	images, err := f.open(cmd)
	if err != nil {
		return nil, err
	}
	opts.Images = images.opener
	showOpening(cmd, &opts, refs)
	opened, err := render.Open(cmd.Context(), refs, opts)
	if err != nil {
		images.close()
		return nil, err
	}
	c := &catalog{opened, cmd, refs, images, nil}
	if f.keepGoing {
		if err := c.withhold(); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// close closes the catalog and its images.
func (c *catalog) close() {
	c.Close()
	c.images.close()
}

// digest returns the digest of a catalog that is an image in a registry, or "".
func (c *catalog) digest() string {
	for _, r := range c.Lock.References {
		if len(c.refs) == 1 && r.Reference == c.refs[0] {
			return r.Digest
		}
	}
	return ""
}

// check returns the error of reading the catalog: files that changed meanwhile, references to parts of bundles, or err.
// It warns if the catalog has no packages, or looks like several catalogs.
func (c *catalog) check(index *declcfg.Index, err error) error {
	if err := cmp.Or(c.Unchanged(), err); err != nil {
		return input.OfParts(c.cmd.Context(), c.refs, err)
	}
	warnIfNone(c.cmd, len(index.Names()), "packages", c.refs...)
	if len(c.refs) == 1 {
		warnIfSeveral(c.cmd, c.refs[0], index)
	}
	return nil
}

// openIndex opens references to catalogs, and reads their index, while "reading" is shown. read is [declcfg.ReadIndex]
// or a function that also does something else.
func (f *imageFlags) openIndex(
	cmd *cobra.Command, read func(context.Context, ...declcfg.Source) (*declcfg.Index, error), refs ...string,
) (*catalog, error) {
	defer display(cmd).Start("reading")()
	c, err := f.openCatalog(cmd, openOptions(cmd), refs...)
	if err != nil {
		return nil, err
	}
	c.index, err = read(f.each.sharing(cmd.Context()), c.Sources...)
	if err := c.check(c.index, err); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// openValidated opens a catalog and validates it. Problems in the report are not errors.
func (f *imageFlags) openValidated(
	cmd *cobra.Command, from render.Options, ref string, opts validate.Options,
) (*catalog, *validate.Report, error) {
	c, err := f.openCatalog(cmd, from, ref)
	if err != nil {
		return nil, nil, err
	}
	report, err := validate.Catalog(f.each.sharing(cmd.Context()), opts, c.Sources...)
	if err := cmp.Or(c.Unchanged(), err, input.NotCatalog(cmd.Context(), ref, report)); err != nil {
		c.close()
		return nil, nil, err
	}
	c.index = report.Index
	return c, report, nil
}

// openValid opens a catalog that must be valid, while "reading" is shown. If it is not, its problems are printed.
func (f *imageFlags) openValid(cmd *cobra.Command, ref string) (*catalog, error) {
	done := display(cmd).Start("reading")
	defer done()
	c, report, err := f.openValidated(cmd, openOptions(cmd), ref, validate.Options{ErrorsOnly: true})
	if err != nil {
		return nil, err
	}
	done()
	if len(report.Problems) > 0 {
		c.close()
		return nil, reportProblems(cmd, report.Problems)
	}
	warnIfNone(cmd, len(c.index.Names()), "packages", ref)
	return c, nil
}

// readCatalogs reads the catalogs of arguments [[NAMESPACE/]NAME=]CATALOG to resolve dependencies; NAME= is an empty
// one. Their objects can be read again until closeAll is called.
func (f *imageFlags) readCatalogs(
	cmd *cobra.Command, args []string, checks ...catalogCheck,
) (catalogs []*resolve.Catalog, closeAll func(), err error) {
	var opened []*catalog
	closeAll = func() {
		for _, c := range slices.Backward(opened) {
			c.close()
		}
	}
	for _, arg := range args {
		namespace, name, ref := resolve.SplitCatalogName(arg)
		if name != "" && ref == "" {
			catalogs = append(catalogs, &resolve.Catalog{Namespace: namespace, Name: name, Index: &declcfg.Index{}})
			continue
		}
		read, c, err := f.readCatalog(cmd, ref, checks...)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		opened = append(opened, c)
		read.Namespace, read.Name = namespace, name
		catalogs = append(catalogs, read)
	}
	return catalogs, closeAll, nil
}

// readCatalog reads a catalog to resolve dependencies. Its objects can be read again until it is closed.
func (f *imageFlags) readCatalog(
	cmd *cobra.Command, ref string, checks ...catalogCheck,
) (read *resolve.Catalog, opened *catalog, err error) {
	c, err := f.openCatalog(cmd, openOptions(cmd), ref)
	if err != nil {
		return nil, nil, err
	}
	read, err = resolve.ReadCatalog(f.each.sharing(cmd.Context()), c.Sources...)
	for _, check := range checks {
		err = cmp.Or(err, check(cmd, ref, c.Sources))
	}
	if err := c.check(read.Index, err); err != nil {
		c.close()
		return nil, nil, err
	}
	return read, c, nil
}

// A catalogCheck checks a catalog that was read. The error ends the command.
type catalogCheck func(cmd *cobra.Command, ref string, sources []declcfg.Source) error

// openOptions returns the options set by the environment and by the flags for limits.
func openOptions(cmd *cobra.Command) render.Options {
	return render.Options{
		Stdin:     cmd.InOrStdin(),
		Spool:     spoolOptions(cmd),
		MaxObject: cmdline.Size(cmd, maxObjectSize),
		Limits:    image.Limits{Unpacked: cmdline.Size(cmd, maxImageSize)},
	}
}

// showOpening makes opts count the opened references and the bytes read, if progress is shown.
func showOpening(cmd *cobra.Command, opts *render.Options, refs []string) {
	d := display(cmd)
	if !d.OnTerminal() {
		return
	}
	d.Count(len(refs), "references")
	d.Size(refs)
	opts.Opened, opts.Read = d.Did, d.Read
}

// bundleImageOptions returns the options for bundles that are read from images in registries, with their manifests.
func bundleImageOptions(cmd *cobra.Command, from *images) render.Options {
	opts := openOptions(cmd)
	opts.Images, opts.Bundles, opts.BundleImages = from.opener, &bundle.Options{}, true
	return opts
}

// reportProblems prints the problems of a catalog that must be valid, and returns a failure for them.
func reportProblems(cmd *cobra.Command, found []*problem.Problem) error {
	return problems.PrintText(cmd.ErrOrStderr(), cmd.ErrOrStderr(), found, false)
}

// printObjects prints the objects of a catalog.
func printObjects(cmd *cobra.Command, metas []*declcfg.Meta, opts declcfg.WriteOptions) error {
	return incomplete(declcfg.Write(cmd.Context(), dataOutput(cmd), metas, opts))
}

// incomplete adds to an error that the output may be incomplete.
func incomplete(err error) error {
	if errors.Is(err, declcfg.ErrChanged) {
		return errors.Join(err, errors.New("the output is not complete: discard it and run the command again"))
	}
	return err
}

const keepGoingUsage = "leave out invalid packages, with a warning for each"

// addKeepGoing adds the flag --keep-going, which opens a catalog without its invalid packages.
func (f *imageFlags) addKeepGoing(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.keepGoing, "keep-going", false, keepGoingUsage)
}

// withhold removes the invalid packages from a catalog, and warns about each. It is an error if no package remains.
func (c *catalog) withhold() error {
	report, err := validate.Catalog(c.cmd.Context(), validate.Options{ErrorsOnly: true}, c.Sources...)
	if err := cmp.Or(c.Unchanged(), err); err != nil {
		return err
	}
	held := report.Withheld()
	if held == nil {
		return nil
	}
	if held.HasAll(report.Index) {
		return reportProblems(c.cmd, report.Problems)
	}
	for _, name := range held.Names() {
		p := held[name]
		what := fmt.Sprintf("%s: %s [%s]", validate.WithheldText(name), p.Message, p.Rule)
		warnAt(c.cmd, p.Pos, what)
	}
	c.Sources = held.Without(c.Sources...)
	return nil
}
