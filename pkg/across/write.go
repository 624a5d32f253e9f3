package across

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
)

// merge merges plans that differ only in the channels to whose ends they lead.
func merge(plans []*Plan) []*Plan {
	var rows []*Plan
	byText := map[string]*Plan{}
	for _, p := range plans {
		general := *p
		general.toEnds = true
		key := fmt.Sprint(p.Package, "\n", p.OLM, "\n", general.Text())
		if row := byText[key]; row != nil {
			row.Installed, row.toEnds = slices.Concat(row.Installed, p.Installed), true
			continue
		}
		row := *p
		byText[key] = &row
		rows = append(rows, &row)
	}
	return rows
}

// WriteText writes a table of plans, in which plans to the ends of several channels share a row. It writes nothing if
// there are none.
func (r *Report) WriteText(w io.Writer, plans []*Plan) error {
	plans = merge(plans)
	if len(plans) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(strings.Join(r.columns(plans), "\t")))
	for _, p := range plans {
		cells := r.cells(p, plans)
		for i := range cells {
			cells[i] = legible.Name(cells[i])
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// WriteMarkdown writes the table of [Report.WriteText] in Markdown.
func (r *Report) WriteMarkdown(w io.Writer, plans []*Plan) error {
	plans = merge(plans)
	if len(plans) == 0 {
		return nil
	}
	columns := r.columns(plans)
	lines := [][]string{columns, strings.Split(strings.Repeat("---,", len(columns)-1)+"---", ",")}
	for _, p := range plans {
		cells := r.cells(p, plans)
		for i := range cells {
			cells[i] = markdown.Escape(cells[i])
		}
		lines = append(lines, cells)
	}
	var text strings.Builder
	for _, cells := range lines {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | "))
	}
	_, err := fmt.Fprintln(w, text.String())
	return err
}

func (r *Report) columns(plans []*Plan) []string {
	if r.differs(plans) {
		return []string{"package", "installed", "channels", "olm", "plan"}
	}
	return []string{"package", "installed", "channels", "plan"}
}

// cells returns the cells of a plan in a table of plans.
func (r *Report) cells(p *Plan, of []*Plan) []string {
	cells := []string{p.Package, p.Bundles(), p.Channels()}
	if r.differs(of) {
		olm := "both"
		if len(p.OLM) < len(r.olm) {
			olm = string(p.OLM[0])
		}
		cells = append(cells, olm)
	}
	return append(cells, p.Text())
}

// differs reports whether some plan is for one of two versions of OLM only.
func (r *Report) differs(plans []*Plan) bool {
	for _, p := range plans {
		if len(p.OLM) < len(r.olm) {
			return true
		}
	}
	return false
}
