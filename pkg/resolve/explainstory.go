package resolve

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve/internal/solver"
)

// A story explains constraints that contradict each other as a tree: from a Subscription or a bundle to its candidates,
// their requirements, the candidates for these, and so on, to the constraints that exclude each of them.
type story struct {
	*explainer
	constraints []solver.Constraint
	core        []int
	told        map[int]bool // the explained constraints
}

func (x *explainer) story(constraints []solver.Constraint, core []int) *story {
	return &story{x, constraints, core, map[int]bool{}}
}

// tell explains the core, starting at its first Subscription, or else at its first operator that must stay.
func (s *story) tell() []*Reason {
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
	s.told[first] = true
	root := s.constraints[first].Subject
	if s.subscription(root) != nil {
		return s.each([]int{root})
	}
	return s.reasons([]clue{s.mandatory(first, s.each([]int{root})...)}, nil)
}

// each explains why none of the variables can be chosen.
func (s *story) each(variables []int) []*Reason { return s.reasons(s.clues(variables, nil), variables) }

// clues returns why variables cannot be chosen, ignoring the constraints in without.
func (s *story) clues(variables []int, without map[int]bool) []clue {
	var told []clue
	for _, i := range s.core {
		c := s.constraints[i]
		switch {
		case without[i]:
		case c.Kind == solver.AtMostOne:
			told = append(told, s.unique(i, variables)...)
		case c.Kind == solver.Mandatory:
		case slices.Contains(variables, c.Subject):
			told = append(told, s.subject(i))
		case c.Kind == solver.Conflict && slices.Contains(variables, c.Others[0]):
			s.told[i] = true
			told = append(told, clue{
				who: c.Others, kind: FactUpdate, what: "is updated by " + s.name(c.Subject),
				because: s.needed([]int{c.Subject}),
			})
		}
	}
	return told
}

// A clue is a reason why variables cannot be chosen, or must be chosen.
type clue struct {
	who     []int
	kind    FactKind
	what    string
	place   func(v int) place
	because []*Reason
}

// subject explains why the subject of a constraint cannot be chosen.
func (s *story) subject(i int) clue {
	c := s.constraints[i]
	switch c.Kind {
	case solver.Prohibited:
		s.told[i] = true
		what := "has the property " + declcfg.PropertyDeprecated
		return clue{who: []int{c.Subject}, kind: FactDeprecated, what: what, place: s.place(i)}
	case solver.Conflict:
		s.told[i] = true
		what := "updates " + s.name(c.Others[0]) + ", which has to stay"
		return clue{who: []int{c.Subject}, kind: FactUpdate, what: what, place: s.place(i), because: s.needed(c.Others)}
	}
	told := s.dependency(i)
	switch {
	case s.told[i] && len(c.Others) > 0:
		told.what += ", see above"
	case len(c.Others) > 0:
		s.told[i] = true
		told.because = s.each(c.Others)
	case s.subscription(c.Subject) == nil:
		told.what += s.q.missing(s.origins[i].dependency.requirement)
	}
	s.told[i] = true
	return told
}

// dependency describes the demand of a Dependency.
func (s *story) dependency(i int) clue {
	c := s.constraints[i]
	told := clue{who: []int{c.Subject}, kind: FactCandidates, place: s.place(i)}
	r := s.subscription(c.Subject)
	switch {
	case r == nil:
		told.kind, told.what = FactRequirement, "requires "+wants(s.origins[i].dependency.requirement)
	case len(c.Others) == 0:
		where := strings.TrimPrefix(r.none, "no operators found")
		where = strings.TrimSuffix(where, " of subscription "+r.Name)
		told.what = "finds no operators" + strings.TrimSuffix(where, " referenced by subscription "+r.Name)
	case len(c.Others) == 1:
		told.what = "needs " + s.name(c.Others[0])
	default:
		told.what = "needs " + some(s.namesOf(c.Others), "or")
	}
	return told
}

// unique explains which of the variables are excluded because another one must be chosen, and only one of them can be.
func (s *story) unique(i int, variables []int) []clue {
	members := s.constraints[i].Others
	var who []int
	for _, v := range variables {
		if slices.Contains(members, v) {
			who = append(who, v)
		}
	}
	if who == nil {
		return nil
	}
	s.told[i] = true
	f := s.fact(i)
	told := clue{who: who, kind: f.Kind, place: s.shared(f)}
	what, too := "provides "+f.Subject, ", as does "
	if f.Kind == FactOneBundle {
		what, too = "is of package "+f.Subject, ", as is "
	}
	others := s.demanded(members, who)
	switch {
	case len(others) > 0:
		told.what = what + too + some(s.namesOf(others), "or")
	case isRepeated(members, who[0]):
		told.what = what + " twice"
	default:
		told.what = what + ", of which there can be only one"
	}
	told.because = s.needed(members)
	return []clue{told}
}

