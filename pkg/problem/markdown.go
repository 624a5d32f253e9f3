package problem

import (
	"bufio"
	"fmt"
	"io"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/internal/plural"
)

func (r *Report) writeMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "### %s: %s\n", markdown.Escape(r.Subject), Summary(r.Problems))
	for i, p := range r.Problems {
		if i == 0 {
			out.WriteByte('\n')
		}
		if r.Most > 0 && i == r.Most {
			fmt.Fprintf(out, "- and %s more\n", plural.Number(len(r.Problems)-i))
			break
		}
		fmt.Fprintf(out, "- **%s** ", p.Severity)
		if p.Pos.File != "" {
			fmt.Fprintf(out, "%s: ", markdown.Code(p.Pos.String()))
		}
		if p.Path != "" {
			fmt.Fprintf(out, "%s: ", markdown.Escape(legible.Message(p.Path)))
		}
		out.WriteString(markdown.Escape(p.text()))
		if p.Rule != "" {
			fmt.Fprintf(out, " (%s)", markdown.Code(p.Rule))
		}
		out.WriteByte('\n')
	}
	return out.Flush()
}
