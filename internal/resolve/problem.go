package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/resolve/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A problem is a question in the form of the solver. Its variables are the entries, followed by the Subscriptions.
type problem struct {
	solver.Problem
	q         *question
	variables []*variable    // sorted by identifier
	number    map[*entry]int // the index of each entry in variables
	origins   []origin       // of the constraints
	anchors   int            // index of the first Mandatory constraint; the rest are Mandatory too

	chosen []int // the solution
	other  []int // the solution for the anchors in reverse order; nil if it is the same or not known
	core   []int // the constraints that contradict each other if there is no solution
}

// An origin is the origin of a constraint in the question.
type origin struct {
	kind       FactKind
	dependency *dependency // of a FactRequirement
	shared     string      // the package of a FactOneBundle, the API of a FactOneProvider
}

// problem returns the constraints on the variables. The last constraints are the anchors, the variables that must be in
// every solution: installed operators without a Subscription, and Subscriptions. OLM uses a random order, here they are
// sorted.
func (q *question) problem() *problem {
	p := &problem{q: q, number: make(map[*entry]int, len(q.variables))}
	p.variables = slices.Collect(maps.Values(q.variables))
	slices.SortFunc(p.variables, func(a, b *variable) int {
		return cmp.Or(cmp.Compare(a.identifier, b.identifier), cmp.Compare(a.pkg, b.pkg))
	})
	for i, v := range p.variables {
		p.number[v.entry] = i
	}
	p.Variables = len(p.variables) + len(q.subscriptions)
	p.addUnique()
	for i, v := range p.variables {
		if v.deprecated {
			p.add(solver.Prohibited, i, nil, origin{kind: FactDeprecated})
		}
		for j := range v.dependencies {
			d := &v.dependencies[j]
			p.add(solver.Dependency, i, p.numbers(d.candidates), origin{kind: FactRequirement, dependency: d})
		}
		for _, e := range v.updates {
			p.add(solver.Conflict, i, []int{p.number[e]}, origin{kind: FactUpdate})
		}
	}
	subscribed := map[string]bool{}
	for i, s := range q.subscriptions {
		p.add(solver.Dependency, len(p.variables)+i, p.numbers(s.candidates), origin{kind: FactCandidates})
		subscribed[s.InstalledCSV] = true
	}
	p.anchors = len(p.Constraints)
	for i, v := range p.variables {
		if in := v.bundle.installed; in != nil && !subscribed[in.Name] {
			p.add(solver.Mandatory, i, nil, origin{kind: FactInstalled})
		}
	}
	for i := range q.subscriptions {
		p.add(solver.Mandatory, len(p.variables)+i, nil, origin{kind: FactSubscription})
	}
	return p
}

func (p *problem) add(kind solver.Kind, subject int, others []int, from origin) {
	p.Constraints = append(p.Constraints, solver.Constraint{Kind: kind, Subject: subject, Others: others})
	p.origins = append(p.origins, from)
}

// addUnique adds the constraints for at most one operator per package and one provider per API. A bundle that lists an
// API twice cannot be chosen.
func (p *problem) addUnique() {
	gvks, packages := map[declcfg.GVK][]int{}, map[string][]int{}
	for i, v := range p.variables {
		for _, gvk := range v.gvks {
			gvks[gvk] = append(gvks[gvk], i)
		}
		for _, pkg := range v.packages {
			packages[pkg.name] = append(packages[pkg.name], i)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		if bundles := packages[pkg]; len(bundles) > 1 {
			p.add(solver.AtMostOne, -1, bundles, origin{kind: FactOneBundle, shared: pkg})
		}
	}
	for _, gvk := range sortedGVKs(gvks) {
		providers := gvks[gvk]
		// The bundles of a package already have the same constraint, and OLM then names the package.
		isSame := func(pkg packageVersion) bool { return slices.Equal(providers, packages[pkg.name]) }
		if len(providers) > 1 && !slices.ContainsFunc(p.variables[providers[0]].packages, isSame) {
			p.add(solver.AtMostOne, -1, providers, origin{kind: FactOneProvider, shared: nameGVK(gvk)})
		}
	}
}

// nameGVK formats an API like OLM.
func nameGVK(gvk declcfg.GVK) string { return gvk.Kind + " (" + gvk.Group + "/" + gvk.Version + ")" }

func (p *problem) numbers(entries []*entry) []int {
	numbers := make([]int, len(entries))
	for i, e := range entries {
		numbers[i] = p.number[e]
	}
	return numbers
}

// subscription returns the Subscription of a variable, nil if the variable is a bundle.
func (p *problem) subscription(v int) *subscription {
	if v < len(p.variables) {
		return nil
	}
	return p.q.subscriptions[v-len(p.variables)]
}

// identifier returns the identifier of a bundle or the name of a Subscription.
func (p *problem) identifier(v int) string {
	if s := p.subscription(v); s != nil {
		return s.Name
	}
	return p.variables[v].identifier
}

// fact returns the fact of a constraint.
func (p *problem) fact(i int) Fact {
	c, from := p.Constraints[i], p.origins[i]
	f := Fact{Kind: from.kind, Subject: from.shared}
	for _, v := range c.Others {
		f.Candidates = append(f.Candidates, p.identifier(v))
	}
	if c.Kind == solver.AtMostOne {
		for _, v := range c.Others {
			f.Places = append(f.Places, p.variables[v].bundle.place().find())
		}
		are := map[FactKind]string{FactOneBundle: " originate from package ", FactOneProvider: " provide "}[from.kind]
		f.Message = list(f.Candidates, "and") + are + from.shared
		return f
	}
	f.Subject = p.identifier(c.Subject)
	if s := p.subscription(c.Subject); s != nil {
		f.Places, f.Message = []declcfg.Pos{s.Pos}, "subscription "+s.Name+" exists"
		switch n := len(f.Candidates); {
		case from.kind == FactSubscription:
		case n == 0:
			f.Message = s.none
		case n == 1:
			f.Message = "subscription " + s.Name + " requires " + f.Candidates[0]
		default:
			f.Message = "subscription " + s.Name + " requires at least one of " + list(f.Candidates, "or")
		}
		return f
	}
	v := p.variables[c.Subject]
	at := v.bundle.place()
	switch from.kind {
	case FactInstalled:
		f.Message = "clusterserviceversion " + v.bundle.name + " exists and is not referenced by a subscription"
	case FactDeprecated:
		f.Message = "bundle " + v.identifier + " is deprecated"
	case FactRequirement:
		f.requires, at = from.dependency.String(), v.propertyPlace(from.dependency.property)
		f.Message = "bundle " + v.bundle.name + " requires an operator " + f.requires
	case FactUpdate:
		f.Message, at = v.identifier+" conflicts with "+f.Candidates[0], v.channel.place()
	}
	f.Places = []declcfg.Pos{at.find()}
	return f
}

// bundles returns the chosen bundles of catalogs, without the installed operators.
func (p *problem) bundles(chosen []int) []*variable {
	var bundles []*variable
	for _, i := range chosen {
		if i < len(p.variables) && p.variables[i].bundle.installed == nil {
			bundles = append(bundles, p.variables[i])
		}
	}
	return bundles
}

// list joins two or more names like OLM.
func list(names []string, word string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}
