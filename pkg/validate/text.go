package validate

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// The colours of a terminal.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

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

func (p *Problem) coloured() string {
	severity := red
	if p.Severity == Warning {
		severity = yellow
	}
	line := p.String()
	line = strings.Replace(line, p.Pos.String(), bold+p.Pos.String()+reset, 1)
	line = strings.Replace(line, string(p.Severity)+": ", severity+string(p.Severity)+reset+": ", 1)
	rule := "[" + p.Rule + "]"
	return strings.TrimSuffix(line, rule) + dim + rule + reset
}

// Summary says how many problems there are: "2 errors and 1 warning in 3 files".
func Summary(problems []*Problem) string {
	if len(problems) == 0 {
		return "no problems"
	}
	files := map[string]bool{}
	errors := 0
	for _, p := range problems {
		files[p.Pos.File] = true
		if p.Severity == Error {
			errors++
		}
	}
	return fmt.Sprintf("%s and %s in %s", number(errors, "error"), number(len(problems)-errors, "warning"),
		number(len(files), "file"))
}

func number(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
