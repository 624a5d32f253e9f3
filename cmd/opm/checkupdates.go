package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/updatecheck"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

func checkUpdatesCmd() *cobra.Command {
	check := updateCheck{reportFlags: reportFlags{Printer: problems.Printer{Rules: updatecheck.Rules, OnOut: true}}}
	return command{
		Use:   "check-updates CATALOG|BUNDLE...",
		Short: "Report updates that OLM refuses or can never finish",
		Long: `Compare the objects of the bundles of every update, and report every change for which OLM cannot
finish it. OLM Classic and OLM v1 compare CustomResourceDefinitions before they install an update.
An API server refuses to change some fields: the selector of a Deployment, the role of a binding,
the value of a PriorityClass, the data of an immutable ConfigMap. The exit code is 1 if there are
any. Unlike validate, the report goes to standard output in text format, too; standard error has
the numbers only. Text has one line, with a number, for equal changes of the bundles of a package,
and for images that cannot be read for the same reason; the other formats have each.

The updates are those of the edges of a catalog: replaces, skips and skipRange. Without channels,
as of bundle directories and bundle images, the bundles of a package are compared by version, each
with the one before. Manifests are read from the catalog or, if it does not have them, from the
images of the bundles. What cannot be read is reported.

A CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or a
catalog image.`,
		Example: `  opm check-updates catalog
  opm check-updates catalog --package kiln --olm v1 -o markdown
  opm check-updates bundle registry.example/pottery/kiln-bundle:v2.0.0`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			addProblemFormat(cmd)
			check.olm.add(cmd, "which OLM to ask")
			flags.StringVar(&check.pkg, "package", "", "check the updates of `PACKAGE` only")
			check.add(cmd)
			flags.StringArrayVar(&check.state.paths, "state", nil,
				"evaluate the custom resources of the cluster with the manifests in this `PATH`, or the live cluster "+
					"kube:[CONTEXT]; repeatable")
			check.state.live.add(flags)
			flags.IntVar(&check.jobs, "jobs", 0,
				"open `N` images in parallel (default 20, or the number of CPUs if higher; 64 over HTTP/2)")
			flags.StringVar(&check.lock, "lock", "", "open images by the digests in the lock `FILE`, and add new ones to it")
			check.addRules(cmd, "each", "jobs", "lock", "namespace", "olm", "package", "save", "state")
		},
		images: &check.images,
		report: &check.reportFlags,
		each:   check.forEach(),
		do:     check.run,
		end:    func() { check.memo.Close() },
	}.cobra()
}

// updateCheck are the flags of check-updates.
type updateCheck struct {
	reportFlags
	olm    olmFlag
	pkg    string // the only package; "" for all
	jobs   int
	lock   string
	state  stateFlags
	images imageFlags

	memo updatecheck.Memo // of all catalogs
}

func (f *updateCheck) run(cmd *cobra.Command, refs []string) error {
	if err := cmp.Or(checkJobs(cmd, f.jobs), f.state.live.check(f.state.paths)); err != nil {
		return err
	}
	return f.reportFlags.run(cmd, refs[0], func(*opmyaml.Config) (*problem.Report, error) { return f.check(cmd, refs) })
}

// check reads the catalogs and bundles, and closes them before it opens further images.
func (f *updateCheck) check(cmd *cobra.Command, refs []string) (_ *problem.Report, err error) {
	opts, w := openOptions(cmd), display(cmd)
	opts.Jobs, opts.Bundles = f.jobs, &bundle.Options{}
	if f.lock != "" {
		if opts.Lock, err = render.ReadLock(f.lock); err != nil {
			return nil, err
		}
	}
	check := updatecheck.Options{
		Package: f.pkg, OLM: f.olm.semantics(), Compared: w.Did,
		Comparing: func(pairs int) { w.Count(pairs, "objects") },
	}
	if f.state.paths != nil {
		if check.State, err = f.state.readState(cmd); err != nil {
			return nil, err
		}
	}
	defer w.Start("checking")()
	c, err := f.images.openCatalog(cmd, opts, refs...)
	if err != nil {
		return nil, err
	}
	defer c.close()
	bundles, err := f.memo.Read(cmd.Context(), opts.Spool, c.Sources...)
	if err := cmp.Or(c.Unchanged(), err, c.Close()); err != nil {
		return nil, input.OfParts(cmd.Context(), refs, err)
	}
	names := bundles.Index.Names()
	warnIfNone(cmd, len(names), "packages", refs...)
	if len(refs) == 1 {
		warnIfSeveral(cmd, refs[0], bundles.Index)
	}
	if f.pkg != "" && !slices.Contains(names, f.pkg) {
		return nil, nearest.NotFound("no package", f.pkg, names)
	}
	lock := &c.Lock
	check.Images = func(ctx context.Context, refs []string, failed func(string, error)) (*render.Catalog, error) {
		opts.Images, opts.BundleImages, opts.Skipped = c.images.opener, true, failed
		if _, err := opts.Images(); err != nil {
			return nil, err
		}
		if f.lock != "" {
			opts.Lock = lock
		}
		showOpening(cmd, &opts, refs)
		images, err := render.Open(ctx, refs, opts)
		if err == nil {
			lock = &images.Lock
		}
		return images, err
	}
	report, err := bundles.Check(cmd.Context(), check)
	if err == nil && f.lock != "" {
		err = lock.WriteFile(f.lock)
	}
	if err != nil {
		return nil, err
	}
	return report.Report(), nil
}
