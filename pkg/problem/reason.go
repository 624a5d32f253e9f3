package problem

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

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
		what = p.where() + ": " + what
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
