package validate

import (
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
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
	for _, r := range Rules() {
		if opts.ErrorsOnly && r.Severity == Warning {
			v.off[r.Name] = true
		}
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

// A scope collects what is wrong with one object.
type scope struct {
	v     *validator
	meta  *declcfg.Meta
	found []finding
}

type finding struct {
	rule *Rule
	ptr  jsontext.Pointer // into the object
	msg  string
}

// add reports that the value at ptr breaks the rule of that name.
func (s *scope) add(rule string, ptr jsontext.Pointer, format string, args ...any) {
	if !s.v.off[rule] {
		s.found = append(s.found, finding{ruleByName(rule), ptr, fmt.Sprintf(format, args...)})
	}
}

// has tells whether something was reported at ptr.
func (s *scope) has(ptr jsontext.Pointer) bool {
	for _, f := range s.found {
		if f.ptr == ptr {
			return true
		}
	}
	return false
}

// problems places what was found.
func (s *scope) problems() []*Problem {
	if len(s.found) == 0 {
		return nil
	}
	ptrs := make([]jsontext.Pointer, len(s.found))
	for i, f := range s.found {
		ptrs[i] = f.ptr
	}
	places := s.meta.Places(ptrs)
	problems := make([]*Problem, len(s.found))
	for i, f := range s.found {
		problems[i] = s.v.problem(f.rule, places[i], s.meta, f.ptr, f.msg)
	}
	return problems
}

func (v *validator) problem(r *Rule, pos declcfg.Pos, m *declcfg.Meta, ptr jsontext.Pointer, msg string) *Problem {
	p := &Problem{Rule: r.Name, Severity: r.Severity, Pos: pos, Message: msg, Fix: r.Fix}
	if v.opts.Strict {
		p.Severity = Error
	}
	if m != nil {
		p.Package = m.Owner()
		p.Path = pathTo(m, ptr)
	}
	return p
}

// pathTo writes the way to the value at ptr: package "p": channel "c": entries[2].
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
