package pipeline

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/diff"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// maxList is the maximum length of a step's problems in characters, so that all steps fit into a comment.
const maxList = 10_000

// maxCommands is the number of characters reserved for the commands of sign.
const maxCommands = 4096

// WriteMarkdown writes the summary for a comment on a pull request or for the page of a pipeline run: a table of the
// steps, then their problems and changes, truncated to the size of a comment.
func (s *Summary) WriteMarkdown(w io.Writer) error {
	var out bytes.Buffer
	fmt.Fprintf(&out, "## %s\n\n", s.title())
	if s.Digest != "" {
		size := plural.Number(int(resultOf(s.Steps, Build).Image.Size))
		fmt.Fprintf(&out, "Image %s, %s bytes\n\n", markdown.Code(s.Digest), size)
	}
	if len(s.Live) > 0 && len(s.Live) < len(s.Tags) {
		fmt.Fprintf(&out, "Live: %s\n\n", codes(s.Live))
	}
	out.WriteString("| step | status | |\n|---|---|---|\n")
	for _, r := range s.Steps {
		status := string(r.Status)
		if r.Status == Failed {
			status = "**failed**"
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", r.Step, status, markdown.Escape(r.Note))
	}
	for _, r := range s.Steps {
		if err := r.writeDetails(&out, diff.MaxComment-utf8.RuneCount(out.Bytes())); err != nil {
			return err
		}
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (s *Summary) title() string {
	to, from := codes(s.Tags), markdown.Code(s.Catalog)
	push := resultOf(s.Steps, Push)
	switch {
	case s.Outcome == Published:
		return "Published " + to
	case s.Outcome == Unchanged:
		return "Unchanged: " + to
	case s.Outcome == Checked:
		return "Checked " + from
	case len(s.Live) > 0:
		return fmt.Sprintf("Published in part: %s, not %s", codes(s.Tags[:len(s.Live)]), codes(s.Tags[len(s.Live):]))
	case push != nil && push.Status == Skipped:
		return "Failed: " + from
	}
	return "Not published: " + to
}

// codes returns names as a list of code spans.
func codes(names []string) string {
	var list []string
	for _, n := range names {
		list = append(list, markdown.Code(n))
	}
	return strings.Join(list, ", ")
}

// writeDetails writes the problems of the step, errors first and no hints, then its changes in up to most characters.
func (r *Result) writeDetails(out *bytes.Buffer, most int) error {
	report := problem.Report{Subject: string(r.Step), Limit: maxList}
	for _, severity := range []problem.Severity{problem.Error, problem.Warning} {
		for _, p := range r.problems {
			if p.Severity == severity {
				report.Problems = append(report.Problems, p)
			}
		}
	}
	if len(report.Problems) > 0 {
		out.WriteByte('\n')
		if err := report.Write(out, problem.Markdown); err != nil {
			return err
		}
	}
	if r.Changes != nil && len(r.Changes.Packages) > 0 {
		out.WriteByte('\n')
		if err := diff.WriteMarkdownWithin(out, r.Changes, most-maxCommands); err != nil {
			return err
		}
	}
	if len(r.Commands) > 0 {
		fmt.Fprintf(out, "\n### sign\n\n    %s\n", strings.Join(r.Commands, "\n    "))
	}
	return nil
}
