package resolve

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A conflict is a set of constraints that contradict each other. It is explained as a tree: from a Subscription or a
// bundle to its candidates, their requirements, the candidates for these, and so on, to the constraints that exclude
// each of them.
type conflict struct {
	*explainer
	constraints []solver.Constraint
	core        []int        // indexes of the constraints that contradict each other
	explained   map[int]bool // the constraints of the core that have a reason
}

func (x *explainer) conflict(constraints []solver.Constraint, core []int) *conflict {
	return &conflict{x, constraints, core, map[int]bool{}}
}

// reasons explains the core, starting at its first Subscription, or else at its first operator that must stay.
func (s *conflict) reasons() []*Reason {
	first := -1
	for _, i := range s.core {
		c := s.constraints[i]
		if c.Kind != solver.Mandatory {
			continue
		}
		if first < 0 || s.subscription(s.constraints[first].Subject) == nil && s.subscription(c.Subject) != nil {
			first = i
		}
	}
	s.explained[first] = true
	root := s.constraints[first].Subject
	because := s.whyNot([]int{root})
	if s.subscription(root) != nil {
		return because
	}
	r := s.mandatory(first)
	r.Because = because
	return merge([]*Reason{r}, nil)
}

// whyNot explains why none of the variables can be chosen.
func (s *conflict) whyNot(variables []int) []*Reason {
	return merge(s.exclusions(variables, nil), variables)
}

// exclusions returns the reasons why variables cannot be chosen, ignoring the constraints in without.
func (s *conflict) exclusions(variables []int, without map[int]bool) []*Reason {
	var reasons []*Reason
	for _, i := range s.core {
		c := s.constraints[i]
		switch {
		case without[i]:
		case c.Kind == solver.AtMostOne:
			if r := s.unique(i, variables); r != nil {
				reasons = append(reasons, r)
			}
		case c.Kind == solver.Mandatory:
		case slices.Contains(variables, c.Subject):
			reasons = append(reasons, s.exclusion(i))
		case c.Kind == solver.Conflict && slices.Contains(variables, c.Others[0]):
			s.explained[i] = true
			r := s.reason(FactUpdate, c.Others, "is updated by "+s.name(c.Subject), nil)
			r.Because = s.whyChosen([]int{c.Subject})
			reasons = append(reasons, r)
		}
	}
	return reasons
}

// reason returns a reason why variables cannot be chosen, or must be chosen. If at is nil, it has no places.
func (s *conflict) reason(kind FactKind, variables []int, what string, at func(v int) place) *Reason {
	r := &Reason{Kind: kind, variables: variables, names: s.namesOf(variables), what: what}
	for _, v := range variables {
		r.Subjects = append(r.Subjects, s.identifier(v))
		if at != nil && len(r.Places) < maxListed {
			r.Places = append(r.Places, known(at(v).find())...)
		}
	}
	return r
}

// exclusion explains why the subject of a constraint cannot be chosen.
func (s *conflict) exclusion(i int) *Reason {
	c := s.constraints[i]
	before := s.explained[i]
	s.explained[i] = true
	switch c.Kind {
	case solver.Prohibited:
		return s.reason(FactDeprecated, []int{c.Subject}, "has the property "+declcfg.PropertyDeprecated, s.place(i))
	case solver.Conflict:
		what := "updates " + s.name(c.Others[0]) + ", which has to stay"
		r := s.reason(FactUpdate, []int{c.Subject}, what, s.place(i))
		r.Because = s.whyChosen(c.Others)
		return r
	}
	r := s.dependency(i)
	switch {
	case before && len(c.Others) > 0:
		r.what += ", see above"
	case len(c.Others) > 0:
		r.Because = s.whyNot(c.Others)
	case s.subscription(c.Subject) == nil:
		r.what += s.q.missing(s.origins[i].dependency.requirement)
	}
	return r
}