func isRepeated(members []int, v int) bool {
	return slices.Contains(members[slices.Index(members, v)+1:], v)
}

// demanded returns the members that a constraint demands, without the ones in who.
func (s *story) demanded(members, who []int) []int {
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
			if slices.Contains(members, v) && !slices.Contains(who, v) && !slices.Contains(demanded, v) {
				demanded = append(demanded, v)
			}
		}
	}
	return demanded
}

// needed explains why one of the variables must be chosen, unless it is already explained.
func (s *story) needed(variables []int) []*Reason {
	var told []clue
	for _, i := range s.core {
		c := s.constraints[i]
		has := func(v int) bool { return slices.Contains(variables, v) }
		switch {
		case s.told[i]:
		case c.Kind == solver.Mandatory && has(c.Subject) && s.subscription(c.Subject) == nil:
			s.told[i] = true
			told = append(told, s.mandatory(i))
		case c.Kind == solver.Dependency && slices.ContainsFunc(c.Others, has):
			told = append(told, s.demand(i, has))
		}
	}
	return s.reasons(told, nil)
}

// mandatory explains that a variable must be chosen.
func (s *story) mandatory(i int, because ...*Reason) clue {
	told := clue{who: []int{s.constraints[i].Subject}, because: because}
	if i >= len(s.Constraints) {
		told.kind, told.what = FactChosen, "was chosen first"
		return told
	}
	told.kind, told.what, told.place = FactInstalled, "has no Subscription, so it has to stay", s.place(i)
	return told
}

// demand explains that a constraint demands one of some variables, why its other candidates cannot be chosen, and why
// its subject must be chosen.
func (s *story) demand(i int, has func(int) bool) clue {
	s.told[i] = true
	told := s.dependency(i)
	var those, others []int
	for _, v := range s.constraints[i].Others {
		if has(v) {
			those = append(those, v)
		} else {
			others = append(others, v)
		}
	}
	told.because = slices.Concat(s.each(others), s.reasons(s.clues(those, s.told), those), s.needed(told.who))
	return told
}

// reasons turns clues into reasons, in the order of variables. Clues with the same text are merged into one reason.
func (s *story) reasons(told []clue, variables []int) []*Reason {
	slices.SortStableFunc(told, func(a, b clue) int {
		return cmp.Compare(slices.Index(variables, a.who[0]), slices.Index(variables, b.who[0]))
	})
	var reasons []*Reason
	for _, c := range told {
		r := &Reason{Kind: c.kind, Because: c.because, names: s.namesOf(c.who), what: c.what}
		for _, v := range c.who {
			r.Subjects = append(r.Subjects, s.identifier(v))
			if c.place != nil && len(r.Places) < maxListed {
				r.Places = append(r.Places, known(c.place(v).find())...)
			}
		}
		reasons = addReason(reasons, r)
	}
	return reasons
}

// known returns the places that are in a file.
func known(places ...declcfg.Pos) []declcfg.Pos {
	return slices.DeleteFunc(places, func(p declcfg.Pos) bool { return p.File == "" })
}

// addReason adds a reason, or merges it with the last one if both say the same.
func addReason(reasons []*Reason, r *Reason) []*Reason {
	if n := len(reasons); n > 0 && reasons[n-1].what == r.what && reflect.DeepEqual(reasons[n-1].Because, r.Because) {
		last := *reasons[n-1]
		last.names = slices.Concat(last.names, r.names)
		last.Subjects = slices.Concat(last.Subjects, r.Subjects)
		last.Places = slices.Concat(last.Places, r.Places)
		last.Places = last.Places[:min(len(last.Places), maxListed)]
		r, reasons = &last, reasons[:n-1]
	}
	r.Text = some(r.names, "and") + " " + r.says()
	return append(reasons, r)
}

// says returns the predicate of the reason: for several bundles, "is deprecated" becomes "are deprecated".
func (r *Reason) says() string {
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
func (s *story) place(i int) func(v int) place {
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

// shared returns the place of the property that only one of the candidates of a fact may have.
func (s *story) shared(f Fact) func(v int) place {
	says := func(p Property) bool {
		var gvk declcfg.GVK
		var pkg declcfg.PackageProperty
		switch p.Type {
		case declcfg.PropertyGVK:
			return p.Unmarshal(&gvk) == nil && nameGVK(gvk) == f.Subject
		case declcfg.PropertyPackage:
			return p.Unmarshal(&pkg) == nil && pkg.PackageName == f.Subject
		}
		return false
	}
	return func(v int) place { return s.variables[v].entry.placeOf(says) }
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
