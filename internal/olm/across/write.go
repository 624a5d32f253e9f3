package across

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/report"
)

// merge merges plans that differ only in the channel to whose end they lead.
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

// table returns a table of plans, in which plans to the ends of several channels share a row. It has a column for the
// version of OLM if some plan is for one of two versions only.
func (r *Report) table(plans []*Plan) *report.Report {
	plans = merge(plans)
	columns := []string{"package", "installed", "channels", "plan"}
	differs := slices.ContainsFunc(plans, func(p *Plan) bool { return len(p.OLM) < len(r.olm) })
	if differs {
		columns = slices.Insert(columns, 3, "olm")
	}
	var rows [][]string
	for _, p := range plans {
		cells := []string{report.Name(p.Package), p.Bundles(), p.Channels(), p.Text()}
		switch {
		case len(p.OLM) < len(r.olm):
			cells = slices.Insert(cells, 3, string(p.OLM[0]))
		case differs:
			cells = slices.Insert(cells, 3, "both")
		}
		rows = append(rows, cells)
	}
	out := &report.Report{}
	out.Table(columns, rows)
	return out
}
