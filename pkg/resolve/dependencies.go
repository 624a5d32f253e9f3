package resolve

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// ErrEvaluations is returned where the CEL rules of a catalog cost too much to evaluate all of them.
var ErrEvaluations = constraint.ErrEvaluations

// A Dependency is what a property of a bundle requires of a catalog.
type Dependency struct {
	Requires string `json:"requires"` // for people, such as: package kiln ">=1.0.0"

	// SatisfiedBy lists the packages of which OLM can install a bundle for it, by name; none if there is none.
	SatisfiedBy []string `json:"satisfiedBy"`

	Sentence  string          `json:"-"` // what follows "requires an operator" in the sentences of OLM
	Providers []*declcfg.Meta `json:"-"` // bundles that satisfy it, each once; also those that their channels skip
}

// Dependencies finds what bundles of a catalog require in the same catalog. It is for one goroutine.
type Dependencies struct {
	properties   map[*declcfg.Meta][]Property // at least those that require something
	satisfy      func(context.Context, *Dependency, requirement) error
	requirements requirementReader
	known        map[string]*foundDependency // by type and value of a property
}

// A foundDependency is what a property requires, or why that is not known.
type foundDependency struct {
	*Dependency
	err error
}

// Dependencies returns the dependencies of the catalog.
func (c *Catalog) Dependencies() *Dependencies {
	return newDependencies(c.properties, func(ctx context.Context, d *Dependency, r requirement) error {
		return d.satisfy(ctx, r, c)
	})
}

func newDependencies(
	properties map[*declcfg.Meta][]Property, satisfy func(context.Context, *Dependency, requirement) error,
) *Dependencies {
	return &Dependencies{properties, satisfy, newRequirementReader(), map[string]*foundDependency{}}
}

// Of returns the dependencies of a bundle of the catalog. Properties that are equal give the same Dependency. The error
// is that of a property that OLM cannot read, or of ctx.
func (d *Dependencies) Of(ctx context.Context, bundle *declcfg.Meta) ([]*Dependency, error) {
	var all []*Dependency
	for _, p := range d.properties[bundle] {
		required, err := d.requirements.read(&p.Property)
		if err != nil {
			ptr := jsontext.Pointer("/properties").AppendToken(strconv.Itoa(p.Index))
			return nil, &declcfg.Error{Pos: bundle.Place(ptr), Pointer: ptr, Err: err}
		}
		if required == nil {
			continue
		}
		key := propertyKey(&p.Property)
		found := d.known[key]
		if found == nil {
			found = &foundDependency{Dependency: newDependency(required.requirement)}
			found.err = d.satisfy(ctx, found.Dependency, required.requirement)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			d.known[key] = found
		}
		if found.err != nil {
			return nil, found.err
		}
		all = append(all, found.Dependency)
	}
	return all, nil
}

// Packages are those of a catalog that is not in memory.
type Packages interface {
	// Names returns the names of all packages.
	Names() ([]string, error)

	// Providing returns the names of the packages that have a bundle that provides an API, and maybe others.
	Providing(api declcfg.GVK) ([]string, error)

	// Read returns a catalog with the package of that name, if there is one, and nothing else.
	Read(name string) (*Catalog, error)
}

// ReadDependencies returns the dependencies of a bundle with these properties, without Providers. Of the catalog it
// reads the packages that may satisfy them, one at a time. The error is that of a property that OLM cannot read, of
// from, or of ctx.
func ReadDependencies(ctx context.Context, properties []declcfg.Property, from Packages) ([]*Dependency, error) {
	var all []*Dependency
	var required []requirement
	reader, names := newRequirementReader(), map[string]bool{}
	for i := range properties {
		r, err := reader.read(&properties[i])
		if err != nil {
			return nil, err
		}
		if r == nil {
			continue
		}
		all, required = append(all, newDependency(r.requirement)), append(required, r.requirement)
		some, err := packagesFor(r.requirement, from)
		if err != nil {
			return nil, err
		}
		for _, name := range some {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c, err := from.Read(name)
		if err != nil {
			return nil, err
		}
		for i, r := range required {
			if err := all[i].satisfy(ctx, r, c); err != nil {
				return nil, err
			}
			all[i].Providers = nil
		}
	}
	return all, nil
}

// packagesFor returns the names of packages such that no other one satisfies a requirement.
func packagesFor(r requirement, from Packages) ([]string, error) {
	switch r := r.(type) {
	case *requiredPackage:
		return []string{r.PackageName}, nil
	case requiredGVK:
		return from.Providing(declcfg.GVK(r))
	case requiredAll:
		of, err := packagesForEach(r, from)
		if err != nil {
			return nil, err
		}
		if len(of) > 0 {
			return slices.MinFunc(of, func(a, b []string) int { return cmp.Compare(len(a), len(b)) }), nil
		}
	case requiredAny:
		of, err := packagesForEach(r, from)
		return slices.Concat(of...), err
	}
	return from.Names()
}

func packagesForEach(terms []requirement, from Packages) ([][]string, error) {
	var all [][]string
	for _, term := range terms {
		names, err := packagesFor(term, from)
		if err != nil {
			return nil, err
		}
		all = append(all, names)
	}
	return all, nil
}

func newDependency(r requirement) *Dependency {
	return &Dependency{Requires: wants(r), SatisfiedBy: []string{}, Sentence: r.String()}
}

// satisfy adds what satisfies the dependency in a catalog.
func (d *Dependency) satisfy(ctx context.Context, required requirement, c *Catalog) error {
	entries, err := satisfying(ctx, required, required.among(c.list()))
	installable, seen := map[*entry]bool{}, map[*bundle]bool{}
	for _, e := range entries {
		if e.deprecated {
			continue
		}
		installable[e] = true
		if !seen[e.bundle] {
			seen[e.bundle] = true
			d.Providers = append(d.Providers, e.bundle.meta)
		}
	}
	var last *channel
	for _, e := range entries { // channel by channel
		if e.channel == last || slices.Contains(d.SatisfiedBy, e.pkg) {
			continue
		}
		last = e.channel
		offered, _ := e.channel.order() // OLM offers nothing of a broken channel
		if slices.ContainsFunc(offered, func(e *entry) bool { return installable[e] }) {
			d.SatisfiedBy = append(d.SatisfiedBy, e.pkg)
		}
	}
	slices.Sort(d.SatisfiedBy)
	return err
}
