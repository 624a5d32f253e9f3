package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

func updatesCmd() *cobra.Command {
	var f updatesFlags
	cmd := &cobra.Command{
		Use:   "updates CATALOG [FROM TO]",
		Short: "Show where installed bundles are updated to",
		Long: `Show, for every bundle that may be installed and every channel that it may follow, which
bundle it is updated to next and how many updates it takes to the end of the channel: by OLM
Classic, which takes what is nearest the head of the channel, and by OLM v1, which takes the
highest version.

With --explain, tell for FROM and TO, which are versions or names of bundles, why the one is
updated to the other next, or why not. The catalog need not be valid.

A CATALOG is what list takes: a directory, a file, an archive, "-" or an image.`,
		Example: `  opm updates catalog
  opm updates catalog --package kiln --channel stable
  opm updates catalog --package kiln --from 1.1.0 --simulate
  opm updates catalog --package kiln --channel stable --explain 1.0.0 1.2.0`,
		Args:              rangeArgs(1, "CATALOG", "FROM", "TO"),
		ValidArgsFunction: completeArgs(files),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

// updatesFlags are the flags of updates.
type updatesFlags struct {
	pkg, channel, from string
	explain, simulate  bool
	format             string
	version            string
	selfCertified      bool
	images             imageFlags
}

func (f *updatesFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pkg, "package", "", "only this `PACKAGE`")
	flags.StringVar(&f.channel, "channel", "", "only this `CHANNEL`")
	flags.StringVar(&f.from, "from", "", "only what is installed at this `VERSION`, or under this name of a bundle")
	flags.BoolVar(&f.explain, "explain", false, "explain why FROM is updated to TO, or why not")
	flags.BoolVar(&f.simulate, "simulate", false, "show every update up to the last, and loops")
	flags.StringVar(&f.version, "v1-version", "", "the `RANGE` that spec.version of a ClusterExtension has")
	flags.BoolVar(&f.selfCertified, "v1-self-certified", false,
		"the upgradeConstraintPolicy of the ClusterExtension is SelfCertified")
	choiceVar(cmd, &f.format, "output", "o", "text", "output format", "text", "json")
	f.images.add(cmd)
	exclude(cmd, "explain", "simulate")
	exclude(cmd, "explain", "from")
}

func (f *updatesFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(args); err != nil {
		return usageError{err}
	}
	var version *graph.Constraint
	if f.version != "" {
		var err error
		if version, err = graph.ParseConstraint(f.version); err != nil {
			return usageError{fmt.Errorf("--v1-version: %w", err)}
		}
	}
	v1 := graph.V1Options{Version: version, SelfCertified: f.selfCertified}
	return readIndex(cmd, args[:1], &f.images, func(index *declcfg.Index) error {
		return f.answer(cmd, index, args[1:], v1)
	})
}

// answer prints what was asked for.
func (f *updatesFlags) answer(cmd *cobra.Command, index *declcfg.Index, bundles []string, v1 graph.V1Options) error {
	packages, err := f.packages(cmd, index, bundles)
	if err != nil {
		return err
	}
	if f.explain {
		return f.explainAll(cmd.OutOrStdout(), packages[0], v1, bundles[0], bundles[1])
	}
	outlooks, err := f.outlooks(cmd, packages, v1)
	if err != nil {
		return err
	}
	return f.print(cmd.OutOrStdout(), outlooks)
}

// check refuses flags and arguments that do not belong together.
func (f *updatesFlags) check(args []string) error {
	switch {
	case f.explain && len(args) != 3:
		return errors.New("--explain wants two bundles, FROM and TO")
	case !f.explain && len(args) > 1:
		return errors.New("FROM and TO are for --explain")
	case f.pkg == "" && (f.explain || f.channel != "" || f.from != ""):
		return errors.New("say with --package which package it is about")
	}
	return nil
}

// packages returns the graphs of the packages in question. Versions that are asked about, and that no bundle of the
// package has, are entered as installed.
func (f *updatesFlags) packages(cmd *cobra.Command, index *declcfg.Index, asked []string) ([]*graph.Package, error) {
	var name []string
	if f.pkg != "" {
		name = []string{f.pkg}
	}
	chosen, err := choose(index, name)
	if err != nil {
		return nil, err
	}
	var drawn draw.Options
	if f.channel != "" {
		drawn.Channels = []string{f.channel}
	}
	warnOfRanges(cmd, chosen, drawn)
	if f.from != "" {
		asked = []string{f.from}
	}
	var all []*graph.Package
	for _, x := range chosen {
		if x.Name == "" { // belongs to no package
			continue
		}
		p := withVersions(x, asked)
		if _, err := f.channels(p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// withVersions returns the graph of a package in which something has each of the versions among texts.
func withVersions(x *declcfg.PackageIndex, texts []string) *graph.Package {
	p := graph.NewPackage(x)
	var installed []declcfg.BundleSummary
	for _, text := range texts {
		if v, err := declcfg.ParseVersion(text, ""); err == nil && len(p.Find(text)) == 0 {
			installed = append(installed, declcfg.BundleSummary{Name: text, Version: &v})
		}
	}
	if installed == nil {
		return p
	}
	return graph.NewPackage(x, installed...)
}

// channels returns those in question.
func (f *updatesFlags) channels(p *graph.Package) ([]*graph.Channel, error) {
	if f.channel == "" {
		return p.Channels, nil
	}
	if c := p.Channel(f.channel); c != nil {
		return []*graph.Channel{c}, nil
	}
	var names []string
	for _, c := range p.Channels {
		names = append(names, c.Name)
	}
	return nil, fmt.Errorf("package %q has no channel %q%s: %w", p.Name, f.channel, nearest.Hint(f.channel, names),
		declcfg.ErrNotFound)
}

// findBundle returns the bundle of that name or version.
func findBundle(p *graph.Package, text string) (*graph.Bundle, error) {
	found := p.Find(text)
	if len(found) == 1 {
		return found[0], nil
	}
	var names []string
	if len(found) > 1 {
		for _, b := range found {
			names = append(names, b.Name)
		}
		return nil, fmt.Errorf("package %q has several bundles of version %s, name one: %s", p.Name, text,
			strings.Join(names, ", "))
	}
	for _, b := range p.Bundles {
		names = append(names, b.Name)
	}
	return nil, fmt.Errorf("package %q has no bundle %q%s: %w", p.Name, text, nearest.Hint(text, names),
		declcfg.ErrNotFound)
}

func (f *updatesFlags) outlooks(
	cmd *cobra.Command, packages []*graph.Package, v1 graph.V1Options,
) ([]graph.Outlook, error) {
	all := []graph.Outlook{} // JSON has a list, also where there are none
	for _, p := range packages {
		only := ""
		if f.from != "" {
			b, err := findBundle(p, f.from)
			if err != nil {
				return nil, err
			}
			only = b.Name
		}
		channels, err := f.channels(p)
		if err != nil {
			return nil, err
		}
		for _, c := range channels {
			outlooks, err := p.Outlooks(c, v1, f.simulate)
			if err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: package %q: OLM Classic updates nothing: %v\n", p.Name, err)
			}
			if only != "" {
				outlooks = slices.DeleteFunc(outlooks, func(o graph.Outlook) bool { return o.Installed != only })
			}
			all = append(all, outlooks...)
		}
	}
	if f.from != "" && len(all) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "opm: no channel of package %q updates %s\n", f.pkg, f.from)
	}
	return all, nil
}

func (f *updatesFlags) print(w io.Writer, outlooks []graph.Outlook) error {
	switch {
	case f.format == "json":
		return printJSON(w, outlooks)
	case f.simulate:
		return printPaths(w, outlooks)
	}
	var rows [][]string
	for _, o := range outlooks {
		differs := "no"
		if o.Differs {
			differs = "yes"
		}
		rows = append(rows, []string{
			o.Package, o.Channel, o.Installed, cmp.Or(o.Version, "-"),
			cmp.Or(o.Classic.Next, "-"), hops(o.Classic), cmp.Or(o.V1.Next, "-"), hops(o.V1), differs,
		})
	}
	columns := []string{"PACKAGE", "CHANNEL", "INSTALLED", "VERSION", "CLASSIC", "HOPS", "V1", "HOPS", "DIFFERS"}
	return printTable(w, columns, rows)
}

// hops writes how many updates there are.
func hops(f graph.Fate) string {
	if f.Loop {
		return "endless"
	}
	return strconv.Itoa(f.Hops)
}

// printPaths prints for each installed bundle the updates under both semantics.
func printPaths(w io.Writer, outlooks []graph.Outlook) error {
	var text strings.Builder
	for _, o := range outlooks {
		fmt.Fprintf(&text, "package %s, channel %s, %s:\n", legible.Name(o.Package), legible.Name(o.Channel),
			legible.Name(o.Installed))
		for _, s := range []struct {
			name graph.Semantics
			fate graph.Fate
		}{{graph.Classic, o.Classic}, {graph.V1, o.V1}} {
			fmt.Fprintf(&text, "  %-8s", s.name)
			path := legible.Name(strings.Join(s.fate.Path, " -> "))
			switch {
			case path == "":
				text.WriteString("stays\n")
			case s.fate.Loop:
				fmt.Fprintf(&text, "%s, and so on for ever\n", path)
			default:
				fmt.Fprintf(&text, "%s\n", path)
			}
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// explainAll explains for each channel in question.
func (f *updatesFlags) explainAll(w io.Writer, p *graph.Package, v1 graph.V1Options, from, to string) error {
	a, errFrom := findBundle(p, from)
	b, errTo := findBundle(p, to)
	channels, err := f.channels(p)
	if err := errors.Join(errFrom, errTo, err); err != nil {
		return err
	}
	var all []*graph.Explanation
	for _, c := range channels {
		v1.Channels = []*graph.Channel{c}
		all = append(all, p.ExplainClassic(c, a, b), p.ExplainV1(v1, a, b))
	}
	if f.format == "json" {
		return printJSON(w, all)
	}
	var text strings.Builder
	for i, e := range all {
		if i > 0 {
			text.WriteByte('\n')
		}
		for line := range strings.Lines(e.String()) {
			text.WriteString(legible.Name(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	_, err = io.WriteString(w, text.String())
	return err
}
