package resolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A requirement is a condition that a bundle sets on another bundle.
type requirement interface {
	// String returns the text that OLM writes after "requires an operator".
	String() string

	// satisfiedBy reports whether an entry satisfies the requirement.
	satisfiedBy(ctx context.Context, e *entry) (bool, error)

	// possibleProviders returns the entries of a listing that may satisfy the requirement.
	possibleProviders(l *listing) []*entry
}

type requiredGVK declcfg.GVK

func (r requiredGVK) String() string {
	return fmt.Sprintf("providing an API with group: %s, version: %s, kind: %s", r.Group, r.Version, r.Kind)
}

func (r requiredGVK) satisfiedBy(_ context.Context, e *entry) (bool, error) {
	return slices.Contains(e.gvks, declcfg.GVK(r)), nil
}
func (r requiredGVK) possibleProviders(l *listing) []*entry { return l.byGVK[declcfg.GVK(r)] }

type requiredLabel string

func (r requiredLabel) String() string { return "with label: " + string(r) }
func (r requiredLabel) satisfiedBy(_ context.Context, e *entry) (bool, error) {
	return slices.Contains(e.labels, string(r)), nil
}
func (r requiredLabel) possibleProviders(l *listing) []*entry { return l.byLabel[string(r)] }

type requiredPackage struct {
	declcfg.PackageRequired
	versions graph.Range
}

func (r *requiredPackage) String() string {
	return "with package: " + r.PackageName + " and with version in range: " + r.VersionRange
}

func (r *requiredPackage) satisfiedBy(_ context.Context, e *entry) (bool, error) {
	if !e.of(r.PackageName) {
		return false, nil
	}
	for _, p := range e.packages {
		if p.version != nil && r.versions.Contains(*p.version) {
			return true, nil
		}
	}
	return e.version != nil && r.versions.Contains(*e.version), nil
}

func (r *requiredPackage) possibleProviders(l *listing) []*entry { return l.byPackage[r.PackageName] }

// requiredAll is satisfied by an entry that satisfies all terms.
type requiredAll []requirement

func (r requiredAll) String() string { return join(r, " and ") }

func (r requiredAll) satisfiedBy(ctx context.Context, e *entry) (bool, error) {
	for _, term := range r {
		if ok, err := term.satisfiedBy(ctx, e); !ok {
			return false, err
		}
	}
	return true, nil
}

func (r requiredAll) possibleProviders(l *listing) []*entry {
	fewest := l.entries
	for _, term := range r {
		if some := term.possibleProviders(l); len(some) < len(fewest) {
			fewest = some
		}
	}
	return fewest
}

// requiredAny is satisfied by an entry that satisfies any term.
type requiredAny []requirement

func (r requiredAny) String() string { return join(r, " or ") }

