package main

import (
	"cmp"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/imagecheck"
	"github.com/opm-toolchain/opm/pkg/render"
)

func checkImagesCmd() *cobra.Command {
	check := imageCheck{reportFlags: reportFlags{rules: imagecheck.Rules}}
	cmd := &cobra.Command{
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
		Args:              exactArgs("CATALOG"),
		ValidArgsFunction: completeArgs(files),
		RunE:              func(cmd *cobra.Command, args []string) error { return check.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	addProblemFormat(cmd, &check.format, "o", "text", "output format")
	check.reportFlags.add(cmd)
	flags.IntVar(&check.jobs, "jobs", imagecheck.DefaultJobs, "ask for `N` images at once")
	flags.StringVar(&check.pkg, "package", "", "check the images of `PACKAGE` only")
	addShardFlag(cmd, &check.shard, "images")
	exclude(cmd, "rules", "jobs", "package", "shard")
	exclude(cmd, "shard", "write-baseline")
	completeNothing(cmd, "jobs")
	completeWith(cmd, packages, "package")
	addReadFlags(cmd, &check.images)
	return cmd
}

// imageCheck are the flags of check-images.
type imageCheck struct {
	reportFlags
	format string
	jobs   int
	pkg    string // "" is all
	shard  render.Shard
	images imageFlags
}

func (f *imageCheck) run(cmd *cobra.Command, ref string) error {
	if err := checkJobs(cmd, f.jobs); err != nil {
		return err
	}
	f.partial = f.pkg != "" || f.shard != (render.Shard{})
	c, err := f.read(ref)
	if err != nil {
		return err
	}
	from, err := f.images.open(cmd)
	if err != nil {
		return err
	}
	report, err := f.check(cmd, ref, from)
	if err := errors.Join(err, from.close()); err != nil {
		return err
	}
	return f.printSummed(cmd, f.format, c, report.Report(), report.Summary())
}

func (f *imageCheck) check(cmd *cobra.Command, ref string, from *images) (*imagecheck.Report, error) {
	defer display{cmd}.Start("checking")()
	references, err := f.references(cmd, ref, from)
	if err != nil {
		return nil, err
	}
	opener, err := from.opener()
	if err != nil {
		return nil, err
	}
	w := display{cmd}
	w.Count(references.Len(), "images")
	return imagecheck.Check(cmd.Context(), references, opener, imagecheck.Options{Jobs: f.jobs, Checked: w.Did})
}

// references reads the catalog, which is closed again before anything is asked for.
func (f *imageCheck) references(cmd *cobra.Command, ref string, from *images) (*imagecheck.References, error) {
	opts := openOptions(cmd)
	opts.Images = from.opener
	display{cmd}.showOpening(&opts, []string{ref})
	catalog, err := render.Open(cmd.Context(), []string{ref}, opts)
	if err != nil {
		return nil, err
	}
	defer catalog.Close()
	all, err := imagecheck.Read(cmd.Context(), catalog.Sources...)
	if err := cmp.Or(catalog.Unchanged(), err); err != nil {
		return nil, err
	}
	if f.pkg != "" {
		if names := all.Packages(); !slices.Contains(names, f.pkg) {
			return nil, declcfg.NotFound("no package", f.pkg, names)
		}
		all = all.Of(f.pkg)
	}
	return all.Part(f.shard.Of), nil
}
