package problem

import (
	"cmp"
	"encoding/xml"
	"io"
	"path/filepath"
	"strings"
	"unicode"
)

// The part of JUnit's XML (https://github.com/testmoapp/junitxml) that GitLab, Jenkins and others read.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"` // the rule
		File    string        `xml:"file,attr,omitempty"`
		Line    int           `xml:"line,attr,omitempty"`
		Failure *junitFailure `xml:"failure"`
		Error   *junitFailure `xml:"error"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitFailure struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
	}
)

// writeJUnit writes a test for each problem: an error fails, and warnings and hints pass with their text as output.
// Without errors, a test about the whole subject passes.
func (r *Report) writeJUnit(w io.Writer) error {
	suite := junitSuite{Name: "opm: " + r.Subject}
	if r.Incomplete != "" {
		suite.Errors++
		suite.Cases = append(suite.Cases, junitCase{
			Name: r.Subject, Class: "opm", Error: &junitFailure{"incomplete", printableXML(r.Incomplete)},
		})
	} else if !HasErrors(r.Problems) {
		suite.Cases = append(suite.Cases, junitCase{Name: r.Subject, Class: "opm"})
	}
	for _, p := range r.Problems {
		text := printableXML(p.text())
		c := junitCase{
			Name: printableXML(cmp.Or(p.Path, p.Pos.File, r.Subject)), Class: cmp.Or(p.Rule, "opm"),
			File: printableXML(filepath.ToSlash(p.Pos.File)), Line: p.Pos.Line,
		}
		if p.Severity == Error {
			suite.Failures++
			c.Failure = &junitFailure{string(p.Severity), text}
		} else {
			c.Out = string(p.Severity) + ": " + text
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	text, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

// printableXML replaces the control characters of text, which XML does not allow or which viewers print as they are.
func printableXML(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
