package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/diff"
	"github.com/opm-toolchain/opm/pkg/render"
)

func diffCmd() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
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
lose their update path), removed (packages, channels or bundles), changed (published bundles).

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
		Args:              exactArgs("OLD", "NEW"),
		ValidArgsFunction: completeArgs(files, files),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	choiceVar(cmd, &f.format, "output", "o", "text", "output format", "text", "markdown", "json")
	cmd.Flags().StringVar(&f.pkg, "package", "", "show only this `PACKAGE`")
	cmd.Flags().BoolVar(&f.impact, "impact", false, "report what the new bundles mean for users and clusters")
	f.addFailOn(cmd)
	exclude(cmd, "impact", "fail-on")
	f.images.addKeepGoing(cmd)
	addReadFlags(cmd, &f.images)
	f.each.add(cmd, 1)
	return cmd
}

// diffFlags are the flags of diff.
type diffFlags struct {
	format string
	pkg    string
	failOn []string
	impact bool // report new bundles instead of changes
	images imageFlags
	each   eachFlag
}

func (f *diffFlags) addFailOn(cmd *cobra.Command) {
	kinds := texts(diff.Kinds())
	cmd.Flags().StringSliceVar(&f.failOn, "fail-on", nil,
		"exit with 1 on changes of these comma-separated `KINDS`: "+strings.Join(kinds, ", "))
	completeWith(cmd, listOf(func() []string { return kinds }), "fail-on")
}

func (f *diffFlags) run(cmd *cobra.Command, refs []string) error {
	kinds, err := f.kinds()
	if err != nil {
		return err
	}
	refs[0] = f.each.counterpart(refs[0])
	if refs[0] == render.Stdin && refs[1] == render.Stdin {
		return usageError{errors.New("OLD and NEW cannot both be standard input")}
	}
	if f.impact {
		return f.writeImpact(cmd, refs)
	}
	report, err := f.compare(cmd, refs)
	if err != nil {
		return err
	}
	if f.pkg != "" {
		if err := report.Limit(f.pkg); err != nil {
			return err
		}
	}
	err = writeReport(outputAs(cmd, f.format), report, f.format,
		func(w io.Writer) error { return diff.WriteText(w, report) },
		func(w io.Writer) error { return diff.WriteMarkdown(w, report) })
	if err != nil {
		return err
	}
	if err := report.Fail(kinds...); err != nil {
		return fmt.Errorf("found changes that --fail-on names: %w", err)
	}
	return nil
}

// kinds returns the kinds of changes of --fail-on.
func (f *diffFlags) kinds() (kinds []diff.Kind, err error) {
	for _, word := range f.failOn {
		kind := diff.Kind(word)
		if !slices.Contains(diff.Kinds(), kind) {
			return nil, usageError{fmt.Errorf("--fail-on: want %s, found %q", oneOf(texts(diff.Kinds())), word)}
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// compare reads and compares both catalogs.
func (f *diffFlags) compare(cmd *cobra.Command, refs []string) (report *diff.Report, err error) {
	err = f.withCatalogs(cmd, refs, func(before, after []declcfg.Source) (err error) {
		report, err = diff.Compare(cmd.Context(), before, after)
		return err
	})
	return report, err
}

// withCatalogs opens both catalogs for a function.
func (f *diffFlags) withCatalogs(
	cmd *cobra.Command, refs []string, use func(before, after []declcfg.Source) error,
) error {
	defer display{cmd}.Start("comparing")()
	var catalogs [2]*catalog
	for i, ref := range refs {
		var err error
		if catalogs[i], err = f.images.openCatalog(cmd, openOptions(cmd), ref); err != nil {
			return err
		}
		defer catalogs[i].close()
	}
	err := use(catalogs[0].Sources, catalogs[1].Sources)
	return cmp.Or(catalogs[0].Unchanged(), catalogs[1].Unchanged(), err)
}
