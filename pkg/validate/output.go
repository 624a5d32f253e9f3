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
// besides. What means something in HTML is escaped, since upstream does.
func WriteJSON(w io.Writer, problems []*Problem) error {
	err := json.MarshalWrite(w, newResult(problems), jsontext.WithIndent("  "),
		jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
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
