package pipeline

import (
	"fmt"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// maxList is the maximum length of the problems of a step in characters, for all catalogs together, so that all steps
// fit into a comment.
const maxList = 10_000

// Report returns the summary for a comment on a pull request or for the page of a pipeline run: a table of the steps,
// then their problems and changes, truncated to the size of a comment.
func (s *Summary) Report() *report.Report { return s.report(maxList) }

// report returns the report, with lists of problems of at most limit characters each.
func (s *Summary) report(limit int) *report.Report {
	out := &report.Report{}
	out.Heading(2, s.title())
	if s.Digest != "" {
		size := plural.Number(int(resultOf(s.Steps, Build).Image.Size))
		out.Line("Image %s, %s bytes", report.Name(s.Digest), size)
	}
	if len(s.Live) > 0 && len(s.Live) < len(s.Tags) {
		out.Line("Live: %s", report.List(s.Live))
	}
	var rows [][]string
	for _, r := range s.Steps {
		status := string(r.Status)
		if r.Status == Failed {
			status = report.Strong(status)
		}
		rows = append(rows, []string{string(r.Step), status, r.Note})
	}
	out.Table([]string{"step", "status", ""}, rows)
	for _, r := range s.Steps {
		r.addDetails(out, limit)
	}
	return out
}

// ReportAll returns one report of several summaries, which begins with a table of the catalogs; a single summary needs
// no table. It is truncated to the size of a comment as a whole.
func ReportAll(all []*Summary) *report.Report {
	if len(all) == 1 {
		return all[0].Report()
	}
	out := &report.Report{}
	counts := map[Outcome]int{}
	var rows [][]string
	for _, s := range all {
		counts[s.Outcome]++
		outcome := string(s.Outcome)
		if s.Outcome == Rejected || s.Outcome == Broken {
			outcome = report.Strong(outcome)
		}
		rows = append(rows, []string{report.Name(s.Catalog), outcome, report.List(s.Tags)})
	}
	var parts []string
	for _, o := range []Outcome{Published, Unchanged, Checked, Rejected, Broken} {
		if counts[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[o], o))
		}
	}
	out.Heading(2, plural.Of(len(all), "catalog")+": "+strings.Join(parts, ", "))
	out.Table([]string{"catalog", "outcome", "image"}, rows)
	limit := max(1, maxList/len(all)) // 0 would be no limit
	for _, s := range all {
		out.Add(s.report(limit))
	}
	return out
}

func (s *Summary) title() string {
	to, from := report.List(s.Tags), report.Name(s.Catalog)
	push := resultOf(s.Steps, Push)
	switch {
	case s.Outcome == Published:
		return "Published " + to
	case s.Outcome == Unchanged:
		return "Unchanged: " + to
	case s.Outcome == Checked:
		return "Checked " + from
	case len(s.Live) > 0:
		tagged, missing := s.Tags[:len(s.Live)], s.Tags[len(s.Live):]
		return fmt.Sprintf("Published in part: %s, not %s", report.List(tagged), report.List(missing))
	case push != nil && push.Status == Skipped:
		return "Failed: " + from
	}
	return "Not published: " + to
}

// addDetails adds the problems of the step, errors first, no hints and at most limit characters, then its changes and
// commands.
func (r *Result) addDetails(out *report.Report, limit int) {
	problems := problem.Report{Subject: string(r.Step), Limit: limit}
	for _, severity := range []problem.Severity{problem.Error, problem.Warning} {
		for _, p := range r.problems {
			if p.Severity == severity {
				problems.Problems = append(problems.Problems, p)
			}
		}
	}
	if len(problems.Problems) > 0 {
		out.Add(problems.Comment())
	}
	if r.Changes != nil && len(r.Changes.Packages) > 0 {
		out.Add(r.Changes.Report())
	}
	if len(r.Commands) > 0 {
		out.Heading(3, "sign")
		out.Code(strings.Join(r.Commands, "\n"))
	}
}
