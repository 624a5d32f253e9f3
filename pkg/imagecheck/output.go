package imagecheck

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/plural"
)

// WriteText writes a line for every use of an image that has a problem, sorted by place:
//
//	catalog/kiln.yaml:12:1: error: package "kiln": bundle "kiln.v1.0.0": related image "db" quay.io/example/db:v1 does
//	not exist: quay.io answers 404 Not Found [missing]
//
// on one line.
func WriteText(w io.Writer, report *Report) error {
	var uses []problemUse
	for _, p := range report.Problems {
		for _, u := range p.Uses {
			uses = append(uses, problemUse{u, p})
		}
	}
	slices.SortFunc(uses, func(a, b problemUse) int {
		return cmp.Or(a.use.compare(b.use), cmp.Compare(a.problem.Reference, b.problem.Reference))
	})
	out := bufio.NewWriter(w)
	for _, u := range uses {
		out.WriteString(legible.Name(u.String()))
		out.WriteByte('\n')
	}
	return out.Flush()
}

// A problemUse is a use of an image that has a problem.
type problemUse struct {
	use     Use
	problem *Problem
}

func (u problemUse) String() string {
	what := "image"
	if u.use.Related {
		what = "related image"
	}
	if u.use.Name != "" {
		what += fmt.Sprintf(" %q", u.use.Name)
	}
	return fmt.Sprintf("%s: error: package %q: bundle %q: %s %s: %s [%s]",
		u.use.Pos, u.use.Package, u.use.Bundle, what, u.problem.phrase(), u.problem.Reason, u.problem.Kind)
}

// phrase says what is wrong, but not why.
func (p *Problem) phrase() string {
	switch p.Kind {
	case Missing:
		return p.Reference + " does not exist"
	case Unknown:
		return p.Reference + " cannot be checked"
	}
	return fmt.Sprintf("%q is not valid", p.Reference)
}

// Summary says how many images there are and how many of them have problems: "2 of 40 images are missing, 1 cannot be
// checked".
func (r *Report) Summary() string {
	if r.OK() {
		return plural.Of(r.Images, "image") + ", all there"
	}
	var parts []string
	for _, of := range []struct {
		kind      Kind
		one, many string
	}{
		{Missing, "is missing", "are missing"},
		{Unknown, "cannot be checked", "cannot be checked"},
		{Invalid, "has no valid reference", "have no valid reference"},
	} {
		if n := len(r.Of(of.kind)); n > 0 {
			parts = append(parts, plural.Words(n, of.one, of.many))
		}
	}
	return "of " + plural.Of(r.Images, "image") + " " + strings.Join(parts, ", ")
}

// A printReport is a report with the keys that it is printed with. There is a list for every kind, even if it is empty.
type printReport struct {
	Passed  bool           `json:"passed"`
	Images  int            `json:"images"`
	Missing []printProblem `json:"missing"`
	Unknown []printProblem `json:"unknown"`
	Invalid []printProblem `json:"invalid"`
}

type printProblem struct {
	Reference string     `json:"reference"`
	Error     string     `json:"error"`
	Uses      []printUse `json:"uses"`
}

// A printUse is a use; the key relatedImage, with the name, is there for related images only.
type printUse struct {
	File         string  `json:"file"`
	Line         int     `json:"line,omitempty"`
	Column       int     `json:"column,omitempty"`
	Package      string  `json:"package"`
	Bundle       string  `json:"bundle"`
	RelatedImage *string `json:"relatedImage,omitempty"`
}

// WriteJSON writes a report as one object:
//
//	{"passed": false, "images": 40, "missing": [PROBLEM...], "unknown": [], "invalid": []}
//
// A PROBLEM has the reference, the error and the uses, each with file, line, column, package and bundle, and with the
// name under relatedImage unless the image is that of the bundle itself.
func WriteJSON(w io.Writer, report *Report) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(printReport{
		Passed:  report.OK(),
		Images:  report.Images,
		Missing: printProblems(report.Of(Missing)),
		Unknown: printProblems(report.Of(Unknown)),
		Invalid: printProblems(report.Of(Invalid)),
	})
}

func printProblems(problems []*Problem) []printProblem {
	all := []printProblem{} // nil would be null
	for _, p := range problems {
		out := printProblem{Reference: p.Reference, Error: p.Reason}
		for _, u := range p.Uses {
			out.Uses = append(out.Uses, newPrintUse(u))
		}
		all = append(all, out)
	}
	return all
}

func newPrintUse(u Use) printUse {
	out := printUse{u.Pos.File, u.Pos.Line, u.Pos.Column, u.Package, u.Bundle, nil}
	if u.Related {
		out.RelatedImage = &u.Name
	}
	return out
}
