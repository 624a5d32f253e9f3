package diff

import (
	"context"
	"hash/maphash"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A catalog is one of the two compared catalogs, with hashes instead of contents.
type catalog struct {
	index    declcfg.Index
	packages map[string]bool  // packages of all objects
	contents map[name]content // of packages, channels, bundles, and deprecations by package
	others   byPackage[uint64]
	messages byPackage[message]
}

// A byPackage maps packages and names to values.
type byPackage[T any] map[string]map[name]T

func (b byPackage[T]) of(pkg string) map[name]T {
	if b[pkg] == nil {
		b[pkg] = map[name]T{}
	}
	return b[pkg]
}

// A name identifies an object, or the object of a deprecation. For the deprecation of the package, name.name is "".
type name struct {
	pkg, schema, name string
}

// A message is the content of a deprecation.
type message struct {
	text   string
	others uint64 // hash of unknown keys
}

// An object is an object of a catalog, without large values.
type object struct {
	value        any
	content      content
	deprecations []declcfg.Deprecation
}

// read reads the objects of a catalog. The error joins the errors of all objects that cannot be read, sorted by
// position.
func read(ctx context.Context, sources []declcfg.Source) (*catalog, error) {
	c := &catalog{
		packages: map[string]bool{},
		contents: map[name]content{},
		others:   byPackage[uint64]{},
		messages: byPackage[message]{},
	}
	return c, declcfg.Collect(ctx, readObject, c.add, sources...)
}

func (c *catalog) add(m *declcfg.Meta, o object) {
	pkg := m.Owner()
	c.packages[pkg] = true
	c.index.Add(m, o.value)
	id := name{pkg, m.Schema, m.Name}
	switch {
	case m.Schema == declcfg.SchemaDeprecations:
		messages := c.messages.of(pkg)
		for _, d := range o.deprecations {
			target := name{pkg, d.Reference.Schema, d.Reference.Name}
			if _, known := messages[target]; !known {
				messages[target] = message{d.Message, mix(sumOf(d.Unknown), sumOf(d.Reference.Unknown))}
			}
		}
		c.addContent(name{pkg, declcfg.SchemaDeprecations, ""}, o.content)
	case o.value == nil:
		sum := mix('{', 0)
		for _, p := range o.content {
			sum = mix(sum, mix(maphash.String(seed, p.key), p.sum))
		}
		c.others.of(pkg)[id] += sum // several objects may have the same name, in any order
	default:
		c.addContent(id, o.content)
	}
}

func readObject(m *declcfg.Object) (object, error) {
	var o object
	v, err := m.Decode()
	if err != nil {
		return o, err
	}
	if d, ok := v.(*declcfg.Deprecations); ok {
		o.deprecations = slices.Clone(d.Entries)
	}
	o.content = contentOf(m.Schema, m.JSON())
	o.value = declcfg.Slim(v)
	return o, nil
}

// addContent sets the content of a name, unless it is already set.
func (c *catalog) addContent(id name, content content) {
	if _, known := c.contents[id]; !known {
		c.contents[id] = content
	}
}

// has reports whether the catalog has objects of the package.
func (c *catalog) has(pkg string) bool { return c.packages[pkg] }

// packageIndex returns the index of the package, which may be empty.
func (c *catalog) packageIndex(pkg string) *declcfg.PackageIndex {
	if x := c.index.Package(pkg); x != nil {
		return x
	}
	return &declcfg.PackageIndex{Name: pkg}
}
