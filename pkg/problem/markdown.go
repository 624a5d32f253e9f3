package problem

import (
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/report"
)

// Comment returns the content of the Markdown format: the number of problems and a list of them.
func (r *Report) Comment() *report.Report {
	out := &report.Report{}
	out.Heading(3, r.Subject+": "+Summary(r.Problems))
	var items []string
	if r.Incomplete != "" {
		items = append(items, report.Strong(string(Error))+" "+r.Incomplete)
	}
	for _, p := range r.Problems {
		items = append(items, p.item())
	}
	out.List(r.Limit, items)
	return out
}

func (p *Problem) item() string {
	line := report.Strong(string(p.Severity)) + " "
	if p.Pos.File != "" {
		line += report.Name(p.Pos.String()) + ": "
	}
	if p.Path != "" {
		line += legible.Message(p.Path) + ": "
	}
	line += p.text()
	if p.Rule != "" {
		line += " (" + report.Name(p.Rule) + ")"
	}
	return line
}
