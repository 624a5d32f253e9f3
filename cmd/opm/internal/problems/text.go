package problems

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// manyProblems is the number of problems from which a summary is printed even if there is no terminal.
const manyProblems = 100

// PrintText prints problems for people, with colours on a terminal, and hints only if info is set. If there are errors,
// it returns a [failure.Error]. On a terminal, or if there are many problems or some are not shown, it adds the counts
// at the end: on summary, or in the error.
func PrintText(w, summary io.Writer, problems []*problem.Problem, info bool) error {
	shown := Shown(problems, info)
	terminal := console.IsTerminal(w)
	colour := terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if colour {
		w = legible.Unwrap(w) // colours are control characters
	}
	if err := problem.WriteText(w, shown, colour); err != nil {
		return err
	}
	var sum string
	hides := len(shown) < len(problems)
	if terminal || len(shown) > 0 && (hides || len(problems) >= manyProblems || problem.Folds(shown)) {
		sum = "opm: " + sumUp(problems, shown)
	}
	if problem.HasErrors(problems) {
		if hint := rootHint(shown); hint != "" {
			sum = "hint: " + hint + "\n" + sum
		}
		return &failure.Error{Reason: problem.Reason(problems), After: sum}
	}
	_, err := io.WriteString(summary, sum)
	return err
}

// Shown returns the problems that people see: the problems of the severity [problem.Info] only if info is set.
func Shown(problems []*problem.Problem, info bool) []*problem.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p *problem.Problem) bool {
		return p.Severity == problem.Info && !info
	})
}

// sumUp returns the lines below a list of problems: the numbers of all problems, whether --info shows more, and the
// numbers of the shown problems by rule.
func sumUp(problems, shown []*problem.Problem) string {
	var b strings.Builder
	b.WriteString(problem.Summary(problems))
	switch hidden := len(problems) - len(shown); {
	case hidden == 1:
		b.WriteString("; --info shows the hint")
	case hidden > 1:
		b.WriteString("; --info shows the hints")
	}
	b.WriteByte('\n')
	countByRule(&b, shown)
	return b.String()
}

// countByRule writes the number of problems by rule, the highest first. It writes nothing for fewer than two rules.
func countByRule(b *strings.Builder, problems []*problem.Problem) {
	type row struct {
		severity problem.Severity
		rule     string
	}
	counts := map[row]int{}
	for _, p := range problems {
		if p.Rule != "" { // the problem that there are too many has none
			counts[row{p.Severity, p.Rule}]++
		}
	}
	if len(counts) < 2 {
		return
	}
	rows := slices.SortedFunc(maps.Keys(counts), func(a, b row) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.rule, b.rule), cmp.Compare(a.severity, b.severity))
	})
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintf(table, "%d\t%s\t %s\n", counts[r], r.severity, r.rule)
	}
	_ = table.Flush() // writing to a Builder does not fail
}

// rootHint returns the advice to correct the first problem first, if others are often consequences of it, or "".
func rootHint(problems []*problem.Problem) string {
	if len(problems) == 0 || !problems[0].Root || problems[0].Severity == problem.Error {
		return ""
	}
	p := problems[0]
	return fmt.Sprintf("correct the %s at %s first: the errors may be consequences of it", p.Severity,
		legible.Name(p.Pos.String()))
}