// dependency describes a Dependency constraint.
func (s *conflict) dependency(i int) *Reason {
	c, kind := s.constraints[i], FactCandidates
	var what string
	sub := s.subscription(c.Subject)
	switch {
	case sub == nil:
		kind, what = FactRequirement, "requires "+requirementText(s.origins[i].dependency.requirement)
	case len(c.Others) == 0:
		in := strings.TrimPrefix(sub.none, "no operators found")
		in = strings.TrimSuffix(in, " of subscription "+sub.Name)
		what = "finds no operators" + strings.TrimSuffix(in, " referenced by subscription "+sub.Name)
		if s.q.hidden(sub.Subscription) != nil {
			what += ": the CatalogSource exists, but " + s.q.visibility()
		}
	case len(c.Others) == 1:
		what = "needs " + s.name(c.Others[0])
	default:
		what = "needs " + firstNames(s.namesOf(c.Others), "or")
	}
	return s.reason(kind, []int{c.Subject}, what, s.place(i))
}

// visibility says why the namespace cannot see a catalog of another namespace.
func (q *question) visibility() string {
	text := "namespace " + q.Name + " cannot see it, only its own CatalogSources"
	switch {
	case q.ExcludesGlobal:
		return text + ", because its OperatorGroup excludes the global ones"
	case q.Global == "":
		return text
	}
	return text + " and those of the global namespace " + q.Global
}

// unique explains which of the variables are excluded because another one must be chosen, and only one of them can be.
// It returns nil if there are none.
func (s *conflict) unique(i int, variables []int) *Reason {
	members, from := s.constraints[i].Others, s.origins[i]
	var excluded []int
	for _, v := range variables {
		if slices.Contains(members, v) {
			excluded = append(excluded, v)
		}
	}
	if excluded == nil {
		return nil
	}
	s.explained[i] = true
	what, too := "provides "+from.shared, ", as does "
	if from.kind == FactOneBundle {
		what, too = "is of package "+from.shared, ", as is "
	}
	var demanded []int
	for _, i := range s.core {
		c := s.constraints[i]
		vs := c.Others
		if c.Kind == solver.Mandatory {
			vs = []int{c.Subject}
		} else if c.Kind != solver.Dependency {
			continue
		}
		for _, v := range vs {
			if slices.Contains(members, v) && !slices.Contains(excluded, v) && !slices.Contains(demanded, v) {
				demanded = append(demanded, v)
			}
		}
	}
	switch {
	case len(demanded) > 0:
		what += too + firstNames(s.namesOf(demanded), "or")
	case slices.Contains(members[slices.Index(members, excluded[0])+1:], excluded[0]):
		what += " twice"
	default:
		what += ", of which there can be only one"
	}
	r := s.reason(from.kind, excluded, what, s.shared(from.shared))
	r.Because = s.whyChosen(members)
	return r
}

// whyChosen explains why one of the variables must be chosen, unless it is already explained: why a bundle or a
// Subscription requires one of them, why its other candidates cannot be chosen, and why it must be chosen itself.
func (s *conflict) whyChosen(variables []int) []*Reason {
	var reasons []*Reason
	isOne := func(v int) bool { return slices.Contains(variables, v) }
	for _, i := range s.core {
		c := s.constraints[i]
		switch {
		case s.explained[i]:
		case c.Kind == solver.Mandatory && isOne(c.Subject) && s.subscription(c.Subject) == nil:
			s.explained[i] = true
			reasons = append(reasons, s.mandatory(i))
		case c.Kind == solver.Dependency && slices.ContainsFunc(c.Others, isOne):
			s.explained[i] = true
			some := slices.DeleteFunc(slices.Clone(c.Others), func(v int) bool { return !isOne(v) })
			others := slices.DeleteFunc(slices.Clone(c.Others), isOne)
			r := s.dependency(i)
			r.Because = slices.Concat(
				s.whyNot(others), merge(s.exclusions(some, s.explained), some), s.whyChosen([]int{c.Subject}))
			reasons = append(reasons, r)
		}
	}
	return merge(reasons, nil)
}

// mandatory explains that the subject of a constraint must be chosen.
func (s *conflict) mandatory(i int) *Reason {
	variables := []int{s.constraints[i].Subject}
	if i >= len(s.Constraints) {
		return s.reason(FactChosen, variables, "was chosen first", nil)
	}
	return s.reason(FactInstalled, variables, "has no Subscription, so it has to stay", s.place(i))
}

