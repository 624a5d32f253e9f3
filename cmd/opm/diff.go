package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/edit"
	"github.com/opm-toolchain/opm/internal/olm/impact"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

func diffCmd() *cobra.Command {
	f := diffFlags{each: eachFlag{at: 1}}
	return command{
		Use:   "diff OLD NEW",
		Short: "Show what changed between two catalogs",
		Long: `Show what changed between two catalogs for users who install operators from them: packages,
channels and bundles added and removed; heads, default channels, deprecations and edges; and

  - installs that lose their update path: with OLD they are updated to the end of their channel,
    with NEW they are not;
  - other installs whose next update changed or disappeared;
  - published bundles whose content changed, since clusters do not install them again. Key order
    and formatting do not count. A change from manifests (olm.bundle.object) to olm.csv.metadata,
    as made by opm migrate, is reported separately.

Installs are the bundles of OLD and the missing bundles that its entries replace or skip, which
users may still run. Updates follow the rules of OLM Classic and OLM v1; the text says so if only
one of them is affected.

markdown is meant for a comment on a pull request. json is an object with a summary and the changed
packages; it contains all lists, even empty ones.

With --fail-on, the exit code is 1 if NEW has changes of these kinds: stranded (installs that
lose their update path), removed (packages, channels, bundles or entries of channels), changed
(published bundles).

With --impact, the report is about each bundle that only NEW has: the bundles that are updated to
it and the bundles that are not, permissions and images that are new, changes of
CustomResourceDefinitions for which OLM refuses an update, and new dependencies that no package
satisfies. Manifests that the catalogs do not have, and the sizes of images, are read from
registries.

OLD and NEW are a directory, a file, an archive, "-" for standard input, or an image; see opm list.
They need not be valid.`,
		Example: `  opm diff catalog/kiln catalog
  opm diff registry.example/crafts/catalog:v1 catalog -o markdown > comment.md
  opm diff catalog/kiln catalog --impact
  opm diff registry.example/crafts/catalog:v1 catalog --fail-on stranded,removed,changed`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&f.pkg, "package", "", "show only this `PACKAGE`")
			cmd.Flags().BoolVar(&f.impact, "impact", false, "report what the new bundles mean for users and clusters")
			f.addFailOn(cmd)
			cmdline.Exclude(cmd, "impact", "fail-on")
			f.images.addKeepGoing(cmd)
		},
		formats: []output.Format{output.Text, output.Markdown, output.JSON, output.YAML},
		images:  &f.images,
		each:    &f.each,
		work:    "comparing",
		run:     f.run,
	}.cobra()
}

// diffFlags are the flags of diff.
type diffFlags struct {
	pkg    string
	failOn []string
	impact bool // report new bundles instead of changes
	images imageFlags
	each   eachFlag
}

func (f *diffFlags) addFailOn(cmd *cobra.Command) {
	kinds := cmdline.Texts(diff.Kinds())
	cmd.Flags().StringSliceVar(&f.failOn, "fail-on", nil,
		"exit with 1 on changes of these comma-separated `KINDS`: "+strings.Join(kinds, ", "))
	completion.With(cmd, completion.ListOf(func() []string { return kinds }), "fail-on")
}

func (f *diffFlags) run(cmd *cobra.Command, refs []string) (*output.Result, error) {
	kinds, err := f.kinds()
	if err != nil {
		return nil, err
	}
	refs[0] = f.each.counterpart(refs[0])
	if refs[0] == render.Stdin && refs[1] == render.Stdin {
		return nil, cmdline.Errorf("OLD and NEW cannot both be standard input")
	}
	if err := input.TemplateError("opm diff", refs...); err != nil {
		return nil, err
	}
	if f.impact {
		return f.findImpact(cmd, refs)
	}
	before, after, err := f.open(cmd, refs)
	if err != nil {
		return nil, err
	}
	defer before.close()
	defer after.close()
	report, err := diff.Compare(f.each.sharing(cmd.Context()), before.Sources, after.Sources)
	if err := cmp.Or(before.Unchanged(), after.Unchanged(), err); err != nil {
		return nil, err
	}
	f.warnIfSeveral(cmd, refs, report.Before, report.After)
	if f.pkg != "" {
		if err := report.Limit(f.pkg); err != nil {
			return nil, err
		}
	}
	if err = report.Fail(kinds...); err != nil {
		err = fmt.Errorf("found changes that --fail-on names: %w", err)
	}
	return &output.Result{Value: report, Report: report.Report}, err
}

