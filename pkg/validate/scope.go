package validate

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/schemas"
)

// A validator is what all checks share. It may be used by several goroutines.
type validator struct {
	opts     Options
	off      map[string]bool // rules that are not checked
	alone    map[string]bool // rules of Options.Alone
	unplaced map[string]bool // rules of Options.Unplaced
	checkers *pool.Pool[*objectChecker]
}

func newValidator(opts Options) (*validator, error) {
	v := &validator{opts: opts, off: set(opts.Disable), alone: set(opts.Alone), unplaced: set(opts.Unplaced)}
	for _, r := range Rules().All() {
		if opts.ErrorsOnly && r.Severity != problem.Error {
			v.off[r.Name] = true
		}
	}
	first, err := v.newChecker()
	if err != nil {
		return nil, err
	}
	v.checkers = pool.New(runtime.GOMAXPROCS(0), func() *objectChecker {
		c, err := v.newChecker()
		if err != nil { // the same files compiled before
			panic(err)
		}
		return c
	}, func(c *objectChecker) (*objectChecker, bool) { return c, true })
	v.checkers.Put(first)
	return v, nil
}

// An objectChecker is what one goroutine at a time checks objects with. It remembers much of what it has seen.
type objectChecker struct {
	*schemas.Checker
	images images
}

func (v *validator) newChecker() (*objectChecker, error) {
	if !v.shapes() {
		return &objectChecker{Checker: new(schemas.Checker)}, nil
	}
	c, err := schemas.NewChecker(v.opts.Schemas...)
	return &objectChecker{Checker: c}, err
}

func set(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// shapes reports whether CUE has anything to check.
func (v *validator) shapes() bool {
	return !v.off["schema"] || !v.off["constraint"] || !v.off["max-openshift-version"] || len(v.opts.Schemas) > 0
}

// A scope collects what is wrong with one object.
type scope struct {
	v       *validator
	meta    *declcfg.Meta
	text    placer         // the object while it is in memory, or else its meta
	checker *objectChecker // of the object while it is in memory
	found   []finding
	room    *int // how many more problems are collected; several scopes may share it
	broken  bool // a rule that is an error is broken, be it checked or not

	refused map[string]bool // properties whose values cannot be decoded, by index
	rules   []celRule       // to be checked once all objects before it were
}

// A placer finds values in the text of an object.
type placer interface {
	Places(ptrs []jsontext.Pointer) []declcfg.Pos
}

type finding struct {
	rule *problem.Rule
	ptr  jsontext.Pointer // into the object
	msg  string

	cause string   // see [problem.Problem]
	names []string // of the bundles that it is about, where the message may not have all; nil for what it quotes
	rules []string // that are broken as a consequence, and not reported
	ends  bool     // the message says where updates end
}

// add reports that the value at ptr breaks the rule of that name. Also where the rule is disabled the object is broken,
// because updates of a wrong package are not checked. It returns false where the rule is disabled.
func (s *scope) add(rule string, ptr jsontext.Pointer, format string, args ...any) bool {
	f := finding{rule: Rules().Of(rule), ptr: ptr}
	s.broken = s.broken || f.rule.Severity == problem.Error
	if s.v.off[rule] || *s.room == 0 {
		return false
	}
	*s.room--
	for i, arg := range args {
		if text, ok := arg.(string); ok { // one name may be in the messages of all that it contains
			args[i] = legible.Value(text)
		}
	}
	f.msg = fmt.Sprintf(format, args...)
	s.found = append(s.found, f)
	return true
}

// addAbout is add for a message that does not quote the names it is about.
func (s *scope) addAbout(names []string, rule string, ptr jsontext.Pointer, format string, args ...any) {
	if s.add(rule, ptr, format, args...) {
		s.found[len(s.found)-1].names = names
	}
}

// problems places what was found.
func (s *scope) problems() []*problem.Problem {
	if len(s.found) == 0 {
		return nil
	}
	ptrs := make([]jsontext.Pointer, len(s.found))
	for i, f := range s.found {
		if !s.v.unplaced[f.rule.Name] {
			ptrs[i] = f.ptr
		}
	}
	places := s.text.Places(ptrs)
	problems := make([]*problem.Problem, len(s.found))
	for i, f := range s.found {
		problems[i] = s.v.problem(f.rule, places[i], s.meta, f.ptr, f.msg)
		problems[i].Names, problems[i].Consequences, problems[i].Cause = f.names, f.rules, f.cause
	}
	return problems
}

// problem returns what is wrong with the value at ptr of m, which is nil where the object is not known.
func (v *validator) problem(
	r *problem.Rule, pos declcfg.Pos, m *declcfg.Meta, ptr jsontext.Pointer, msg string,
) *problem.Problem {
	p := &problem.Problem{Rule: r.Name, Severity: r.Severity, Pos: pos, Message: msg, Fix: r.Fix}
	p.Rejected = r.Severity == problem.Error && !strings.HasPrefix(r.Name, "policy-") && r.Name != "user-schema"
	if m != nil {
		p.Package = legible.Value(m.Owner())
		p.Path = pathTo(m, ptr)
		if m.Schema == declcfg.SchemaChannel {
			p.Channel = legible.Value(m.Name)
		}
	}
	return p
}

// pathTo writes the path of the value at ptr: package "p": channel "c": entries[2].
func pathTo(m *declcfg.Meta, ptr jsontext.Pointer) string {
	path := ""
	if owner := m.Owner(); owner != "" {
		path = fmt.Sprintf("package %q", legible.Value(owner))
	}
	add := func(format string, args ...any) {
		if path != "" {
			path += ": "
		}
		path += fmt.Sprintf(format, args...)
	}
	name := legible.Value(m.Name)
	switch m.Schema {
	case declcfg.SchemaPackage:
	case declcfg.SchemaChannel:
		add("channel %q", name)
	case declcfg.SchemaBundle:
		add("bundle %q", name)
	case declcfg.SchemaDeprecations:
		add("deprecations")
	default:
		add("%s %q", legible.Value(m.Schema), name)
	}
	if ptr != "" {
		add("%s", declcfg.Path(ptr))
	}
	return path
}
