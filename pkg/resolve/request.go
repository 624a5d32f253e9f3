package resolve

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// request finds the candidates of a Subscription and makes their variables.
func (q *question) request(ctx context.Context, r *request) error {
	current := q.current(r.Subscription)
	entries := q.visible(r, current)
	if r.none != "" {
		return nil
	}
	sorted, err := offeredBy(entries, func(a, b *channel) bool { return a.name == b.name })
	if err != nil {
		return err
	}
	byName := map[string][]*entry{}
	for _, e := range entries {
		enter(byName, e.bundle.name, e)
	}
	for _, e := range sorted {
		if current != nil && !e.updates(current) {
			continue
		}
		same := byName[e.bundle.name] // also in other channels, even where they do not offer it
		if err := q.reach(ctx, slices.Clone(same)); err != nil {
			return err
		}
		for _, e := range same {
			if v := q.variables[e]; current != nil && !slices.Contains(v.updates, current) {
				v.updates = append(v.updates, current)
			}
		}
		r.candidates = append(r.candidates, same...)
	}
	if current != nil {
		r.candidates = append(r.candidates, current)
	}
	if len(r.candidates) == 0 {
		r.none = "no operators found matching the criteria of subscription " + r.Name
	}
	return nil
}

// current returns the installed operator of a Subscription, nil for none.
func (q *question) current(s *Subscription) *entry {
	for _, e := range q.installed.list().entries {
		if e.bundle.name == s.InstalledCSV {
			return e
		}
	}
	return nil
}

// visible returns the entries that a Subscription asks for, in the order of the channels, the default one first. If
// there are none it says why.
func (q *question) visible(r *request, current *entry) []*entry {
	var entries []*entry
	listed := 0
	for _, c := range q.sources(r) {
		listed += len(c.list().entries)
		entries = append(entries, c.list().byPackage[r.Package]...)
	}
	inChannel := keep(entries, func(e *entry) bool { return r.Channel == "" || e.channel.name == r.Channel })
	starting := inChannel
	if current == nil && r.StartingCSV != "" {
		starting = named(inChannel, r.StartingCSV)
	}
	switch {
	case listed == 0:
		r.none = fmt.Sprintf("no operators found from catalog %s in namespace %s referenced by subscription %s",
			r.Catalog, r.CatalogNamespace, r.Name)
	case len(entries) == 0:
		r.none = fmt.Sprintf("no operators found in package %s in the catalog referenced by subscription %s",
			r.Package, r.Name)
	case len(inChannel) == 0:
		r.none = fmt.Sprintf("no operators found in channel %s of package %s in the catalog referenced by subscription %s",
			r.Channel, r.Package, r.Name)
	case len(starting) == 0:
		r.none = fmt.Sprintf("no operators found with name %s in channel %s of package %s "+
			"in the catalog referenced by subscription %s", r.StartingCSV, r.Channel, r.Package, r.Name)
	}
	slices.SortStableFunc(starting, func(a, b *entry) int {
		return cmp.Or(yesFirst(a.isDefault, b.isDefault), cmp.Compare(a.channel.name, b.channel.name))
	})
	return starting
}

// sources returns the catalogs of a Subscription; the installed operators are one if it names none.
func (q *question) sources(r *request) []*Catalog {
	var sources []*Catalog
	for _, c := range q.preferred(nil, "") {
		if r.anyCatalog() || c.Name == r.Catalog && c.Namespace == r.CatalogNamespace {
			sources = append(sources, c)
		}
	}
	return sources
}

func named(entries []*entry, name string) []*entry {
	return keep(entries, func(e *entry) bool { return e.bundle.name == name })
}

func keep(entries []*entry, wanted func(*entry) bool) []*entry {
	var kept []*entry
	for _, e := range entries {
		if wanted(e) {
			kept = append(kept, e)
		}
	}
	return kept
}
