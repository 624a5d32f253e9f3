package validate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/pool"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/schemas"
)

// A validator is the state that all checks share. Several goroutines may use it.
type validator struct {
	opts     Options
	off      map[string]bool // names of rules that are not checked
	alone    map[string]bool // update rules that are reported even if another problem is the cause
	unplaced map[string]bool // rules whose problems have the position of the object
	extra    *schemas.Extra  // of Options.Schemas
	checkers *pool.Pool[*objectChecker]
}

// An objectChecker checks objects on their own, for one goroutine at a time. It caches results, so it should be reused.
type objectChecker struct {
	*schemas.Checker
	images images
}

func (v *validator) newChecker() (*objectChecker, error) {
	if v.isOff(ruleSchema) && v.isOff(ruleConstraint) && v.isOff(ruleMaxOpenShiftVersion) && len(v.opts.Schemas) == 0 {
		return &objectChecker{Checker: new(schemas.Checker)}, nil // no enabled rule needs CUE
	}
	c, err := v.extra.NewChecker()
	return &objectChecker{Checker: c}, err
}

// isOff reports whether a rule is not checked.
func (v *validator) isOff(r *problem.Rule) bool { return v.off[r.Name] }

func set(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

type scope struct {
	v       *validator
	meta    *declcfg.Meta
	placer  placer         // finds positions: the object while it is in memory, otherwise its meta
	checker *objectChecker // checks the object while it is in memory, otherwise nil
	found   []finding
	room    *int // number of problems that can still be added; scopes may share it
	broken  bool // the object breaks a rule of severity error, even if that rule is disabled

	refused map[string]bool // indexes of properties whose values cannot be decoded
	rules   []celRule       // checked later, in catalog order
}

// A placer returns the positions of values in the text of an object.
type placer interface {
	Places(ptrs []jsontext.Pointer) []declcfg.Pos
}

type finding struct {
	rule *problem.Rule
	ptr  jsontext.Pointer // to the value in the object
	msg  string

	bundle string   // the bundle that another object names, and that the problem is about; otherwise ""
	cause  string   // see [problem.Problem]
	names  []string // bundles concerned, if the message may not quote them all; otherwise nil
	rules  []string // names of rules that are broken as a consequence, and not reported themselves
	root   bool     // see [problem.Problem]
	ends   bool     // the message already describes the end of updates
}

// add reports that the value at ptr breaks the rule. It returns the finding, for more facts about it before the next
// call, or nil if the problem is not added, because the rule is disabled or the limit is reached. Even if the rule is
// disabled, the object is marked as broken if the severity of the rule is error, because the updates of a package with
// errors are not checked.
func (s *scope) add(rule *problem.Rule, ptr jsontext.Pointer, format string, args ...any) *finding {
	s.broken = s.broken || rule.Severity == problem.Error
	if s.v.isOff(rule) || *s.room == 0 {
		return nil
	}
	*s.room--
	for i, arg := range args {
		if text, ok := arg.(string); ok { // one long name may be in many messages
			args[i] = legible.Value(text)
		}
	}
	s.found = append(s.found, finding{rule: rule, ptr: ptr, msg: fmt.Sprintf(format, args...)})
	return &s.found[len(s.found)-1]
}

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
	places := s.placer.Places(ptrs)
	problems := make([]*problem.Problem, len(s.found))
	for i, f := range s.found {
		problems[i] = s.v.problem(f.rule, places[i], s.meta, f.ptr, f.msg)
		problems[i].Names, problems[i].Consequences, problems[i].Cause = f.names, f.rules, f.cause
		problems[i].Root = f.root
		problems[i].Bundle = cmp.Or(problems[i].Bundle, legible.Value(f.bundle))
	}
	return problems
}

// problem returns a problem with the value at ptr of m; m is nil if the object is not known.
func (v *validator) problem(
	r *problem.Rule, pos declcfg.Pos, m *declcfg.Meta, ptr jsontext.Pointer, msg string,
) *problem.Problem {
	p := &problem.Problem{Rule: r.Name, Severity: r.Severity, Pos: pos, Message: msg, Fix: r.Fix}
	p.Rejected = r.Severity == problem.Error && r != ruleUserSchema && !slices.Contains(policyRules.Rules, r)
	if m != nil {
		p.Package = legible.Value(m.Owner())
		p.Path = pathTo(m, ptr)
		if m.Schema == declcfg.SchemaChannel {
			p.Channel = legible.Value(m.Name)
		}
		if m.Schema == declcfg.SchemaBundle {
			p.Bundle = legible.Value(m.Name)
		}
	}
	return p
}

// pathTo returns the path of the value at ptr, such as: package "p": channel "c": entries[2].
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
		add("%s", place.Path(ptr))
	}
	return path
}
