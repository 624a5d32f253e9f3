package resolve

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// ErrEvaluations is returned if the CEL rules of a catalog cost too much to evaluate all of them.
var ErrEvaluations = constraint.ErrEvaluations

// A Dependency is a requirement of a bundle, with the packages and bundles that satisfy it.
type Dependency struct {
	Requires string `json:"requires"` // a description for people, such as: package kiln ">=1.0.0"

	// SatisfiedBy lists the packages with a bundle that satisfies it and that OLM can install, by name; it is never
	// nil.
	SatisfiedBy []string `json:"satisfiedBy"`

	Sentence  string          `json:"-"` // the text that OLM writes after "requires an operator"
	Providers []*declcfg.Meta `json:"-"` // bundles that satisfy it, each once; also ones that are skipped
}

// Dependencies finds the dependencies of bundles within their catalog. It is not safe for concurrent use.
type Dependencies struct {
	properties   map[declcfg.Key][]Property // at least the requirements
	satisfy      func(context.Context, ...*foundDependency) error
	requirements requirementReader
	known        map[string]*foundDependency // by type and value of the property
}

// A foundDependency is the dependency of a property, or the error of finding it.
type foundDependency struct {
	*Dependency
	requirement requirement
	err         error
}

func newDependency(r requirement) *foundDependency {
	d := &Dependency{Requires: requirementText(r), SatisfiedBy: []string{}, Sentence: r.String()}
	return &foundDependency{d, r, nil}
}

// Dependencies returns the dependencies of the catalog.
func (c *Catalog) Dependencies() *Dependencies {
	return newDependencies(c.properties, func(ctx context.Context, all ...*foundDependency) error {
		for _, d := range all {
			d.satisfy(ctx, c)
		}
		return nil
	})
}

func newDependencies(
	properties map[declcfg.Key][]Property, satisfy func(context.Context, ...*foundDependency) error,
) *Dependencies {
	return &Dependencies{properties, satisfy, newRequirementReader(), map[string]*foundDependency{}}
}

