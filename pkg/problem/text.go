package problem

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// The colours of a terminal.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	blue   = "\x1b[34m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

var colours = map[Severity]string{Error: red, Warning: yellow, Info: blue}

// WriteText writes one problem per line, formatted by [Problem.String], with colours if colour is set. The warnings of
// one rule about one package, and its hints, share one line with their number, except the ones with consequences.
func WriteText(w io.Writer, problems []*Problem, colour bool) error {
	out := bufio.NewWriter(w)
	for _, g := range fold(problems) {
		first := g.first
		line := first.String()
		if colour {
			line = strings.Replace(line, first.Pos.String(), bold+first.Pos.String()+reset, 1)
			severity := string(first.Severity)
			line = strings.Replace(line, severity+": ", colours[first.Severity]+severity+reset+": ", 1)
			rule := "[" + first.Rule + "]"
			line = strings.TrimSuffix(line, rule) + dim + rule + reset
		}
		out.WriteString(line)
		if len(g.more) > 0 {
			fmt.Fprintf(out, " (and %d more", len(g.more))
			if others := otherCatalogs(g.first, g.more); others != nil {
				out.WriteString(", " + inCatalogs(others))
			}
			out.WriteByte(')')
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}

// Folds reports whether WriteText writes fewer lines than there are problems.
func Folds(problems []*Problem) bool { return len(fold(problems)) < len(problems) }

// A folded is a group of problems that are printed as one.
type folded struct {
	first *Problem
	more  []*Problem
}

// fold groups the problems for printing, in the order of the first problem of each group.
func fold(problems []*Problem) []*folded {
	type group struct {
		rule, pkg, cause string
		severity         Severity
	}
	var all []*folded
	groups := map[group]*folded{}
	for _, p := range problems {
		g := group{p.Rule, p.Package, "", p.Severity}
		alone := p.Severity == Error || p.Package == "" || len(p.Consequences) > 0
		if p.Cause != "" {
			g.pkg, g.cause, alone = "", p.Cause, false
		}
		if f := groups[g]; f != nil && !alone {
			f.more = append(f.more, p)
			continue
		}
		f := &folded{first: p}
		all = append(all, f)
		if !alone {
			groups[g] = f
		}
	}
	return all
}

// Lines returns one problem per line, without a line break at the end.
func Lines(problems []*Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Summary returns the numbers of problems: "2 errors and 1 warning in 3 files".
func Summary(problems []*Problem) string {
	if len(problems) == 0 {
		return "no problems"
	}
	files := map[string]bool{}
	for _, p := range problems {
		files[p.Pos.File] = true
	}
	errors, warnings := plural.Of(Count(problems, Error), "error"), plural.Of(Count(problems, Warning), "warning")
	in := plural.Of(len(files), "file")
	if n := Count(problems, Info); n > 0 {
		return fmt.Sprintf("%s, %s and %s in %s", errors, warnings, plural.Of(n, "hint"), in)
	}
	return fmt.Sprintf("%s and %s in %s", errors, warnings, in)
}

// Reason returns the first error among problems on one line, with its position and the number of errors: the last line
// that a program prints, for callers that look for one line. It returns "" if there are no errors.
func Reason(problems []*Problem) string {
	i := slices.IndexFunc(problems, func(p *Problem) bool { return p.Severity == Error })
	if i < 0 {
		return ""
	}
	p := problems[i]
	what := legible.Text(p.message())
	if p.Path != "" {
		what = p.displayPath() + ": " + what
	}
	return First(what, p.Pos, Count(problems, Error))
}

// First adds the position and the number of errors to the text of the first one. It omits an unknown position.
func First(what string, pos declcfg.Pos, errors int) string {
	var about string
	if pos.File != "" {
		about = legible.Name(pos.String())
	}
	if errors > 1 {
		if about != "" {
			about += ", "
		}
		about += "the first of " + plural.Of(errors, "error")
	}
	if about == "" {
		return what
	}
	line, rest, _ := strings.Cut(what, "\n")
	if rest != "" {
		rest = "\n" + rest
	}
	return fmt.Sprintf("%s (%s)%s", line, about, rest)
}