// kinds returns the kinds of changes of --fail-on.
func (f *diffFlags) kinds() (kinds []diff.Kind, err error) {
	for _, word := range f.failOn {
		kind := diff.Kind(word)
		if !slices.Contains(diff.Kinds(), kind) {
			return nil, cmdline.Errorf("--fail-on: want %s, found %q", cmdline.OneOf(diff.Kinds()), word)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// open opens both catalogs.
func (f *diffFlags) open(cmd *cobra.Command, refs []string) (before, after *catalog, err error) {
	if before, err = f.images.openCatalog(cmd, openOptions(cmd), refs[0]); err != nil {
		return nil, nil, err
	}
	if after, err = f.images.openCatalog(cmd, openOptions(cmd), refs[1]); err != nil {
		before.close()
	}
	return before, after, err
}

// warnIfSeveral warns if OLD or NEW looks like several catalogs.
func (f *diffFlags) warnIfSeveral(cmd *cobra.Command, refs []string, before, after *declcfg.Index) {
	if looks := looksLikeSeveral(refs[0], before); looks != "" {
		hint := "name one of them"
		switch {
		case f.each.given():
			hint = "with a slash at the end, catalogs of the same name are compared"
		case looksLikeSeveral(refs[1], after) != "":
			hint = fmt.Sprintf("to compare catalogs of the same name, run: opm diff %s --each %s",
				input.WithSlash(refs[0]), input.WithSlash(refs[1]))
		}
		warn(cmd, "%s; %s", looks, hint)
	}
	warnIfSeveral(cmd, refs[1], after)
}

// findImpact returns the impact of the new bundles.
func (f *diffFlags) findImpact(cmd *cobra.Command, refs []string) (*output.Result, error) {
	before, after, err := f.open(cmd, refs)
	if err != nil {
		return nil, err
	}
	defer before.close()
	defer after.close()
	opts := impactOptions(cmd, after.images)
	opts.Package = f.pkg
	report, err := impact.Compare(cmd.Context(), before.Sources, after.Sources, opts)
	if err := cmp.Or(before.Unchanged(), after.Unchanged(), err); err != nil {
		return nil, err
	}
	f.warnIfSeveral(cmd, refs, report.Before, report.After)
	return &output.Result{Value: report, Report: report.Report}, nil
}

// writeImpact writes the impact of an added bundle, which it adds to a copy of the catalog. It writes nothing if the
// catalog would not be valid.
func (f *editFlags) writeImpact(cmd *cobra.Command, from *imageFlags, path string, add edit.Add) error {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return cmdline.Errorf("--impact: %s is not the directory of a catalog", path)
	}
	dir, err := os.MkdirTemp("", "opm-impact-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, os.DirFS(path)); err != nil {
		return fmt.Errorf("copy the catalog: %w", err)
	}
	opts := edit.Options{Package: f.pkg, Create: f.create, MaxObject: cmdline.Size(cmd, maxObjectSize)}
	add.LikeOthers = false // keeps the manifests, so that they need not be read from the image
	results, err := edit.Apply(cmd.Context(), []string{dir}, add, opts)
	if err != nil || len(results[0].Problems) > 0 {
		return nil // the edit of the catalog itself reports it, with its path
	}
	defer display(cmd).Start("comparing")()
	d := diffFlags{pkg: add.Bundle.Package, images: *from}
	report, err := d.findImpact(cmd, []string{path, dir})
	if err != nil {
		return err
	}
	return f.each.print(cmd, report)
}

func impactOptions(cmd *cobra.Command, from *images) impact.Options {
	opts := bundleImageOptions(cmd, from)
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
			parsed, err := image.ParseReference(ref)
			if err == nil && reference.Of(parsed.String()).Kind != reference.Registry {
				err = errors.New("want an image in a registry") // a catalog must not make opm read other files
			}
			if err != nil {
				return 0, fmt.Errorf("open image %s: %w", ref, err)
			}
			img, err := opener.Open(ctx, parsed.String())
			if err != nil {
				return 0, err
			}
			return img.Size(), img.Close()
		},
	}
}
