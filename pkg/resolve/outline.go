package resolve

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// An Outline finds the dependencies of the bundles of a catalog without holding the properties of all of them: it reads
// the packages that may satisfy a dependency again. The zero value is empty.
//
//	var o resolve.Outline
//	index, err := declcfg.ReadIndexAndCheck(ctx, o.Keep, sources...)
//	if err != nil {
//		return err
//	}
//	dependencies := o.Dependencies(index)
type Outline struct {
	mu       sync.Mutex
	required map[*declcfg.Meta][]Property
	apis     map[string][]string // names of packages by the text of an API that they provide
	claims   map[string][]string // by the name of a package, those of others with a bundle whose olm.package names it

	index     *declcfg.Index
	providing map[declcfg.GVK][]string // names of packages
	read      map[string]*Catalog      // by the name of the package
	err       error                    // see Err
}

// Keep keeps what is needed of an object, for [declcfg.ReadIndexAndCheck]. It returns no error.
func (o *Outline) Keep(m *declcfg.Meta, v any) error {
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.required == nil {
		o.required, o.apis, o.claims = map[*declcfg.Meta][]Property{}, map[string][]string{}, map[string][]string{}
	}
	for i := range b.Properties {
		p := &b.Properties[i]
		switch {
		case p.Type == declcfg.PropertyGVK:
			addOnce(o.apis, string(p.Value), m.Package)
		case p.Type == declcfg.PropertyPackage:
			var of declcfg.PackageProperty
			if p.Unmarshal(&of) == nil && of.PackageName != m.Package {
				addOnce(o.claims, of.PackageName, m.Package)
			}
		case requirementParsers[p.Type] != nil:
			kept := declcfg.Property{Type: strings.Clone(p.Type), Value: bytes.Clone(p.Value)}
			o.required[m] = append(o.required[m], Property{kept, i})
		}
	}
	return nil
}

func addOnce[K comparable](table map[K][]string, key K, name string) {
	if names := table[key]; !slices.Contains(names, name) {
		table[key] = append(names, name)
	}
}

// Dependencies returns the dependencies of the catalog with this index. Of objects read again, it keeps what a
// [Catalog] keeps. Its errors are also those of reading packages again; see Err.
func (o *Outline) Dependencies(index *declcfg.Index) *Dependencies {
	o.index, o.providing, o.read = index, map[declcfg.GVK][]string{}, map[string]*Catalog{}
	for text, names := range o.apis {
		var api declcfg.GVK
		p := declcfg.Property{Type: declcfg.PropertyGVK, Value: []byte(text)}
		if p.Unmarshal(&api) == nil {
			for _, name := range names {
				addOnce(o.providing, api, name)
			}
		}
	}
	satisfy := func(ctx context.Context, d *Dependency, r requirement) error {
		names, err := packagesFor(r, o)
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			c, err := o.Read(name)
			if err != nil {
				return err
			}
			if err := d.satisfy(ctx, r, c); err != nil {
				return err
			}
		}
		return nil
	}
	return newDependencies(o.required, satisfy)
}

// Err returns the first error of reading a package again.
func (o *Outline) Err() error { return o.err }

// Names implements [Packages].
func (o *Outline) Names() (names []string, err error) {
	for _, p := range o.index.Packages() {
		names = append(names, p.Name)
	}
	return names, nil
}

// Providing implements [Packages].
func (o *Outline) Providing(api declcfg.GVK) ([]string, error) { return o.providing[api], nil }

// Read implements [Packages]. The catalog also has packages with a bundle whose olm.package names this one.
func (o *Outline) Read(name string) (*Catalog, error) {
	if o.read[name] != nil {
		return o.read[name], nil
	}
	c := &Catalog{Index: &declcfg.Index{}}
	for _, name := range append([]string{name}, o.claims[name]...) {
		p := o.index.Package(name)
		if p == nil {
			continue
		}
		for d := range parallel.Map(context.Background(), 0, slices.Values(p.Metas()), decode) {
			if d.err != nil {
				o.err = cmp.Or(o.err, d.err)
				return nil, d.err
			}
			c.Add(d.meta, d.value)
		}
	}
	c.interned = nil
	o.read[name] = c
	return c, nil
}

// A decoded is an object that was read again.
type decoded struct {
	meta  *declcfg.Meta
	value any
	err   error
}

func decode(m *declcfg.Meta) decoded {
	v, err := m.Decode()
	return decoded{m, v, err}
}