// Of returns the dependencies of a bundle of the catalog. Equal properties share one Dependency. The error is about a
// property that OLM cannot read, or it is the error of ctx.
func (d *Dependencies) Of(ctx context.Context, bundle *declcfg.Meta) ([]*Dependency, error) {
	var all []*Dependency
	for _, p := range d.properties[bundle.Key()] {
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
			found = newDependency(required.requirement)
			if err := cmp.Or(d.satisfy(ctx, found), ctx.Err()); err != nil {
				return nil, err
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

// Packages provides the packages of a catalog that is not in memory.
type Packages interface {
	// Names returns the names of all packages.
	Names() ([]string, error)

	// Providing returns the names of all packages with a bundle that provides an API. It may return more packages.
	Providing(api declcfg.GVK) ([]string, error)

	// Read returns a catalog with only the given package, or an empty one if the package does not exist.
	Read(name string) (*Catalog, error)
}

// ReadDependencies returns the dependencies of a bundle with these properties, without Providers. It reads only the
// packages that may satisfy them, one at a time. The error is about a property that OLM cannot read, or it is the error
// of from or of ctx.
func ReadDependencies(ctx context.Context, properties []declcfg.Property, from Packages) ([]*Dependency, error) {
	var found []*foundDependency
	reader := newRequirementReader()
	for i := range properties {
		r, err := reader.read(&properties[i])
		if err != nil {
			return nil, err
		}
		if r != nil {
			found = append(found, newDependency(r.requirement))
		}
	}
	if err := satisfyFrom(ctx, from, found...); err != nil {
		return nil, err
	}
	var all []*Dependency
	for _, d := range found {
		if d.err != nil {
			return nil, d.err
		}
		all = append(all, d.Dependency)
	}
	return all, nil
}

// satisfyFrom satisfies dependencies, without Providers. It reads only the packages that may satisfy them, one at a
// time. The error is the error of from.
func satisfyFrom(ctx context.Context, from Packages, all ...*foundDependency) error {
	names := map[string]bool{}
	for _, d := range all {
		some, err := packagesFor(d.requirement, from)
		if err != nil {
			return err
		}
		for _, name := range some {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		c, err := from.Read(name)
		if err != nil {
			return err
		}
		for _, d := range all {
			d.satisfy(ctx, c)
			d.Providers = nil
		}
	}
	return nil
}

// packagesFor returns the names of packages that may satisfy a requirement; all other packages cannot.
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

// satisfy adds the packages and bundles of a catalog that satisfy the dependency, unless it failed before.
func (d *foundDependency) satisfy(ctx context.Context, c *Catalog) {
	if d.err != nil {
		return
	}
	entries, err := satisfying(ctx, d.requirement, d.requirement.possibleProviders(c.list()))
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
	for _, e := range entries { // grouped by channel
		if e.channel == last || slices.Contains(d.SatisfiedBy, e.pkg) {
			continue
		}
		last = e.channel
		offered, _ := e.channel.order() // OLM offers no entry of a broken channel
		if slices.ContainsFunc(offered, func(e *entry) bool { return installable[e] }) {
			d.SatisfiedBy = append(d.SatisfiedBy, e.pkg)
		}
	}
	slices.Sort(d.SatisfiedBy)
	d.err = err
}

// An Outline finds the dependencies of the bundles of a catalog without all their properties in memory: it reads the
// packages that may satisfy a dependency again, one at a time. The zero value is empty.
//
//	var o resolve.Outline
//	index, err := o.ReadIndex(ctx, sources...)
//	if err != nil {
//		return err
//	}
//	dependencies, err := o.Dependencies(ctx, index, index.Each())
type Outline struct {
	required map[declcfg.Key][]Property
	apis     map[string][]string // package names by the JSON text of an API that they provide
	claims   map[string][]string // by package name, the other packages with a bundle whose olm.package names it

	index     *declcfg.Index
	providing map[declcfg.GVK][]string // package names
}

// ReadIndex is [declcfg.ReadIndex]. It also keeps the parts of bundles that the outline needs.
func (o *Outline) ReadIndex(ctx context.Context, sources ...declcfg.Source) (*declcfg.Index, error) {
	o.required, o.apis, o.claims = map[declcfg.Key][]Property{}, map[string][]string{}, map[string][]string{}
	return declcfg.ReadIndexAnd(ctx, outlined, o.keep, sources...)
}

// A bundleOutline is the part of a bundle that an Outline keeps.
type bundleOutline struct {
	apis     []string // as JSON text
	claims   []string // names of other packages in an olm.package
	required []Property
}

// outlined returns the outline of a decoded bundle; nil for other objects.
func outlined(m *declcfg.Meta, v any) (*bundleOutline, error) {
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil, nil
	}
	var o bundleOutline
	for i := range b.Properties {
		p := &b.Properties[i]
		switch {
		case p.Type == declcfg.PropertyGVK:
			o.apis = append(o.apis, string(p.Value))
		case p.Type == declcfg.PropertyPackage:
			var of declcfg.PackageProperty
			if p.Unmarshal(&of) == nil && of.PackageName != m.Package {
				o.claims = append(o.claims, of.PackageName)
			}
		case requirementParsers[p.Type] != nil:
			kept := declcfg.Property{Type: strings.Clone(p.Type), Value: bytes.Clone(p.Value)}
			o.required = append(o.required, Property{kept, i})
		}
	}
	return &o, nil
}

func (o *Outline) keep(m *declcfg.Meta, b *bundleOutline) {
	if b == nil {
		return
	}
	for _, api := range b.apis {
		addOnce(o.apis, api, m.Package)
	}
	for _, name := range b.claims {
		addOnce(o.claims, name, m.Package)
	}
	if b.required != nil {
		o.required[m.Key()] = b.required
	}
}

func addOnce[K comparable](table map[K][]string, key K, name string) {
	if names := table[key]; !slices.Contains(names, name) {
		table[key] = append(names, name)
	}
}

// Dependencies returns the dependencies of the catalog with this index. It finds the dependencies of all bundles of the
// packages at once, so that each package is read again once. The error is the error of reading packages, or of ctx.
func (o *Outline) Dependencies(
	ctx context.Context, index *declcfg.Index, packages iter.Seq[*declcfg.PackageIndex],
) (*Dependencies, error) {
	o.index, o.providing = index, map[declcfg.GVK][]string{}
	for text, names := range o.apis {
		var api declcfg.GVK
		p := declcfg.Property{Type: declcfg.PropertyGVK, Value: []byte(text)}
		if p.Unmarshal(&api) == nil {
			for _, name := range names {
				addOnce(o.providing, api, name)
			}
		}
	}
	d := newDependencies(o.required, func(ctx context.Context, all ...*foundDependency) error {
		return satisfyFrom(ctx, o, all...)
	})
	var all []*foundDependency
	for p := range packages {
		for _, b := range p.Bundles {
			for _, p := range o.required[b.Meta.Key()] {
				required, err := d.requirements.read(&p.Property)
				if key := propertyKey(&p.Property); err == nil && d.known[key] == nil {
					d.known[key] = newDependency(required.requirement)
					all = append(all, d.known[key])
				}
			}
		}
	}
	return d, cmp.Or(d.satisfy(ctx, all...), ctx.Err())
}

// Names implements [Packages].
func (o *Outline) Names() ([]string, error) { return o.index.Names(), nil }

// Providing implements [Packages].
func (o *Outline) Providing(api declcfg.GVK) ([]string, error) { return o.providing[api], nil }

// Read implements [Packages]. The catalog also has the packages with a bundle whose olm.package names this package.
func (o *Outline) Read(name string) (*Catalog, error) {
	c := &Catalog{Index: &declcfg.Index{}}
	for p := range o.index.Each(append([]string{name}, o.claims[name]...)...) {
		metas, i := p.Metas(), 0
		for v, err := range parallel.Try(context.Background(), 0, slices.Values(metas), (*declcfg.Meta).Decode) {
			if err != nil {
				return nil, err
			}
			c.Add(metas[i], v)
			i++
		}
	}
	c.interned = nil
	return c, nil
}
