package problem

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/output"
)

// A Table is an answer that people read. Its methods return the errors of w only.
type Table interface {
	Text(w io.Writer) error
	Markdown(w io.Writer) error
}

// A Report is the result of a check, with the data needed to write it.
type Report struct {
	Subject  string // the checked object, such as "catalog"
	Problems []*Problem
	Rules    *Rules         // the checked rules
	Version  string         // of opm; "" for none
	Counts   map[string]int // numbers of checked objects, by key, for JSON and YAML; nil for none
	Limit    int            // maximum characters of the list in Markdown, which counts the rest; 0 means no limit

	// Incomplete is the reason why the check did not pass even without errors, such as a catalog that cannot be read;
	// "" for none. Text does not have it.
	Incomplete string

	// Tables are the answers that the problems are about, for WriteTables. No other function writes them.
	Tables []Table
	// Summary has lines about the check for people, such as the number of checked objects. No format has them.
	Summary []string

	// Wrap returns the value that JSON and YAML have instead of the result; nil for the result itself.
	Wrap func(*Result) any
}

// A Format is an output format of reports.
type Format string

// The output formats.
const (
	Text   Format = "text"   // one line per problem; see [WriteText] for colours
	JSON   Format = "json"   // passed and error.message as in upstream's validate, and a list of problems
	YAML   Format = "yaml"   // the same in YAML
	SARIF  Format = "sarif"  // the Static Analysis Results Interchange Format, for code scanning
	GitHub Format = "github" // commands of GitHub workflows, shown next to the lines of a pull request
	GitLab Format = "gitlab" // the code quality report of GitLab, shown in a merge request
	JUnit  Format = "junit"  // the XML of JUnit, which CI systems show as tests

	Markdown Format = "markdown" // a list for a comment on a pull request
)

// writers have the function that writes each format, in the order of [Formats].
var writers = []struct {
	format Format
	write  func(*Report, io.Writer) error
}{
	{Text, func(r *Report, w io.Writer) error { return WriteText(w, r.Problems, false) }},
	{JSON, func(r *Report, w io.Writer) error {
		// HTML characters are escaped, because upstream does.
		return writeJSON(w, r.value(), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	}},
	{YAML, (*Report).writeYAML},
	{SARIF, (*Report).writeSARIF},
	{GitHub, (*Report).writeGitHub},
	{GitLab, (*Report).writeGitLab},
	{JUnit, (*Report).writeJUnit},
	{Markdown, func(r *Report, w io.Writer) error { return r.Comment().Markdown(w) }},
}

// Formats returns the names of all formats.
func Formats() (names []string) {
	for _, f := range writers {
		names = append(names, string(f.format))
	}
	return names
}

// Write writes the report.
func (r *Report) Write(w io.Writer, format Format) error {
	for _, f := range writers {
		if f.format == format {
			return f.write(r, w)
		}
	}
	return fmt.Errorf("unknown format %q", format)
}

// WriteTables writes the tables, which come before the list of problems in Text and Markdown; other formats have none.
func (r *Report) WriteTables(w io.Writer, format Format) error {
	var out bytes.Buffer // whose writes do not fail
	for _, t := range r.Tables {
		switch format {
		case Text:
			_ = t.Text(&out)
		case Markdown:
			_ = t.Markdown(&out)
			out.WriteByte('\n')
		}
	}
	_, err := out.WriteTo(w)
	return err
}

// A Result is upstream's output with -o json, together with the list of problems.
type Result struct {
	Passed   bool           `json:"passed"`
	Error    *resultError   `json:"error,omitzero"`
	Problems []printed      `json:"problems,omitempty"`
	Counts   map[string]int `json:",embed"`
}

type resultError struct {
	Message string `json:"message"`
}

type printed struct {
	Rule     string   `json:"rule"`
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line,omitzero"`
	Column   int      `json:"column,omitzero"`
	Package  string   `json:"package,omitzero"`
	Names    []string `json:"names,omitempty"`
	Path     string   `json:"path,omitzero"`
	Message  string   `json:"message"`
	Fix      string   `json:"fix,omitzero"`

	Consequences []string `json:"consequences,omitempty"`
	Known        bool     `json:"known,omitzero"`
	Catalogs     []string `json:"catalogs,omitempty"`
}

// Result returns the value that is written as JSON and YAML.
func (r *Report) Result() *Result {
	res := &Result{Passed: r.Incomplete == "" && !HasErrors(r.Problems), Counts: r.Counts}
	var errors []*Problem
	for _, p := range r.Problems {
		if p.Severity == Error {
			errors = append(errors, p)
		}
		res.Problems = append(res.Problems, printed{
			p.Rule, p.Severity, p.Pos.File, p.Pos.Line, p.Pos.Column, p.Package, p.Names, p.Path, p.message(), p.Fix,
			p.Consequences, p.Known, p.Catalogs,
		})
	}
	switch {
	case errors != nil:
		res.Error = &resultError{"invalid " + r.Subject + ":\n" + Lines(errors)}
		if r.Incomplete != "" {
			res.Error.Message += "\n" + r.Incomplete
		}
	case !res.Passed:
		res.Error = &resultError{r.Incomplete}
	}
	return res
}

func (r *Report) value() any {
	if r.Wrap != nil {
		return r.Wrap(r.Result())
	}
	return r.Result()
}

// writeYAML writes the report as YAML, followed by a blank line, as upstream does.
func (r *Report) writeYAML(w io.Writer) error {
	text, err := json.Marshal(r.value(), json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	_, err = w.Write(append(format.AppendYAML(nil, text), '\n'))
	return err
}

// writeJSON writes indented JSON. File names in it may be invalid UTF-8.
func writeJSON(w io.Writer, v any, opts ...json.Options) error {
	return output.WriteJSON(w, v, append(opts, jsontext.AllowInvalidUTF8(true))...)
}

func (r *Report) writeGitHub(w io.Writer) error {
	if r.Incomplete != "" {
		if _, err := fmt.Fprintf(w, "::error::%s\n", githubText.Replace(legible.Name(r.Incomplete))); err != nil {
			return err
		}
	}
	for _, p := range r.Problems {
		var lines []string
		for line := range strings.SplitSeq(p.text(), "\n") {
			lines = append(lines, legible.Name(line))
		}
		text := strings.Join(lines, "\n") // escaped below
		if p.Path != "" {
			text = legible.Name(legible.Message(p.Path)) + ": " + text
		}
		place := ""
		if p.Pos.File != "" {
			place = fmt.Sprintf("file=%s,line=%d,col=%d,", githubProperty.Replace(legible.Name(filepath.ToSlash(p.Pos.File))),
				max(1, p.Pos.Line), max(1, p.Pos.Column))
		}
		_, err := fmt.Fprintf(w, "::%s %stitle=%s::%s\n", githubLevel(p.Severity), place, githubProperty.Replace(p.Rule),
			githubText.Replace(text))
		if err != nil {
			return err
		}
	}
	return nil
}

func githubLevel(s Severity) string {
	if s == Info {
		return "notice"
	}
	return string(s)
}

var (
	githubText     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)
