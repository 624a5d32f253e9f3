package list

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A requirement is a text row with a dependency of a bundle.
type requirement struct {
	bundle string
	*resolve.Dependency
}

func (r requirement) title() string { return r.bundle }

func (requirement) layout() layout {
	return layout{columns: []string{"BUNDLE", "REQUIRES", "SATISFIED BY"}}
}

func (r requirement) cells(bool) []string {
	by := cmp.Or(strings.Join(r.SatisfiedBy, ", "), "nothing in the catalog")
	return []string{r.bundle, legible.Value(r.Requires), by}
}

// UpdatesResult returns the answer with these rows. Text ends with a table of the dependencies of the bundles, if they
// have any. If o.Paths is set, the rows must have paths, and text lists every update of each row, in both semantics or
// in o.By. It may iterate over the rows twice.
func UpdatesResult(rows iter.Seq[Update], o UpdateOptions) *output.Result {
	r := Result(rows)
	r.Other = map[output.Format]func(io.Writer) error{
		output.Text: func(w io.Writer) error { return writeUpdates(w, rows, o) },
	}
	return r
}

func writeUpdates(w io.Writer, rows iter.Seq[Update], o UpdateOptions) error {
	var required requirements
	rows = required.collect(rows)
	var err error
	switch {
	case o.Paths:
		err = writePaths(w, rows, o.By)
	case o.By != "":
		err = writeTable(w, mapped(rows, func(u Update) updateBy { return updateBy{u, o.By} }), false)
	default:
		err = writeTable(w, rows, false)
	}
	if err != nil || required.all == nil {
		return err
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	return writeTable(w, slices.Values(required.all), false)
}

// requirements are the dependencies of bundles, each bundle once.
type requirements struct {
	all  []requirement
	seen map[bundleOf]bool // bundles with dependencies
}

type bundleOf struct{ pkg, name string }

// collect yields rows, and adds the requirements of their bundles to r.
func (r *requirements) collect(rows iter.Seq[Update]) iter.Seq[Update] {
	r.seen = map[bundleOf]bool{}
	return func(yield func(Update) bool) {
		for u := range rows {
			if b := (bundleOf{u.Package, u.Installed}); len(u.Dependencies) > 0 && !r.seen[b] {
				r.seen[b] = true
				for _, d := range u.Dependencies {
					r.all = append(r.all, requirement{u.Installed, d})
				}
			}
			if !yield(u) {
				return
			}
		}
	}
}

// writePaths writes every update of each row in the given semantics, or in both for "".
func writePaths(w io.Writer, rows iter.Seq[Update], by graph.Semantics) error {
	text := bufio.NewWriter(w)
	for u := range rows {
		channel := "no channel"
		if u.Channel != "" {
			channel = "channel " + legible.Name(u.Channel)
		}
		fmt.Fprintf(text, "package %s, %s, %s:\n", legible.Name(u.Package), channel, legible.Name(u.Installed))
		for i, name := range []graph.Semantics{graph.Classic, graph.V1} {
			if by == "" || by == name {
				writePath(text, name, u.fates("")[i])
			}
		}
	}
	return text.Flush()
}

func writePath(text io.Writer, name graph.Semantics, f graph.Fate) {
	path := legible.Name(strings.Join(f.Path, " -> "))
	switch {
	case path == "" && f.Error != "":
		path = "error: " + legible.Name(f.Error)
	case path == "":
		path = "stays"
	case f.Loop:
		path += ", and so on forever"
	case f.Error != "":
		path += ", then error: " + legible.Name(f.Error)
	}
	fmt.Fprintf(text, "  %-8s%s\n", name, path)
}
