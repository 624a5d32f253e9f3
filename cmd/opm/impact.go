package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/impact"
	"github.com/opm-toolchain/opm/pkg/render"
)

// writeImpact writes the impact of the new bundles.
func (f *diffFlags) writeImpact(cmd *cobra.Command, refs []string) error {
	from, err := f.images.open(cmd)
	if err != nil {
		return err
	}
	var report *impact.Report
	err = f.withCatalogs(cmd, refs, func(before, after []declcfg.Source) (err error) {
		report, err = impact.Compare(cmd.Context(), before, after, f.impactOptions(cmd, from))
		return err
	})
	if err := errors.Join(err, from.close()); err != nil {
		return err
	}
	return writeReport(outputAs(cmd, f.format), report, f.format,
		func(w io.Writer) error { return impact.WriteText(w, report) },
		func(w io.Writer) error { return impact.WriteMarkdown(w, report) })
}

func (f *diffFlags) impactOptions(cmd *cobra.Command, from *images) impact.Options {
	opts := openOptions(cmd)
	opts.Images, opts.Bundles, opts.BundleImages = from.opener, &bundle.Options{}, true
	return impact.Options{
		Package: f.pkg,
		Spool:   opts.Spool,
		Images: func(ctx context.Context, refs []string, failed func(string, error)) (*render.Catalog, error) {
			opts := opts
			opts.Skipped = failed
			return render.Open(ctx, refs, opts)
		},
		Size: func(ctx context.Context, ref string) (int64, error) {
			opener, err := from.opener()
			if err != nil {
				return 0, err
			}
			img, err := opener.Open(ctx, ref)
			if err != nil {
				return 0, err
			}
			return img.Size(), img.Close()
		},
	}
}
