package resolve

import (
	"cmp"
	"slices"
	"strings"
)

// steps fills in what OLM does to install the chosen bundles.
func (q *question) steps(answer *Classic, chosen []*variable) {
	subscriptions := slices.Clone(q.Subscriptions)
	for _, v := range chosen {
		c := choice(v)
		matching := matches(subscriptions, c)
		if len(matching) > 0 && !slices.ContainsFunc(matching, func(s *Subscription) bool { return !q.isCurrent(s, c) }) {
			answer.Unchanged = append(answer.Unchanged, c)
			continue
		}
		answer.Install = append(answer.Install, c)
		if len(matching) == 0 {
			answer.Generated = append(answer.Generated, generated(c))
		}
		for _, s := range matching {
			if s.CurrentCSV != c.Bundle {
				s.CurrentCSV = c.Bundle
				answer.Updated = append(answer.Updated, *s)
			}
		}
	}
	slices.SortFunc(answer.Install, compareChoices)
}

func choice(v *variable) Choice {
	c := Choice{
		Catalog: v.catalog.Name, CatalogNamespace: v.catalog.Namespace, Package: v.pkg, Channel: v.channel.name,
		Bundle: v.bundle.name, Replaces: v.edges.Replaces, Meta: v.bundle.meta,
	}
	if n := len(v.updates); n > 0 {
		c.Replaces = v.updates[n-1].bundle.name
	}
	return c
}

func compareChoices(a, b Choice) int {
	return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Bundle, b.Bundle),
		cmp.Compare(a.Catalog, b.Catalog), cmp.Compare(a.CatalogNamespace, b.CatalogNamespace))
}

// matches returns the Subscriptions that a choice is for.
func matches(subscriptions []Subscription, c Choice) []*Subscription {
	var matching []*Subscription
	for i := range subscriptions {
		if s := &subscriptions[i]; s.follows(c) {
			matching = append(matching, s)
		}
	}
	return matching
}

// follows reports whether a choice is for the Subscription.
func (s *Subscription) follows(c Choice) bool {
	return s.Package == c.Package && (s.Channel == "" || s.Channel == c.Channel) &&
		(s.anyCatalog() || s.Catalog == c.Catalog && s.CatalogNamespace == c.CatalogNamespace)
}

// isCurrent reports whether the choice is already installed for a Subscription.
func (q *question) isCurrent(s *Subscription, c Choice) bool {
	isIt := func(in Installed) bool { return in.Name == c.Bundle }
	return s.CurrentCSV == c.Bundle && slices.ContainsFunc(q.Installed, isIt)
}

// generated returns the Subscription that OLM creates for a dependency.
func generated(c Choice) Subscription {
	return Subscription{
		Name:    strings.Join([]string{c.Package, c.Channel, c.Catalog, c.CatalogNamespace}, "-"),
		Package: c.Package, Channel: c.Channel, Catalog: c.Catalog, CatalogNamespace: c.CatalogNamespace,
		StartingCSV: c.Bundle,
	}
}
