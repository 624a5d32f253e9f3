// Package problem describes the problems of a catalog, a bundle or an image: their position, the rule they break, and
// the fix. Every check of opm reports a [Problem], and the writers of this package print all of them.
//
//	problem.Sort(problems)
//	report := problem.Report{Subject: "catalog", Problems: problems, Rules: validate.Rules()}
//	err := report.Write(os.Stdout, problem.SARIF)
package problem

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Severity is the severity of a problem.
type Severity string

const (
	// Error means that upstream rejects the object: no registry serves such a catalog, and no cluster installs such a
	// bundle.
	Error Severity = "error"

	// Warning means that upstream accepts the object, but that a cluster, a registry or a user will have trouble with
	// it.
	Warning Severity = "warning"

	// Info means that the object is correct but could be better.
	Info Severity = "info"
)

// severities are sorted, the worst first.
var severities = []Severity{Error, Warning, Info}

// AtLeast reports whether s is at least as severe as t.
func (s Severity) AtLeast(t Severity) bool {
	return slices.Index(severities, s) <= slices.Index(severities, t)
}

// A Problem is one mistake. It prints as
//
//	catalog/foo.yaml:6:9: error: invalid package "foo": invalid channel "stable": entries[2].name: no olm.bundle blobs
//	found in package "foo" for olm.channel entries [foo.v2.0.0]; add the olm.bundle, or remove the entry [entry-bundle]
//
// on one line.
type Problem struct {
	Rule     string      // name of the broken rule; "" for none
	Severity Severity    // the severity of the rule, unless the user chose another
	Pos      declcfg.Pos // start of the value; without a file if it has no position
	Package  string      // package it is about; "" for none
	Channel  string      // channel it is about; "" for none; printed as part of the path only
	Bundle   string      // name of the bundle it is about; "" for none; a channel may name it
	Names    []string    // other names it is about that are not in the path, such as a missing image
	Path     string      // path to the value, from the package or the top of the file
	Message  string      // the problem in words
	Rejected bool        // upstream calls the objects of the path invalid, unless the severity is not [Error]
	Fix      string      // what to do; "" if the message says that

	// Cause is the same for problems with one cause, such as a registry that does not answer, or a change of a
	// definition that several updates share. The text format prints only the first of them, with their number. "" means
	// its own cause.
	Cause string

	// Root says that other problems of the catalog are often consequences of this one, such as of a misspelled schema.
	// [Sort] puts it before them, and the text format ends with a hint about it.
	Root bool

	Consequences []string // rules broken as a result and not reported on their own; the message names them

	// Known says that the published catalog, with which the checked one is compared, has the problem too. Then it is a
	// hint, unless its rule is off; see [Baseline.Mark].
	Known bool

	Catalogs []string // names of the catalogs that have the problem, set by [Merge]; nil for a single catalog
}

func (p *Problem) String() string {
	var b strings.Builder
	if p.Pos.File != "" {
		fmt.Fprintf(&b, "%s: ", legible.Name(p.Pos.String()))
	}
	fmt.Fprintf(&b, "%s: ", p.Severity)
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", p.displayPath())
	}
	b.WriteString(legible.Text(p.text()))
	if p.Rule != "" {
		fmt.Fprintf(&b, " [%s]", p.Rule)
	}
	return b.String()
}

// object matches the start of an object name in a path.
var object = regexp.MustCompile(`(^|: )(package|channel|bundle) "`)

// displayPath returns the path, with upstream's wording for invalid objects.
func (p *Problem) displayPath() string {
	path := p.Path
	if p.Rejected && p.Severity == Error {
		path = object.ReplaceAllString(path, `${1}invalid $2 "`)
	}
	return legible.Name(legible.Message(path))
}

// text returns the message, the fix and the catalogs.
func (p *Problem) text() string {
	text := p.message()
	if p.Fix != "" {
		text += "; " + p.Fix
	}
	if p.Known {
		text += " (known: the published catalog has it, too)"
	}
	if len(p.Catalogs) > 0 {
		text += " (" + inCatalogs(p.Catalogs) + ")"
	}
	return text
}

// message returns the message with long values cut.
func (p *Problem) message() string { return legible.Message(p.Message) }

// Sort sorts problems by position, those with Root first, and at one position by severity, the worst first. If several
// rules report a value in the same words, it keeps only the first of them.
func Sort(problems []*Problem) []*Problem {
	slices.SortStableFunc(problems, func(p, q *Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(rootFirst, p.Root), slices.Index(rootFirst, q.Root)),
			p.Pos.Compare(q.Pos),
			cmp.Compare(slices.Index(severities, p.Severity), slices.Index(severities, q.Severity)),
			cmp.Compare(p.Rule, q.Rule),
			cmp.Compare(p.Path, q.Path),
			cmp.Compare(p.Message, q.Message),
		)
	})
	type words struct {
		pos           declcfg.Pos
		path, message string
	}
	said := make(map[words]bool, len(problems))
	return slices.DeleteFunc(problems, func(p *Problem) bool {
		w := words{p.Pos, p.Path, p.Message}
		repeated := said[w]
		said[w] = true
		return repeated
	})
}

var rootFirst = []bool{true, false}

// Count returns the number of problems with the severity.
func Count(problems []*Problem, s Severity) (n int) {
	for _, p := range problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether a problem is an error, which means that the checked object is rejected.
func HasErrors(problems []*Problem) bool { return Count(problems, Error) > 0 }

// FromError converts the errors that err joins to problems, sorted by position. An error that is not a [declcfg.Error]
// has no position.
func FromError(rule string, err error) []*Problem {
	all := Flatten(err)
	slices.SortStableFunc(all, place.CompareErrors)
	problems := make([]*Problem, len(all))
	for i, err := range all {
		problems[i] = &Problem{Rule: rule, Severity: Error, Message: err.Error()}
		if e, ok := err.(*declcfg.Error); ok { //nolint:errorlint // a wrapped one has more to say
			problems[i].Pos, problems[i].Message = e.Pos, e.Err.Error()
			if e.Pointer != "" {
				problems[i].Path = place.Path(e.Pointer)
			}
		}
	}
	return problems
}

// Flatten returns the errors that err joins, in order and recursively.
func Flatten(err error) (all []error) {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, one := range many.Unwrap() {
		all = append(all, Flatten(one)...)
	}
	return all
}
