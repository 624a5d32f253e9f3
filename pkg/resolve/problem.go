package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/solver"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A problem is a question as the solver gets it. Its variables are the entries, then the Subscriptions.
type problem struct {
	solver.Problem
	variables []*variable    // sorted by identifier
	number    map[*entry]int // the index of a variable
	facts     []func() Fact  // by constraint
	anchors   int            // the constraints from here on are Mandatory
}

func (q *question) problem() *problem {
	p := &problem{number: make(map[*entry]int, len(q.variables))}
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
		p.addBundle(i, v)
	}
	for i, r := range q.subscriptions {
		p.addCandidates(len(p.variables)+i, r)
	}
	p.addAnchors(q)
	return p
}

// add adds a constraint and what it says.
func (p *problem) add(c solver.Constraint, say func() Fact) {
	p.Constraints = append(p.Constraints, c)
	p.facts = append(p.facts, say)
}

// addAnchors adds what has to be in every solution: installed operators without a Subscription, and Subscriptions. OLM
// has them in a random order, here they are sorted.
func (p *problem) addAnchors(q *question) {
	p.anchors = len(p.Constraints)
	subscribed := map[string]bool{}
	for _, s := range q.Subscriptions {
		subscribed[s.InstalledCSV] = true
	}
	for i, v := range p.variables {
		if in := v.bundle.installed; in != nil && !subscribed[in.Name] {
			p.add(solver.Constraint{Kind: solver.Mandatory, Subject: i}, func() Fact {
				return Fact{
					Kind: FactInstalled, Subject: v.identifier, Places: []declcfg.Pos{in.Pos},
					Message: "clusterserviceversion " + in.Name + " exists and is not referenced by a subscription",
				}
			})
		}
	}
	for i, r := range q.subscriptions {
		p.add(solver.Constraint{Kind: solver.Mandatory, Subject: len(p.variables) + i}, func() Fact {
			return Fact{
				Kind: FactSubscription, Subject: r.Name, Places: []declcfg.Pos{r.Pos},
				Message: "subscription " + r.Name + " exists",
			}
		})
	}
}

func (p *problem) addBundle(i int, v *variable) {
	if v.deprecated {
		p.add(solver.Constraint{Kind: solver.Prohibited, Subject: i}, func() Fact {
			return Fact{
				Kind: FactDeprecated, Subject: v.identifier, Places: []declcfg.Pos{v.bundle.place().find()},
				Message: "bundle " + v.identifier + " is deprecated",
			}
		})
	}
	for _, d := range v.dependencies {
		p.add(solver.Constraint{Kind: solver.Dependency, Subject: i, Others: p.numbers(d.candidates)}, func() Fact {
			return Fact{
				Kind: FactRequirement, Subject: v.identifier, Candidates: p.names(d.candidates),
				Places:   []declcfg.Pos{v.propertyPlace(d.property).find()},
				Message:  "bundle " + v.bundle.name + " requires an operator " + d.String(),
				requires: d.String(),
			}
		})
	}
	for _, e := range v.updates {
		p.add(solver.Constraint{Kind: solver.Conflict, Subject: i, Others: p.numbers([]*entry{e})}, func() Fact {
			return Fact{
				Kind: FactUpdate, Subject: v.identifier, Candidates: p.names([]*entry{e}),
				Places:  []declcfg.Pos{v.channel.place().find()},
				Message: v.identifier + " conflicts with " + e.id(),
			}
		})
	}
}

func (p *problem) addCandidates(i int, r *request) {
	p.add(solver.Constraint{Kind: solver.Dependency, Subject: i, Others: p.numbers(r.candidates)}, func() Fact {
		f := Fact{
			Kind: FactCandidates, Subject: r.Name, Candidates: p.names(r.candidates), Places: []declcfg.Pos{r.Pos},
			Message: r.none,
		}
		switch n := len(f.Candidates); {
		case n == 1:
			f.Message = "subscription " + r.Name + " requires " + f.Candidates[0]
		case n > 1:
			f.Message = "subscription " + r.Name + " requires at least one of " + list(f.Candidates, "or")
		}
		return f
	})
}

// addUnique adds that there is one operator of each package and one provider of each API at most. A bundle that says
// twice that it provides an API cannot be chosen.
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
		p.addAtMostOne(packages[pkg], Fact{Kind: FactOneBundle, Subject: pkg}, "originate from package "+pkg)
	}
	for _, gvk := range sortedGVKs(gvks) {
		if p.ofOnePackage(gvks[gvk], packages) {
			continue // it would say the same, and OLM names the package then
		}
		name := nameGVK(gvk)
		p.addAtMostOne(gvks[gvk], Fact{Kind: FactOneProvider, Subject: name}, "provide "+name)
	}
}

// ofOnePackage reports whether the providers of an API are exactly the bundles of a package.
func (p *problem) ofOnePackage(providers []int, packages map[string][]int) bool {
	for _, pkg := range p.variables[providers[0]].packages {
		if slices.Equal(providers, packages[pkg.name]) {
			return true
		}
	}
	return false
}

// nameGVK names an API as OLM does.
func nameGVK(gvk declcfg.GVK) string { return gvk.Kind + " (" + gvk.Group + "/" + gvk.Version + ")" }

func (p *problem) addAtMostOne(members []int, f Fact, are string) {
	if len(members) < 2 {
		return
	}
	p.add(solver.Constraint{Kind: solver.AtMostOne, Subject: -1, Others: members}, func() Fact {
		f := f // it may be asked for again
		for _, i := range members {
			f.Candidates = append(f.Candidates, p.variables[i].identifier)
			f.Places = append(f.Places, p.variables[i].bundle.place().find())
		}
		f.Message = list(f.Candidates, "and") + " " + are
		return f
	})
}

func (p *problem) numbers(entries []*entry) []int {
	numbers := make([]int, len(entries))
	for i, e := range entries {
		numbers[i] = p.number[e]
	}
	return numbers
}

func (p *problem) names(entries []*entry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.id()
	}
	return names
}

// list writes at least two names as OLM does.
func list(names []string, word string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}
