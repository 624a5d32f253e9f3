package main

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

func checkImagesCmd() *cobra.Command {
	check := imageCheck{reportFlags: reportFlags{Printer: problems.Printer{Rules: imagecheck.Rules, OnOut: true}}}
	return command{
		Use:   "check-images CATALOG",
		Short: "Report images of a catalog that do not exist",
		Long: `Ask registries, and their mirrors, for every image that a catalog names: those of its bundles
and the related images that have to be mirrored. Nothing is downloaded. Every image that does
not exist or cannot be checked is reported with the bundles that name it; the exit code is 1
if there are any. Unlike validate, the report goes to standard output in text format, too;
standard error has the number of problems only. A registry or repository that fails three
times in a row is not asked again; the report says so.

A CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or a
catalog image. As on a cluster, an image without a tag has the tag latest, and a tag is
ignored if there is a digest.`,
		Example: `  opm check-images catalog
  opm check-images catalog --package kiln --authfile auth.json
  opm check-images catalog --image-mirrors mirrors.yaml -o json > images.json`,
		flags: func(cmd *cobra.Command) {
			addProblemFormat(cmd)
			check.add(cmd)
			cmd.Flags().IntVar(&check.jobs, "jobs", imagecheck.DefaultJobs, "ask for `N` images at once")
			cmd.Flags().StringVar(&check.pkg, "package", "", "check the images of `PACKAGE` only")
			addShardFlag(cmd, &check.shard, "images")
			check.addRules(cmd, "each", "jobs", "package", "shard")
			cmdline.Exclude(cmd, "shard", "write-baseline")
		},
		images: &check.images,
		report: &check.reportFlags,
		each:   check.forEach(),
		do:     func(cmd *cobra.Command, args []string) error { return check.run(cmd, args[0]) },
	}.cobra()
}

// imageCheck are the flags of check-images.
type imageCheck struct {
	reportFlags
	jobs   int
	pkg    string // the only package; "" for all
	shard  render.Shard
	images imageFlags

	answers imagecheck.Answers // of all catalogs
}

func (f *imageCheck) run(cmd *cobra.Command, ref string) error {
	if err := checkJobs(cmd, f.jobs); err != nil {
		return err
	}
	f.Partial = f.pkg != "" || f.shard != (render.Shard{})
	return f.reportFlags.run(cmd, ref, func(*opmyaml.Config) (*problem.Report, error) { return f.check(cmd, ref) })
}

// check reads the catalog, and closes it before it looks up the images.
func (f *imageCheck) check(cmd *cobra.Command, ref string) (*problem.Report, error) {
	d := display(cmd)
	defer d.Start("checking")()
	c, err := f.images.openCatalog(cmd, openOptions(cmd), ref)
	if err != nil {
		return nil, err
	}
	defer c.close()
	all, err := imagecheck.Read(f.each.sharing(cmd.Context()), c.Sources...)
	if err := cmp.Or(c.Unchanged(), err, c.Close()); err != nil {
		return nil, err
	}
	warnIfSeveral(cmd, ref, all.Index())
	if names := all.Packages(); f.pkg != "" && !slices.Contains(names, f.pkg) {
		return nil, nearest.NotFound("no package", f.pkg, names)
	}
	if f.pkg != "" {
		all = all.Of(f.pkg)
	}
	all = all.Part(f.shard.Of)
	opener, err := c.images.opener()
	if err != nil {
		return nil, err
	}
	d.Count(all.Len(), "images")
	report, err := imagecheck.Check(cmd.Context(), all, opener,
		imagecheck.Options{Jobs: f.jobs, Checked: d.Did, Answers: &f.answers})
	if err != nil {
		return nil, err
	}
	return report.Report(), nil
}
