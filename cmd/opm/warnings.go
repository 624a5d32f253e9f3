package main

import (
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/input"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// warn prints a warning.
func warn(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.ErrOrStderr(), "opm: warning: "+format+"\n", args...)
}

// warnAt prints a warning about a place.
func warnAt(cmd *cobra.Command, pos declcfg.Pos, what string) {
	fmt.Fprintln(cmd.ErrOrStderr(), failure.Placed(pos, problem.Warning, what))
}

// warnOnce returns a function that prints a warning, unless it has printed it before.
func warnOnce(cmd *cobra.Command) func(*declcfg.Error) {
	printOnce := printOnce(cmd.ErrOrStderr())
	return func(e *declcfg.Error) { printOnce(failure.Placed(e.Pos, problem.Warning, e.Message())) }
}

// printOnce returns a function that prints a line, unless it has printed it before.
func printOnce(w io.Writer) func(line string) {
	printed := map[string]bool{}
	return func(line string) {
		if !printed[line] {
			printed[line] = true
			fmt.Fprintln(w, line)
		}
	}
}

// warnIfNone warns if n, the number of objects that the command reads from the references, is 0.
func warnIfNone(cmd *cobra.Command, n int, what string, refs ...string) {
	if n > 0 {
		return
	}
	for _, ref := range refs {
		if input.IsTemplate(ref) {
			warn(cmd, "no %s in %q: it is a template; run: %s", what, ref, shell.Line("opm render-template", ref))
			continue
		}
		warn(cmd, "no %s in %q", what, ref)
	}
}

// looksLikeSeveral returns the sentence of [validate.Several] about a catalog, or "".
func looksLikeSeveral(ref string, index *declcfg.Index) string {
	if reference.Of(ref).Kind != reference.Directory {
		return ""
	}
	return validate.Several(ref, index)
}

// warnIfSeveral warns if a catalog looks like several catalogs, for a command that reads catalogs that are not valid.
func warnIfSeveral(cmd *cobra.Command, ref string, index *declcfg.Index) {
	looks := looksLikeSeveral(ref, index)
	if looks == "" {
		return
	}
	if cmd.Flag("each") != nil {
		looks += "; run the command for each of them with --each " + input.WithSlash(ref)
	}
	warn(cmd, "%s", looks)
}

// warnOfInvalid warns about a catalog that no cluster can have, because opm serve refuses it.
func warnOfInvalid(cmd *cobra.Command, ref string, sources []declcfg.Source) error {
	report, err := validate.Catalog(cmd.Context(), validate.Options{ErrorsOnly: true}, sources...)
	if err == nil && len(report.Problems) > 0 {
		first, more := report.Problems[0], ""
		if n := len(report.Problems); n > 1 {
			more = fmt.Sprintf(" (the first of %s)", plural.Of(n, "error"))
		}
		what := fmt.Sprintf("opm serve refuses this catalog: %s: %s%s; run: opm validate %s",
			first.Path, first.Message, more, ref)
		warnAt(cmd, first.Pos, what)
	}
	return err
}

// warnOfRanges warns about invalid skipRanges in the named channels, or in all channels if there are no names.
func warnOfRanges(cmd *cobra.Command, packages iter.Seq[*declcfg.PackageIndex], channels ...string) {
	for p := range packages {
		for _, o := range p.Channels {
			if channels != nil && !slices.Contains(channels, o.Value.Name) {
				continue
			}
			for i, e := range o.Value.Entries {
				if _, err := graph.ParseRange(e.SkipRange); e.SkipRange != "" && err != nil {
					ptr := jsontext.Pointer(fmt.Sprintf("/entries/%d/skipRange", i))
					what := fmt.Sprintf("package %q: channel %q: %s: %q is ignored: %v",
						p.Name, o.Value.Name, place.Path(ptr), e.SkipRange, err)
					warnAt(cmd, o.Meta.Place(ptr), what)
				}
			}
		}
	}
}

// warnOfFlaws warns about duplicate keys and invalid UTF-8 in objects.
func warnOfFlaws(cmd *cobra.Command, metas []*declcfg.Meta) {
	for _, m := range metas {
		for _, f := range m.Flaws() {
			what := "invalid UTF-8 is replaced by U+FFFD"
			if f.Key != "" {
				what = fmt.Sprintf("duplicate key %q: the last one is used", f.Key)
			}
			warnAt(cmd, f.Pos, what)
		}
	}
}
