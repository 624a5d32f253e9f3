package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/filter"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// problemsOfKept returns the problems of packages that are kept, and of what may be part of any package.
func problemsOfKept(problems []*problem.Problem, kept []filter.PackageSummary) []*problem.Problem {
	isKept := map[string]bool{"": true}
	for _, p := range kept {
		isKept[p.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p *problem.Problem) bool {
		return !isKept[p.Package] && p.Rule != "read"
	})
}

func (f *filterFlags) write(cmd *cobra.Command, catalog *render.Catalog, result *filter.Result) error {
	ctx := cmd.Context()
	if f.format == imagesFormat {
		images, err := result.Images(ctx)
		if err := cmp.Or(err, catalog.Unchanged()); err != nil {
			return err
		}
		_, err = io.WriteString(textOutput(cmd), strings.Join(append(images, ""), "\n"))
		return err
	}
	warnOfFlaws(cmd, result.Metas)
	write := declcfg.WriteOptions{
		Format: declcfg.Format(f.format), Edit: catalog.Edit, EditObject: result.Edit, Check: catalog.Unchanged,
	}
	if f.dir != "" {
		return declcfg.WriteDir(ctx, f.dir, result.Metas, write)
	}
	return printObjects(cmd, result.Metas, write)
}

// printChanges prints what was changed, and how much is kept.
func printChanges(w io.Writer, result *filter.Result, index *declcfg.Index) {
	for _, c := range result.Changes {
		if c.Kind == filter.Unresolved {
			fmt.Fprintf(w, "opm: warning: %s\n", legible.Text(c.String()))
			continue
		}
		fmt.Fprintf(w, "opm: %s\n", c)
	}
	var kept, of struct{ packages, channels, bundles int }
	for _, p := range result.Packages {
		kept.packages++
		kept.channels += len(p.Channels)
		kept.bundles += p.Bundles
	}
	for _, x := range index.Packages() {
		of.packages += len(x.Packages)
		of.channels += len(x.Channels)
		of.bundles += len(x.Bundles)
	}
	fmt.Fprintf(w, "opm: kept %s of %s packages, %s of %s channels, %s of %s bundles\n",
		plural.Number(kept.packages), plural.Number(of.packages), plural.Number(kept.channels), plural.Number(of.channels),
		plural.Number(kept.bundles), plural.Number(of.bundles))
}
