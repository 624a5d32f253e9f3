package main

import (
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
		Long: `Show what changed between two catalogs for those who install operators from them: packages,
channels and bundles that came or went, heads, default channels, deprecations and edges, and

  - installs that lose their update path: they went to the end of their channel with OLD, and no
    longer do with NEW;
  - other installs whose next update is another one than before, or gone;
  - published bundles with another content, since clusters do not install them again. Order and
    spelling do not count; nor does it count here when manifests (olm.bundle.object) gave way to
    olm.csv.metadata, as migrate makes it, which is told apart.

Installs are bundles of OLD, and those that it has no more but names in replaces or skips, since
users may have them. Updates are followed as by OLM Classic and OLM v1; where only one of them is
concerned, the text says so.

Markdown is made for a comment on a pull request. JSON is an object with a summary and the
packages that changed; all of its lists are there even if they are empty.

With --fail-on, the exit code is 1 if NEW has changes of these kinds: stranded (installs that
lose their update path), removed (packages, channels or bundles), changed (published bundles).

OLD and NEW are what list takes: a directory, a file, an archive, "-" or an image. They need not
be valid.`,
		Example: `  opm diff catalog/kiln catalog
  opm diff registry.example/crafts/catalog:v1 catalog -o markdown > comment.md
  opm diff registry.example/crafts/catalog:v1 catalog --fail-on stranded,removed,changed`,
		Args:              exactArgs("OLD", "NEW"),
		ValidArgsFunction: completeArgs(files, files),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	choiceVar(cmd, &f.format, "output", "o", "text", "output format", "text", "markdown", "json")
	cmd.Flags().StringSliceVar(&f.failOn, "fail-on", nil, "exit with 1 on changes of these `KINDS`, with commas in "+
		"between: "+strings.Join(failures, ", "))
	must(cmd.RegisterFlagCompletionFunc("fail-on",
		cobra.FixedCompletions(failures, cobra.ShellCompDirectiveNoFileComp)))
	f.images.add(cmd)
	return cmd
}

// failures are the kinds of changes that --fail-on takes.
var failures = []string{string(diff.LostPath), string(diff.Gone), string(diff.Replaced)}

// diffFlags are the flags of diff.
type diffFlags struct {
	format string
	failOn []string
	images imageFlags
}

// diffWriters write a report in the formats of diff.
var diffWriters = map[string]func(io.Writer, *diff.Report) error{
	"text": diff.WriteText, "markdown": diff.WriteMarkdown, "json": diff.WriteJSON,
}

func (f *diffFlags) run(cmd *cobra.Command, refs []string) error {
	for _, kind := range f.failOn {
		if !slices.Contains(failures, kind) {
			return usageError{fmt.Errorf("--fail-on: want %s, found %q", oneOf(failures), kind)}
		}
	}
	if refs[0] == render.Stdin && refs[1] == render.Stdin {
		return usageError{errors.New("OLD and NEW cannot both be standard input")}
	}
	report, err := f.compare(cmd, refs)
	if err != nil {
		return err
	}
	if err := diffWriters[f.format](cmd.OutOrStdout(), report); err != nil {
		return err
	}
	return f.failure(report)
}

// compare reads both catalogs.
func (f *diffFlags) compare(cmd *cobra.Command, refs []string) (*diff.Report, error) {
	defer progress(cmd, "comparing")()
	var sources [2][]declcfg.Source
	for i, ref := range refs {
		catalog, closeAll, err := f.images.openCatalog(cmd, ref)
		if err != nil {
			return nil, err
		}
		defer closeAll()
		sources[i] = catalog.Sources
	}
	return diff.Compare(cmd.Context(), sources[0], sources[1])
}

// failure returns an error about changes that --fail-on names.
func (f *diffFlags) failure(report *diff.Report) error {
	var found []string
	for _, kind := range failures {
		if n := report.Count(diff.Kind(kind)); n > 0 && slices.Contains(f.failOn, kind) {
			found = append(found, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("changes that --fail-on names: %s", strings.Join(found, ", "))
}