// merge sorts reasons in the order of variables. Adjacent reasons with the same text become one reason.
func merge(reasons []*Reason, variables []int) []*Reason {
	slices.SortStableFunc(reasons, func(a, b *Reason) int {
		return cmp.Compare(slices.Index(variables, a.variables[0]), slices.Index(variables, b.variables[0]))
	})
	var merged []*Reason
	for _, r := range reasons {
		merged = addReason(merged, r)
	}
	return merged
}

// known returns the positions that are in a file.
func known(places ...declcfg.Pos) []declcfg.Pos {
	return slices.DeleteFunc(places, func(p declcfg.Pos) bool { return p.File == "" })
}

// addReason adds a reason, or merges it with the last one if both say the same.
func addReason(reasons []*Reason, r *Reason) []*Reason {
	if n := len(reasons); n > 0 && reasons[n-1].what == r.what && sameReasons(reasons[n-1].Because, r.Because) {
		last := *reasons[n-1]
		last.names = slices.Concat(last.names, r.names)
		last.Subjects = slices.Concat(last.Subjects, r.Subjects)
		last.Places = slices.Concat(last.Places, r.Places)
		last.Places = last.Places[:min(len(last.Places), maxListed)]
		r, reasons = &last, reasons[:n-1]
	}
	r.Text = firstNames(r.names, "and") + " " + r.predicate()
	return append(reasons, r)
}

func sameReasons(a, b []*Reason) bool {
	return slices.EqualFunc(a, b, func(a, b *Reason) bool {
		return a.Kind == b.Kind && a.Text == b.Text && slices.Equal(a.Subjects, b.Subjects) &&
			slices.Equal(a.Places, b.Places) && sameReasons(a.Because, b.Because)
	})
}

// predicate returns the predicate of the reason: for several bundles, "is deprecated" becomes "are deprecated".
func (r *Reason) predicate() string {
	if len(r.names) == 1 {
		return r.what
	}
	verb, rest, _ := strings.Cut(r.what, " ")
	switch verb {
	case "is":
		verb = "are"
	case "has":
		verb = "have"
	case "does":
		verb = "do"
	default:
		verb = strings.TrimSuffix(verb, "s")
	}
	return verb + " " + rest
}

// place returns the place at which a constraint is defined for a variable.
func (s *conflict) place(i int) func(v int) place {
	return func(v int) place {
		if r := s.subscription(v); r != nil {
			return place{pos: r.Pos}
		}
		e := s.variables[v].entry
		switch s.constraints[i].Kind {
		case solver.Dependency:
			return e.propertyPlace(s.origins[i].dependency.property)
		case solver.Conflict:
			return e.edgePlace()
		case solver.Prohibited:
			return e.placeOf(func(p Property) bool { return p.Type == declcfg.PropertyDeprecated })
		}
		return e.bundle.place()
	}
}

// shared returns the place of the property of a bundle that has a package or an API in common with others.
func (s *conflict) shared(name string) func(v int) place {
	isIt := func(p Property) bool {
		var gvk declcfg.GVK
		var pkg declcfg.PackageProperty
		switch p.Type {
		case declcfg.PropertyGVK:
			return p.Unmarshal(&gvk) == nil && nameGVK(gvk) == name
		case declcfg.PropertyPackage:
			return p.Unmarshal(&pkg) == nil && pkg.PackageName == name
		}
		return false
	}
	return func(v int) place { return s.variables[v].entry.placeOf(isIt) }
}

// placeOf returns the place of the first matching property, or else of the bundle.
func (b *bundle) placeOf(isIt func(Property) bool) place {
	if i := slices.IndexFunc(b.properties, isIt); i >= 0 {
		return b.propertyPlace(i)
	}
	return b.place()
}

// edgePlace returns the place of the entry in its channel.
func (e *entry) edgePlace() place {
	p := e.channel.place()
	for _, o := range e.catalog.Index.Package(e.pkg).Channels {
		if o.Meta == e.channel.meta {
			i := slices.IndexFunc(o.Value.Entries, func(other declcfg.Entry) bool { return other.Name == e.bundle.name })
			p.pointer = jsontext.Pointer("/entries/" + strconv.Itoa(i))
		}
	}
	return p
}
