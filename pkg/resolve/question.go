package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

// A question is a Namespace while it is being answered: the variables that OLM makes for it.
type question struct {
	*Namespace
	catalogs     []*Catalog // those that are visible, and the installed operators
	installed    *Catalog
	requirements requirementReader
	candidates   map[asked][]*entry

	// OLM has a variable for each bundle of a Subscription's candidates, and for what they require, and so on.
	variables     map[*entry]*variable
	subscriptions []*request
	size          int // candidates of all dependencies together
}

// maxSize is how many candidates the dependencies of a question may have together: each takes memory in the solver.
const maxSize = 5_000_000

var errTooLarge = errors.New("the dependencies have more than 5,000,000 candidates together")

// A variable is an entry that OLM may choose, and what that requires.
type variable struct {
	*entry
	identifier   string // by which OLM names it
	dependencies []dependency
	updates      []*entry // the installed operators that it updates
}

// A dependency is a property of a bundle by which it requires another one.
type dependency struct {
	*readRequirement
	property   int      // index among the properties of the bundle
	candidates []*entry // the preferred ones first
}

// A request is a Subscription with its candidates.
type request struct {
	*Subscription
	candidates []*entry // the preferred ones first; last the installed one
	none       string   // why there are none
}

func (ns *Namespace) question() *question {
	q := &question{
		Namespace:    ns,
		installed:    ns.existing(),
		requirements: newRequirementReader(),
		candidates:   map[asked][]*entry{},
		variables:    map[*entry]*variable{},
	}
	q.catalogs = []*Catalog{q.installed}
	for _, c := range ns.Catalogs {
		if c.Namespace == ns.Name || c.Namespace == ns.Global {
			q.catalogs = append(q.catalogs, c)
		}
	}
	return q
}

// ask makes all variables. The error is what prevents OLM from resolving.
func (q *question) ask(ctx context.Context) error {
	if err := q.reach(ctx, slices.Clone(q.installed.list().entries)); err != nil {
		return err
	}
	for i := range q.Subscriptions {
		q.subscriptions = append(q.subscriptions, &request{Subscription: &q.Subscriptions[i]})
	}
	slices.SortFunc(q.subscriptions, func(a, b *request) int { return cmp.Compare(a.Name, b.Name) })
	var errs []error
	for _, r := range q.subscriptions {
		if err := q.request(ctx, r); err != nil {
			errs = append(errs, err)
		}
	}
	if err := q.failures(); err != nil {
		return err
	}
	return aggregate(errs)
}

// failures returns why catalogs are not served, and why the installed operators cannot be read.
func (q *question) failures() error {
	var errs []error
	for _, c := range q.catalogs {
		if c.Failure != nil {
			errs = append(errs, fmt.Errorf("error using catalogsource %s/%s: %w", c.Namespace, c.Name, c.Failure))
		}
	}
	return aggregate(errs)
}

// reach makes the variables of entries and, from them, of all that they may require. It takes the last entry first, as
// OLM does, so that the errors are in its order.
func (q *question) reach(ctx context.Context, stack []*entry) error {
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
			if d.candidates, err = q.provide(ctx, asked{d.readRequirement, e.catalog}); err != nil {
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

// read returns what an entry requires.
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

// An asked is what a bundle of a catalog requires.
type asked struct {
	required *readRequirement
	from     *Catalog
}

// provide returns the entries that satisfy what is asked, the preferred ones first.
func (q *question) provide(ctx context.Context, a asked) ([]*entry, error) {
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

// candidates returns the entries of a catalog that satisfy a requirement and are offered. OLM sorts every channel that
// has an entry for it, so the order of all of these channels must be known.
func (c *Catalog) candidates(ctx context.Context, r requirement) ([]*entry, error) {
	found, err := satisfying(ctx, r, r.among(c.list()))
	if err != nil {
		return nil, err
	}
	var channels []*channel
	for _, e := range found { // channel by channel
		if n := len(channels); n == 0 || channels[n-1] != e.channel {
			channels = append(channels, e.channel)
		}
	}
	slices.SortStableFunc(channels, (*channel).compare)
	var entries []*entry
	for _, ch := range channels {
		entries = append(entries, ch.entries...)
	}
	// Installed operators of the same package are one channel.
	entries, err = offeredBy(entries, func(a, b *channel) bool { return a.compare(b) == 0 })
	if err != nil {
		return nil, err
	}
	return satisfying(ctx, r, entries)
}

// satisfying returns the entries for which r holds.
func satisfying(ctx context.Context, r requirement, entries []*entry) ([]*entry, error) {
	var found []*entry
	for _, e := range entries {
		ok, err := r.holds(ctx, e)
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, e)
		}
	}
	return found, nil
}

// preferred returns the catalogs in the order in which OLM prefers them for what a bundle of a catalog requires.
// Neither from nor namespace need be given.
func (q *question) preferred(from *Catalog, namespace string) []*Catalog {
	sorted := slices.Clone(q.catalogs)
	slices.SortStableFunc(sorted, func(a, b *Catalog) int {
		return cmp.Or(
			yesFirst(a == q.installed, b == q.installed),
			yesFirst(a == from, b == from),
			cmp.Compare(b.Priority, a.Priority),
			yesFirst(a.Namespace == namespace, b.Namespace == namespace),
			cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Namespace, b.Namespace),
		)
	})
	return sorted
}
