package validate

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
)

// A result is what upstream prints with -o json, and the problems one by one.
type result struct {
	Passed   bool           `json:"passed"`
	Error    *resultError   `json:"error,omitzero"`
	Problems []printProblem `json:"problems,omitempty"`
}

type resultError struct {
	Message string `json:"message"`
}

// A printProblem is a problem with the keys that it is printed with.
type printProblem struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitzero"`
	Column   int      `json:"column,omitzero"`
	Package  string   `json:"package,omitzero"`
	Path     string   `json:"path,omitzero"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix,omitzero"`
}

func newResult(problems []*Problem) result {
	var message strings.Builder
	r := result{Passed: true}
	for _, p := range problems {
		if p.Severity == Error {
			r.Passed = false
			fmt.Fprintln(&message, p)
		}
		r.Problems = append(r.Problems, printProblem{
			p.Rule, p.Severity, p.Pos.File, p.Pos.Line, p.Pos.Column, p.Package, p.Path, p.Message, p.Fix,
		})
	}
	if !r.Passed {
		r.Error = &resultError{"invalid catalog:\n" + strings.TrimSpace(message.String())}
	}
	return r
}

// WriteJSON writes problems as upstream does, one object with passed and error.message, and a list of the problems
// besides. HTML is escaped, since upstream does.
func WriteJSON(w io.Writer, problems []*Problem) error {
	if err := json.MarshalWrite(w, newResult(problems), jsontext.WithIndent("  "), jsontext.EscapeForHTML(true)); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// WriteYAML is [WriteJSON] in YAML. The blank line at the end is upstream's.
func WriteYAML(w io.Writer, problems []*Problem) error {
	raw, err := json.Marshal(newResult(problems))
	if err != nil {
		return err
	}
	_, err = w.Write(append(format.AppendYAML(nil, raw), '\n'))
	return err
}

// WriteGitHub writes problems as commands of GitHub workflows, which shows them beside the lines of a pull request.
func WriteGitHub(w io.Writer, problems []*Problem) error {
	for _, p := range problems {
		text := p.Message
		if p.Path != "" {
			text = p.Path + ": " + text
		}
		if p.Fix != "" {
			text += "; " + p.Fix
		}
		_, err := fmt.Fprintf(w, "::%s file=%s,line=%d,col=%d,title=%s::%s\n", p.Severity,
			githubProperty.Replace(p.Pos.File), max(1, p.Pos.Line), max(1, p.Pos.Column),
			githubProperty.Replace(p.Rule), githubText.Replace(text))
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
