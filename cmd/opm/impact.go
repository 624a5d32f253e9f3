package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/edit"
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
		opts := impactOptions(cmd, from)
		opts.Package = f.pkg
		report, err = impact.Compare(cmd.Context(), before, after, opts)
		return err
	})
	if err := errors.Join(err, from.close()); err != nil {
		return err
	}
	return printImpact(cmd, report, f.format)
}

func printImpact(cmd *cobra.Command, report *impact.Report, format string) error {
	return writeReport(outputAs(cmd, format), report, format,
		func(w io.Writer) error { return impact.WriteText(w, report) },
		func(w io.Writer) error { return impact.WriteMarkdown(w, report) })
}

// writeImpact writes the impact of an added bundle, which it adds to a copy of the catalog. It writes nothing if the
// catalog would not be valid.
func (f *editFlags) writeImpact(cmd *cobra.Command, from *imageFlags, path string, add edit.Add, format string) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return usageError{fmt.Errorf("--impact: %s is not the directory of a catalog", path)}
	}
	dir, err := os.MkdirTemp("", "opm-impact-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(path)); err != nil {
		return fmt.Errorf("copy the catalog: %w", err)
	}
	opts := edit.Options{Package: f.pkg, Create: f.create, MaxObject: sizeOf(cmd, maxObjectSize)}
	results, err := edit.ApplyAll(cmd.Context(), []string{dir}, add, opts)
	if err != nil || len(results[0].Problems) > 0 {
		return nil // the edit of the catalog itself reports it, with its path
	}
	d := diffFlags{pkg: add.Bundle.Package, format: format, images: *from}
	return d.writeImpact(cmd, []string{path, dir})
}

func impactOptions(cmd *cobra.Command, from *images) impact.Options {
	opts := openOptions(cmd)
	opts.Images, opts.Bundles, opts.BundleImages = from.opener, &bundle.Options{}, true
	return impact.Options{
		Spool: opts.Spool,
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
