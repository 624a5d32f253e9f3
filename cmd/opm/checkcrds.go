package main

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/crdcheck"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

func checkCRDsCmd() *cobra.Command {
	check := crdCheck{reportFlags: reportFlags{rules: crdcheck.Rules}}
	cmd := &cobra.Command{
		Use:   "check-crds CATALOG|BUNDLE...",
		Short: "Report updates that OLM refuses for their CustomResourceDefinitions",
		Long: `Compare the CustomResourceDefinitions of the bundles of every update, as OLM Classic and OLM v1 do
before they install it, and report every change for which one of them refuses the update. The
exit code is 1 if there are any. Unlike validate, the report goes to standard output in text
format, too; standard error has the numbers only. Text has one line, with a number, for equal
changes of the bundles of a package, and for images that cannot be read for the same reason; the
other formats have each.

The updates are those of the edges of a catalog: replaces, skips and skipRange. Without channels,
as of bundle directories and bundle images, the bundles of a package are compared by version, each
with the one before. Manifests are read from the catalog or, if it does not have them, from the
images of the bundles. What cannot be read is reported.

A CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or a
catalog image.`,
		Example: `  opm check-crds catalog
  opm check-crds catalog --package kiln --olm v1 -o markdown
  opm check-crds bundle registry.example/pottery/kiln-bundle:v2.0.0`,
		Args:              atLeastOne("CATALOG"),
		ValidArgsFunction: completeArgs(files),
		RunE:              func(cmd *cobra.Command, args []string) error { return check.run(cmd, args) },
	}
	flags := cmd.Flags()
	addProblemFormat(cmd, &check.format, "o", "text", "output format")
	choiceVar(cmd, &check.olm, "olm", "", olmBoth, "which OLM to ask", olmClassic, olmV1, olmBoth)
	flags.StringVar(&check.pkg, "package", "", "check the updates of `PACKAGE` only")
	check.reportFlags.add(cmd)
	flags.StringArrayVar(&check.state.paths, "state", nil,
		"evaluate the custom resources of the cluster with the manifests in this `PATH`; may be repeated")
	flags.IntVar(&check.jobs, "jobs", 0, "open `N` images in parallel (default 16, or the number of CPUs if higher)")
	flags.StringVar(&check.lock, "lock", "", "open images by the digests in the lock `FILE`, and add new ones to it")
	exclude(cmd, "rules", "jobs", "lock", "olm", "package", "state")
	addReadFlags(cmd, &check.images)
	check.addEach(cmd, textOutput, &check.format)
	return cmd
}

// crdCheck are the flags of check-crds.
type crdCheck struct {
	reportFlags
	format string
	olm    string
	pkg    string // "" is all
	jobs   int
	lock   string
	state  stateFlags
	images imageFlags
}

func (f *crdCheck) run(cmd *cobra.Command, refs []string) error {
	if err := checkJobs(cmd, f.jobs); err != nil {
		return err
	}
	c, err := f.read(refs[0])
	if err != nil {
		return err
	}
	from, err := f.images.open(cmd)
	if err != nil {
		return err
	}
	report, err := f.check(cmd, refs, from)
	if err := errors.Join(err, from.close()); err != nil {
		return err
	}
	out := problem.Report{
		Subject: "updates", Problems: report.Problems, Rules: crdcheck.Rules(),
		Counts: map[string]int{
			"updates": report.Updates, "unchecked": report.Unchecked,
			"refusedByClassic": report.Refused[graph.Classic], "refusedByV1": report.Refused[graph.V1],
		},
	}
	return f.print(cmd, textOutput(cmd), f.format, c, &out, report.Summary())
}

func (f *crdCheck) check(cmd *cobra.Command, refs []string, from *images) (*crdcheck.Report, error) {
	defer display{cmd}.Start("checking")()
	opts, err := f.openOptions(cmd, from)
	if err != nil {
		return nil, err
	}
	var state *cluster.State
	if f.state.paths != nil {
		if state, err = f.state.readState(cmd); err != nil {
			return nil, err
		}
	}
	bundles, err := f.readBundles(cmd, refs, opts)
	if err != nil {
		return nil, err
	}
	defer bundles.Close()
	if names := bundles.Packages(); f.pkg != "" && !slices.Contains(names, f.pkg) {
		return nil, declcfg.NotFound("no package", f.pkg, names)
	}
	w := display{cmd}
	check := crdcheck.Options{
		State:     state,
		Package:   f.pkg,
		Comparing: func(pairs int) { w.Count(pairs, "CustomResourceDefinitions") },
		Compared:  w.Did,
		Images: func(_ context.Context, refs []string, failed func(string, error)) (*render.Catalog, error) {
			if _, err := from.opener(); err != nil {
				return nil, err
			}
			opts.BundleImages, opts.Skipped = true, failed
			return f.open(cmd, refs, opts)
		},
	}
	if f.olm != olmBoth {
		check.OLM = []graph.Semantics{graph.Semantics(f.olm)}
	}
	report, err := bundles.Check(cmd.Context(), check)
	if err != nil || f.lock == "" {
		return report, err
	}
	return report, opts.Lock.WriteFile(f.lock)
}

func (f *crdCheck) openOptions(cmd *cobra.Command, from *images) (*render.Options, error) {
	opts := openOptions(cmd)
	opts.Jobs, opts.Images, opts.Bundles = f.jobs, from.opener, &bundle.Options{}
	if f.lock == "" {
		return &opts, nil
	}
	var err error
	opts.Lock, err = render.ReadLock(f.lock)
	return &opts, err
}

// readBundles reads catalogs and bundles, which are closed again before other images are opened.
func (f *crdCheck) readBundles(cmd *cobra.Command, refs []string, opts *render.Options) (*crdcheck.Bundles, error) {
	catalog, err := f.open(cmd, refs, opts)
	if err != nil {
		return nil, err
	}
	defer catalog.Close()
	bundles, err := crdcheck.Read(cmd.Context(), opts.Spool, catalog.Sources...)
	if err := cmp.Or(catalog.Unchanged(), err); err != nil {
		return nil, ofParts(refs, err)
	}
	warnIfNone(cmd, len(bundles.Packages()), "packages", refs...)
	return bundles, nil
}

// open opens references, and adds them to the lock.
func (f *crdCheck) open(cmd *cobra.Command, refs []string, opts *render.Options) (*render.Catalog, error) {
	display{cmd}.showOpening(opts, refs)
	catalog, err := render.Open(cmd.Context(), refs, *opts)
	if err == nil && f.lock != "" {
		opts.Lock = &catalog.Lock
	}
	return catalog, err
}
