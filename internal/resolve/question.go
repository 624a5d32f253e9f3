package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A question is a ClassicRequest while it is answered, with the variables that OLM creates for it.
type question struct {
	*ClassicRequest
	catalogs     []*Catalog // the visible catalogs, after the installed operators
	installed    *Catalog
	requirements requirementReader
	candidates   map[requirementFrom][]*entry

	// OLM has a variable for each candidate of a Subscription, for each candidate of its requirements, and so on.
	variables     map[*entry]*variable
	subscriptions []*subscription
	size          int // number of candidates of all dependencies

	solved *problem // nil until it is solved
}

// maxSize is the maximum number of candidates of all dependencies of a question. Each takes memory in the solver.
const maxSize = 5_000_000

var errTooLarge = errors.New("the dependencies have more than 5,000,000 candidates together")

// A variable is an entry that OLM may choose, with its dependencies.
type variable struct {
	*entry
	identifier   string // OLM's name for it
	dependencies []dependency
	updates      []*entry // the installed operators that it updates
}

// A dependency is a requirement of a bundle, with its candidates.
type dependency struct {
	*readRequirement
	property   int      // index in the properties of the bundle
	candidates []*entry // sorted by preference
}

// A subscription is a Subscription with its candidates.
type subscription struct {
	*Subscription
	candidates []*entry // sorted by preference; the installed one is last
	none       string   // the message if there are none
}

func (ns *ClassicRequest) question() *question {
	q := &question{
		ClassicRequest: ns,
		installed:      ns.existing(),
		requirements:   newRequirementReader(),
		candidates:     map[requirementFrom][]*entry{},
		variables:      map[*entry]*variable{},
	}
	q.catalogs = []*Catalog{q.installed}
	for _, c := range ns.Catalogs {
		if ns.sees(c) {
			q.catalogs = append(q.catalogs, c)
		}
	}
	return q
}

// addVariables creates all variables. The error is the reason why OLM cannot resolve.
func (q *question) addVariables(ctx context.Context) error {
	if err := q.addReachable(ctx, slices.Clone(q.installed.list().entries)); err != nil {
		return err
	}
	for i := range q.Subscriptions {
		q.subscriptions = append(q.subscriptions, &subscription{Subscription: &q.Subscriptions[i]})
	}
	slices.SortFunc(q.subscriptions, func(a, b *subscription) int { return cmp.Compare(a.Name, b.Name) })
	var errs []error
	for _, r := range q.subscriptions {
		if err := q.addSubscription(ctx, r); err != nil {
			errs = append(errs, err)
		}
	}
	var failures []error // OLM reports no other errors if a catalog is not served or an operator cannot be read
	for _, c := range q.catalogs {
		if c.Failure != nil {
			failures = append(failures, fmt.Errorf("error using catalogsource %s/%s: %w", c.Namespace, c.Name, c.Failure))
		}
	}
	if failures != nil {
		return aggregate(failures)
	}
	return aggregate(errs)
}

// addReachable creates the variables of entries, of the candidates for their requirements, and so on. It takes the last
// entry first, as OLM does, so that the errors are in OLM's order.
func (q *question) addReachable(ctx context.Context, stack []*entry) error {
	var errs []error
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if q.variables[e] != nil {
			continue
		}
		v := &variable{entry: e, identifier: e.id()}
		q.variables[e] = v
		requirements, err := q.read(e)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, d := range requirements {
			if d.candidates, err = q.providers(ctx, requirementFrom{d.readRequirement, e.catalog}); err != nil {
				errs = append(errs, located(err, e.id(), e.propertyPlace(d.property)))
				continue
			}
			if q.size += len(d.candidates); q.size > maxSize {
				return errTooLarge
			}
			v.dependencies = append(v.dependencies, d)
			stack = append(stack, d.candidates...)
		}
	}
	return aggregate(errs)
}

// read returns the requirements of an entry.
func (q *question) read(e *entry) ([]dependency, error) {
	var dependencies []dependency
	for i := range e.properties {
		required, err := q.requirements.read(&e.properties[i].Property)
		if err != nil {
			return nil, located(err, e.id(), e.propertyPlace(i))
		}
		if required != nil {
			dependencies = append(dependencies, dependency{readRequirement: required, property: i})
		}
	}
	return dependencies, nil
}

// A requirementFrom is a requirement and the catalog of the bundle that has it. The catalog affects the preference of
// providers.
type requirementFrom struct {
	required *readRequirement
	from     *Catalog
}

