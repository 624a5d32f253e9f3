package problem

import (
	"bufio"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/internal/plural"
)

func (r *Report) writeMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "### %s: %s\n", markdown.Escape(r.Subject), Summary(r.Problems))
	length := 0
	for i, p := range r.Problems {
		if i == 0 {
			out.WriteByte('\n')
		}
		line := p.markdown()
		if length += utf8.RuneCountInString(line); r.Limit > 0 && length > r.Limit {
			fmt.Fprintf(out, "- and %s more\n", plural.Number(len(r.Problems)-i))
			break
		}
		out.WriteString(line)
	}
	return out.Flush()
}

func (p *Problem) markdown() string {
	line := fmt.Sprintf("- **%s** ", p.Severity)
	if p.Pos.File != "" {
		line += markdown.Code(p.Pos.String()) + ": "
	}
	if p.Path != "" {
		line += markdown.Escape(legible.Message(p.Path)) + ": "
	}
	line += markdown.Escape(p.text())
	if p.Rule != "" {
		line += " (" + markdown.Code(p.Rule) + ")"
	}
	return line + "\n"
}
