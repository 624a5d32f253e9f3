// Package problem is what is wrong with a catalog, a bundle or an image: where, by which rule, and what to do about it.
// Every check of opm reports a [Problem], and every one of them is printed by the writers of this package.
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
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Severity says what a problem means.
type Severity string

const (
	// Error is for what upstream rejects: no registry serves such a catalog, no cluster installs such a bundle.
	Error Severity = "error"

	// Warning is for what upstream accepts and a cluster, a registry or a user trips over.
	Warning Severity = "warning"

	// Info is for what is right and could be better.
	Info Severity = "info"
)

// severities are ordered, the worst first.
var severities = []Severity{Error, Warning, Info}

// AtLeast reports whether a problem of severity s is as severe as one of severity t, or more.
func (s Severity) AtLeast(t Severity) bool {
	return slices.Index(severities, s) <= slices.Index(severities, t)
}

// A Problem is one thing that is wrong. It prints as
//
//	catalog/foo.yaml:6:9: error: invalid package "foo": invalid channel "stable": entries[2].name: no olm.bundle blobs
//	found in package "foo" for olm.channel entries [foo.v2.0.0]; add the olm.bundle, or remove the entry [entry-bundle]
//
// on one line.
type Problem struct {
	Rule     string      // the name of the rule that is broken, "" for none
	Severity Severity    // of the rule, unless the user asked for another
	Pos      declcfg.Pos // where the value starts; without a file where there is none
	Package  string      // that it is about, "" for none
	Channel  string      // that it is about, "" for none; printed as part of the path only
	Names    []string    // of what else it is about and the path does not say: the image that does not exist
	Path     string      // the way to the value, from the package or the top of the file down
	Message  string      // what is wrong
	Rejected bool        // upstream calls the objects of the path invalid, unless the severity is not [Error]
	Fix      string      // what to do about it, "" where the message says that

	// Cause is the same for problems with one cause outside the catalog, such as a registry that does not answer. Text has
	// only the first of them, with their number. "" means a cause of its own.
	Cause string

	Consequences []string // rules that are broken because of it and not reported by themselves; the message names them
}

func (p *Problem) String() string {
	var b strings.Builder
	if p.Pos.File != "" {
		fmt.Fprintf(&b, "%s: ", legible.Name(p.Pos.String()))
	}
	fmt.Fprintf(&b, "%s: ", p.Severity)
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", p.where())
	}
	b.WriteString(legible.Text(p.text()))
	if p.Rule != "" {
		fmt.Fprintf(&b, " [%s]", p.Rule)
	}
	return b.String()
}

// object begins the name of an object in a path.
var object = regexp.MustCompile(`(^|: )(package|channel|bundle) "`)

// where returns the path, with the words by which upstream names invalid objects.
func (p *Problem) where() string {
	path := p.Path
	if p.Rejected && p.Severity == Error {
		path = object.ReplaceAllString(path, `${1}invalid $2 "`)
	}
	return legible.Name(legible.Message(path))
}

// text returns what is wrong and what to do about it.
func (p *Problem) text() string {
	if p.Fix == "" {
		return p.message()
	}
	return p.message() + "; " + p.Fix
}

// message returns what is wrong, without values that are too long to show.
func (p *Problem) message() string { return legible.Message(p.Message) }

// Sort orders problems by place, and at one place the worst first. What several rules say of a value in the same words,
// it leaves to the first of them.
func Sort(problems []*Problem) []*Problem {
	slices.SortStableFunc(problems, func(p, q *Problem) int {
		return cmp.Or(
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

// Count returns how many problems have the severity.
func Count(problems []*Problem, s Severity) (n int) {
	for _, p := range problems {
		if p.Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether what the problems are about is rejected.
func HasErrors(problems []*Problem) bool { return Count(problems, Error) > 0 }

// FromError returns the errors that err joins as problems, by place. What is not a [declcfg.Error] has no place.
func FromError(rule string, err error) []*Problem {
	all := Flatten(err)
	slices.SortStableFunc(all, declcfg.CompareErrors)
	problems := make([]*Problem, len(all))
	for i, err := range all {
		problems[i] = &Problem{Rule: rule, Severity: Error, Message: err.Error()}
		if e, ok := err.(*declcfg.Error); ok { //nolint:errorlint // one that is wrapped has more to say than its place
			problems[i].Pos, problems[i].Message = e.Pos, e.Err.Error()
			if e.Pointer != "" {
				problems[i].Path = declcfg.Path(e.Pointer)
			}
		}
	}
	return problems
}

// Flatten returns the errors that err joins, in their order, and those that they join.
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
