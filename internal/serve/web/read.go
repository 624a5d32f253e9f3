package web

import (
	"iter"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An object is the head of a catalog object, and the result of [declcfg.Object.Decode].
type object struct {
	head  *declcfg.Meta
	value any // nil for other schemas; the texts of its properties are valid until the next object
}

// decoded yields the decoded objects that match a query. It stops after an error.
func (c *Catalog) decoded(q store.Query) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		for line, err := range c.Objects.Query(q).Lines() {
			var o object
			if err == nil {
				o, err = decode(line)
			}
			if !yield(o, err) || err != nil {
				return
			}
		}
	}
}

func decode(line []byte) (object, error) {
	o, err := declcfg.NewObject(declcfg.Pos{}, jsontext.Value(line))
	if err != nil {
		return object{}, err
	}
	v, err := o.Decode()
	return object{o.Meta, v}, err
}

// objectsOf yields the objects of a package, its olm.package first. An error is the last.
func (c *Catalog) objectsOf(name string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		if name == "" { // which would match all packages
			return
		}
		for _, q := range []store.Query{{Schema: declcfg.SchemaPackage, Name: name}, {Package: name}} {
			for o, err := range c.decoded(q) {
				if !yield(o, err) {
					return
				}
			}
		}
	}
}

// operator is a package without the large properties of its bundles.
type operator struct {
	declcfg.Package
	graph    *graph.Package
	messages map[declcfg.Subject]string
}

// operator reads a package. It is nil if the catalog has no package of that name.
func (c *Catalog) operator(name string) (*operator, error) {
	op := &operator{}
	var x declcfg.Index
	for o, err := range c.objectsOf(name) {
		if err != nil {
			return nil, err
		}
		switch v := o.value.(type) {
		case *declcfg.Package:
			if op.Schema == "" {
				op.Package = *v
			}
			x.Add(o.head, v)
		default:
			x.Add(o.head, declcfg.Slim(v))
		}
	}
	if op.Schema == "" {
		return nil, nil
	}
	index := x.Package(name)
	op.graph, op.messages = graph.NewPackage(index), index.DeprecationMessages()
	return op, nil
}

// message returns the message of a deprecation, or "".
func (op *operator) message(schema, name string) string {
	return op.messages[declcfg.Subject{Schema: schema, Name: name}]
}

// head returns the name of the head of a channel, "" if there is not exactly one.
func head(c *graph.Channel) string {
	if c == nil {
		return ""
	}
	if heads := c.Heads(); len(heads) == 1 {
		return heads[0]
	}
	return ""
}

// bundle reads a bundle, nil if there is none. The texts of its properties may be kept.
func (c *Catalog) bundle(pkg, name string) (*declcfg.Bundle, error) {
	if pkg == "" || name == "" { // which would match any bundle
		return nil, nil
	}
	for line, err := range c.Objects.Query(store.Query{Schema: declcfg.SchemaBundle, Package: pkg, Name: name}).Lines() {
		if err != nil {
			return nil, err
		}
		o, err := decode(append([]byte(nil), line...))
		b, _ := o.value.(*declcfg.Bundle)
		return b, err
	}
	return nil, nil
}
