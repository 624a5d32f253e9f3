package problem

import (
	"bufio"
	"io"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
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

// WriteText writes problems one a line, as [Problem.String] has them, with colours if colour is set.
func WriteText(w io.Writer, problems []*Problem, colour bool) error {
	out := bufio.NewWriter(w)
	for _, p := range problems {
		line := p.String()
		if colour {
			line = p.coloured()
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.Flush()
}

// Lines returns problems one a line, without the end of the last line.
func Lines(problems []*Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (p *Problem) coloured() string {
	line := p.String()
	line = strings.Replace(line, p.Pos.String(), bold+p.Pos.String()+reset, 1)
	line = strings.Replace(line, string(p.Severity)+": ", colours[p.Severity]+string(p.Severity)+reset+": ", 1)
	rule := "[" + p.Rule + "]"
	return strings.TrimSuffix(line, rule) + dim + rule + reset
}

// Summary says how many problems there are: "2 errors and 1 warning in 3 files".
func Summary(problems []*Problem) string {
	if len(problems) == 0 {
		return "no problems"
	}
	files := map[string]bool{}
	for _, p := range problems {
		files[p.Pos.File] = true
	}
	counts := plural.Of(Count(problems, Error), "error") + " and " + plural.Of(Count(problems, Warning), "warning")
	if n := Count(problems, Info); n > 0 {
		counts += " and " + plural.Of(n, "hint")
	}
	return counts + " in " + plural.Of(len(files), "file")
}