func (r requiredAny) satisfiedBy(ctx context.Context, e *entry) (bool, error) {
	for _, term := range r {
		if ok, err := term.satisfiedBy(ctx, e); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (r requiredAny) possibleProviders(l *listing) []*entry { return l.entries }

// requiredNot is satisfied by an entry that satisfies no term.
type requiredNot struct{ requiredAny }

func (r requiredNot) String() string { return join(r.requiredAny, " and not ") } // like OLM, no leading "not"

func (r requiredNot) satisfiedBy(ctx context.Context, e *entry) (bool, error) {
	ok, err := r.requiredAny.satisfiedBy(ctx, e)
	return !ok && err == nil, err
}

func join(terms []requirement, separator string) string {
	words := make([]string, len(terms))
	for i, term := range terms {
		words[i] = term.String()
	}
	return strings.Join(words, separator)
}

type requiredCEL struct {
	program       *constraint.Program
	rule, message string
	known         map[*bundle]bool
}

func (r *requiredCEL) String() string {
	return fmt.Sprintf("with constraint: %q and message: %q", r.rule, r.message)
}

func (r *requiredCEL) satisfiedBy(ctx context.Context, e *entry) (bool, error) {
	ok, known := r.known[e.bundle]
	if known {
		return ok, nil
	}
	properties := make([]map[string]any, len(e.properties))
	for i, p := range e.properties {
		var v any
		if p.Unmarshal(&v) == nil {
			properties[i] = map[string]any{"type": p.Type, "value": v}
		}
	}
	ok, err := r.program.Holds(ctx, properties)
	if errors.Is(err, ErrEvaluations) {
		return false, err
	}
	if err != nil {
		return false, fmt.Errorf("evaluate the rule %q for %s: %w", r.rule, e.id(), err)
	}
	r.known[e.bundle] = ok
	return ok, nil
}

func (r *requiredCEL) possibleProviders(l *listing) []*entry { return l.entries }

// A requirementReader decodes requirements from properties.
type requirementReader struct {
	compiler *constraint.Compiler
	known    map[string]*readRequirement // by type and value
}

func newRequirementReader() requirementReader {
	return requirementReader{constraint.NewCompiler(), map[string]*readRequirement{}}
}

// A readRequirement is the requirement of a property, with its candidates. The candidates in catalogs, unlike those in
// the installed operators, are the same for other questions.
type readRequirement struct {
	requirement
	err        error
	candidates map[*Catalog]candidates
}

type candidates struct {
	entries []*entry
	err     error
}

// propertyKey identifies a property by type and value.
func propertyKey(p *declcfg.Property) string { return p.Type + "\x00" + string(p.Value) }

// read returns the requirement of a property, or nil if the property is not a requirement. The error has the words of
// OLM.
func (r *requirementReader) read(p *declcfg.Property) (*readRequirement, error) {
	parse := requirementParsers[p.Type]
	if parse == nil {
		return nil, nil
	}
	key := propertyKey(p)
	known := r.known[key]
	if known == nil {
		required, err := parse(r, p.Value)
		known = &readRequirement{required, err, map[*Catalog]candidates{}}
		r.known[key] = known
	}
	return known, known.err
}

var requirementParsers = map[string]func(r *requirementReader, value []byte) (requirement, error){
	declcfg.PropertyGVKRequired: func(_ *requirementReader, value []byte) (requirement, error) {
		var gvk requiredGVK
		err := json.Unmarshal(value, &gvk)
		return gvk, err
	},
	declcfg.PropertyPackageRequired: func(_ *requirementReader, value []byte) (requirement, error) {
		var p declcfg.PackageRequired
		if err := json.Unmarshal(value, &p); err != nil {
			return nil, err
		}
		return newRequiredPackage(p)
	},
	"olm.label.required": func(_ *requirementReader, value []byte) (requirement, error) {
		var l label
		err := json.Unmarshal(value, &l)
		return requiredLabel(l.Label), err
	},
	declcfg.PropertyConstraint: func(r *requirementReader, value []byte) (requirement, error) {
		c, err := constraint.Parse(value)
		if err != nil {
			return nil, fmt.Errorf("parse olm.constraint: %w", err)
		}
		required, err := r.term(c)
		if err != nil {
			return nil, fmt.Errorf("convert olm.constraint to resolver predicate: %w", err)
		}
		return required, nil
	},
}

func newRequiredPackage(p declcfg.PackageRequired) (requirement, error) {
	versions, err := graph.ParseRange(p.VersionRange)
	if err != nil {
		return nil, err
	}
	return &requiredPackage{p, versions}, nil
}

// term returns the requirement of a constraint or of one of its terms.
func (r *requirementReader) term(c *constraint.Constraint) (requirement, error) {
	switch {
	case c.GVK != nil:
		return requiredGVK(*c.GVK), nil
	case c.Package != nil:
		return newRequiredPackage(*c.Package)
	case c.All != nil:
		terms, err := r.terms(c.All)
		return requiredAll(terms), err
	case c.Any != nil:
		terms, err := r.terms(c.Any)
		return requiredAny(terms), err
	case c.Not != nil:
		terms, err := r.terms(c.Not)
		return requiredNot{terms}, err
	case c.CEL != nil:
		program, err := r.compiler.Program(c.CEL.Rule)
		return &requiredCEL{program, c.CEL.Rule, c.FailureMessage, map[*bundle]bool{}}, err
	}
	return nil, errors.New("constraint is empty")
}

func (r *requirementReader) terms(t *constraint.Terms) ([]requirement, error) {
	var terms []requirement
	for i := range t.Constraints {
		term, err := r.term(&t.Constraints[i])
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	return terms, nil
}
