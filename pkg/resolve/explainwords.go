package resolve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// identifier returns the identifier of a bundle or the name of a Subscription.
func (x *explainer) identifier(v int) string {
	if r := x.request(v); r != nil {
		return r.Name
	}
	return x.variables[v].identifier
}

// name names a variable for people.
func (x *explainer) name(v int) string {
	if r := x.request(v); r != nil {
		return "Subscription " + r.Name
	}
	b := x.variables[v]
	switch {
	case b.bundle.installed != nil:
		return "the installed " + b.bundle.name
	case x.names[b.bundle.name] > 1:
		return x.origin(v)
	}
	return b.bundle.name
}

// origin names a variable and where it comes from.
func (x *explainer) origin(v int) string {
	e := x.variables[v]
	if e.bundle.installed != nil {
		return x.name(v)
	}
	from := e.bundle.name + " from channel " + e.channel.name
	if len(x.q.catalogs) > 2 {
		from += " of catalog " + e.catalog.Name
	}
	return from
}

// namesOf names variables for people, those of the same name once.
func (x *explainer) namesOf(variables []int) []string {
	if len(variables) == 1 {
		return []string{x.name(variables[0])}
	}
	var names []string
	named := map[string]bool{}
	for _, v := range variables {
		name, bundle := x.name(v), x.identifier(v)
		if x.request(v) == nil {
			bundle = x.variables[v].bundle.name
			if x.variables[v].bundle.installed == nil {
				name = bundle
			}
		}
		if !named[bundle] {
			named[bundle] = true
			names = append(names, name)
		}
	}
	return names
}

const maxListed = 3

// some lists the first few of some names, with "and" or "or" before the last.
func some(names []string, word string) string {
	if n := len(names) - maxListed; n > 1 {
		names = append(slices.Clone(names[:maxListed]), fmt.Sprintf("%d others", n))
	}
	if len(names) == 1 {
		return names[0]
	}
	return list(names, word)
}

// wants says what a requirement demands, for people.
func wants(r requirement) string {
	switch r := r.(type) {
	case requiredGVK:
		return "an operator that provides " + nameGVK(declcfg.GVK(r))
	case *requiredPackage:
		return fmt.Sprintf("package %s %q", r.PackageName, r.VersionRange)
	case requiredAny:
		if len(r) == 0 {
			return "one of several operators, and lists none"
		}
		terms := make([]string, len(r))
		for i, term := range r {
			terms[i] = wants(term)
		}
		return strings.Join(terms, " or ")
	}
	return "an operator " + r.String()
}

// missing says why nothing satisfies a requirement.
func (q *question) missing(r requirement) string {
	for _, c := range q.catalogs {
		// The answers of CEL are known already.
		found, err := satisfying(context.Background(), r, r.among(c.list()))
		if err == nil && len(found) > 0 {
			const hidden = "; %s satisfies it, but is skipped or not on the way from the head of its channel"
			return fmt.Sprintf(hidden, found[0].bundle.name)
		}
	}
	p, ok := r.(*requiredPackage)
	if !ok {
		return "; there is none"
	}
	versions := q.versions(p.PackageName)
	if len(versions) == 0 {
		return "; no catalog has the package"
	}
	return "; there is only " + some(versions, "and")
}