// providers returns the entries that satisfy a requirement, sorted by preference.
func (q *question) providers(ctx context.Context, a requirementFrom) ([]*entry, error) {
	if all, known := q.candidates[a]; known {
		return all, nil
	}
	var all []*entry
	for _, c := range q.preferred(a.from, q.Name) {
		some, known := a.required.candidates[c]
		if !known {
			some.entries, some.err = c.candidates(ctx, a.required.requirement)
		}
		if c != q.installed && ctx.Err() == nil {
			a.required.candidates[c] = some
		}
		if some.err != nil {
			return nil, some.err
		}
		all = append(all, some.entries...)
	}
	q.candidates[a] = all
	return all, nil
}

// candidates returns the entries of a catalog that satisfy a requirement and that OLM offers. OLM sorts every channel
// with a matching entry, so each of these channels must have a valid order.
func (c *Catalog) candidates(ctx context.Context, r requirement) ([]*entry, error) {
	found, err := satisfying(ctx, r, r.possibleProviders(c.list()))
	if err != nil {
		return nil, err
	}
	var channels []*channel
	for _, e := range found { // grouped by channel
		if n := len(channels); n == 0 || channels[n-1] != e.channel {
			channels = append(channels, e.channel)
		}
	}
	slices.SortStableFunc(channels, (*channel).compare)
	var entries []*entry
	for _, ch := range channels {
		entries = append(entries, ch.entries...)
	}
	// Installed operators of the same package count as one channel.
	entries, err = offeredBy(entries, func(a, b *channel) bool { return a.compare(b) == 0 })
	if err != nil {
		return nil, err
	}
	return satisfying(ctx, r, entries)
}

// satisfying returns the entries that satisfy r.
func satisfying(ctx context.Context, r requirement, entries []*entry) ([]*entry, error) {
	var found []*entry
	for _, e := range entries {
		ok, err := r.satisfiedBy(ctx, e)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, e)
		}
	}
	return found, nil
}

// preferred sorts the catalogs by OLM's preference for a requirement of a bundle in a catalog. A nil from and an empty
// namespace are not preferred.
func (q *question) preferred(from *Catalog, namespace string) []*Catalog {
	sorted := slices.Clone(q.catalogs)
	slices.SortStableFunc(sorted, func(a, b *Catalog) int {
		return cmp.Or(
			trueFirst(a == q.installed, b == q.installed),
			trueFirst(a == from, b == from),
			cmp.Compare(b.Priority, a.Priority),
			trueFirst(a.Namespace == namespace, b.Namespace == namespace),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Namespace, b.Namespace),
		)
	})
	return sorted
}

// addSubscription finds the candidates of a Subscription and creates their variables.
func (q *question) addSubscription(ctx context.Context, r *subscription) error {
	current := q.current(r.Subscription)
	entries := q.visibleEntries(r, current)
	if r.none != "" {
		return nil
	}
	sorted, err := offeredBy(entries, func(a, b *channel) bool { return a.name == b.name })
	if err != nil {
		return err
	}
	byName := map[string][]*entry{}
	for _, e := range entries {
		addEntry(byName, e.bundle.name, e)
	}
	for _, e := range sorted {
		if current != nil && !e.updates(current) {
			continue
		}
		same := byName[e.bundle.name] // in any channel, even if the channel does not offer it
		if err := q.addReachable(ctx, slices.Clone(same)); err != nil {
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

// current returns the installed operator of a Subscription, nil if there is none.
func (q *question) current(s *Subscription) *entry {
	for _, e := range q.installed.list().entries {
		if e.bundle.name == s.InstalledCSV {
			return e
		}
	}
	return nil
}

// visibleEntries returns the entries that a Subscription asks for, in the order of the channels, the default channel
// first. If there are none, it sets r.none to the reason.
func (q *question) visibleEntries(r *subscription, current *entry) []*entry {
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
		return cmp.Or(trueFirst(a.isDefault, b.isDefault), cmp.Compare(a.channel.name, b.channel.name))
	})
	return starting
}

// hidden returns the catalog that a Subscription names but cannot see, nil if there is none.
func (q *question) hidden(r *Subscription) *Catalog {
	for _, c := range q.Catalogs {
		if c.Name == r.Catalog && c.Namespace == r.CatalogNamespace && !q.sees(c) {
			return c
		}
	}
	return nil
}

// sources returns the catalogs of a Subscription, including the installed operators if it names no catalog.
func (q *question) sources(r *subscription) []*Catalog {
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
