package validate

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/schemas"
)

// A validator is what all checks share. It may be used by several goroutines.
type validator struct {
	opts     Options
	off      map[string]bool // rules that are not checked
	checkers sync.Pool       // of *schemas.Checker
}

func newValidator(opts Options) (*validator, error) {
	v := &validator{opts: opts, off: map[string]bool{}}
	for _, name := range opts.Disable {
		v.off[name] = true
	}
	for _, r := range Rules().All() {
		if opts.ErrorsOnly && r.Severity != problem.Error {
			v.off[r.Name] = true
		}
	}
	if !v.shapes() {
		return v, nil
	}
	first, err := schemas.NewChecker(opts.Schemas...)
	if err != nil {
		return nil, err
	}
	v.checkers.Put(first)
	v.checkers.New = func() any {
		c, err := schemas.NewChecker(opts.Schemas...)
		if err != nil { // the same files compiled before
			panic(err)
		}
		return c
	}
	return v, nil
}

// shapes reports whether CUE has anything to check.
func (v *validator) shapes() bool {
	return !v.off["schema"] || !v.off["constraint"] || !v.off["max-openshift-version"] || len(v.opts.Schemas) > 0
}

// A scope collects what is wrong with one object.
type scope struct {
	v     *validator
	meta  *declcfg.Meta
	text  placer // the object while it is in memory, or else its meta
	found []finding

	refused map[string]bool // properties whose values cannot be decoded, by index
}

// A placer finds values in the text of an object.
type placer interface {
	Places(ptrs []jsontext.Pointer) []declcfg.Pos
}

type finding struct {
	rule *problem.Rule
	ptr  jsontext.Pointer // into the object
	msg  string
}

// add reports that the value at ptr breaks the rule of that name. What breaks a
// disabled rule is kept without a message, because updates of a wrong package are not checked.
func (s *scope) add(rule string, ptr jsontext.Pointer, format string, args ...any) {
	f := finding{rule: Rules().Of(rule), ptr: ptr}
	if !s.v.off[rule] {
		f.msg = fmt.Sprintf(format, args...)
	}
	s.found = append(s.found, f)
}

// wrong reports whether a rule that is an error is broken.
func (s *scope) wrong() bool {
	return slices.ContainsFunc(s.found, func(f finding) bool { return f.rule.Severity == problem.Error })
}

// problems places what was found.
func (s *scope) problems() []*problem.Problem {
	found := slices.DeleteFunc(s.found, func(f finding) bool { return s.v.off[f.rule.Name] })
	if len(found) == 0 {
		return nil
	}
	ptrs := make([]jsontext.Pointer, len(found))
	for i, f := range found {
		ptrs[i] = f.ptr
	}
	places := s.text.Places(ptrs)
	problems := make([]*problem.Problem, len(found))
	for i, f := range found {
		problems[i] = s.v.problem(f.rule, places[i], s.meta, f.ptr, f.msg)
	}
	return problems
}

// problem returns what is wrong with the value at ptr of m, which is nil where the object is not known.
func (v *validator) problem(
	r *problem.Rule, pos declcfg.Pos, m *declcfg.Meta, ptr jsontext.Pointer, msg string,
) *problem.Problem {
	p := &problem.Problem{Rule: r.Name, Severity: r.Severity, Pos: pos, Message: msg, Fix: r.Fix}
	if m != nil {
		p.Package = m.Owner()
		p.Path = pathTo(m, ptr)
		if m.Schema == declcfg.SchemaChannel {
			p.Channel = m.Name
		}
	}
	return p
}

// pathTo writes the path of the value at ptr: package "p": channel "c": entries[2].
func pathTo(m *declcfg.Meta, ptr jsontext.Pointer) string {
	path := ""
	if owner := m.Owner(); owner != "" {
		path = fmt.Sprintf("package %q", owner)
	}
	add := func(format string, args ...any) {
		if path != "" {
			path += ": "
		}
		path += fmt.Sprintf(format, args...)
	}
	switch m.Schema {
	case declcfg.SchemaPackage:
	case declcfg.SchemaChannel:
		add("channel %q", m.Name)
	case declcfg.SchemaBundle:
		add("bundle %q", m.Name)
	case declcfg.SchemaDeprecations:
		add("deprecations")
	default:
		add("%s %q", m.Schema, m.Name)
	}
	if ptr != "" {
		add("%s", declcfg.Path(ptr))
	}
	return path
}
