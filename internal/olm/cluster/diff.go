package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/place"
)

// A Difference is an object that exists in only one of two States, or that differs between them.
type Difference struct {
	Kind      string  `json:"kind"`
	Group     string  `json:"group,omitzero"`
	Namespace string  `json:"namespace,omitzero"`
	Name      string  `json:"name"`
	Change    Change  `json:"change"` // created, updated or deleted
	Fields    []Field `json:"fields,omitempty"`
}

// A Field is a field of an object whose values in two States differ. The value of a missing field is nil.
type Field struct {
	Path   string         `json:"path"` // such as spec.versions[0].name
	Before jsontext.Value `json:"before,omitzero"`
	After  jsontext.Value `json:"after,omitzero"`
}

// A Change is the way in which an object changed.
type Change string

// The changes.
const (
	Created Change = "created"
	Updated Change = "updated"
	Deleted Change = "deleted"
)

// Diff returns the differences between two States by kind, namespace and name, as in [State.All]. Objects that the
// States share are not compared.
func Diff(before, after *State) ([]Difference, error) {
	both := before.Clone()
	for o := range after.All() {
		if _, ok := both.Get(KindOf(o.Value), o.Value.GetNamespace(), o.Value.GetName()); !ok {
			both.Put(o)
		}
	}
	var all []Difference
	for o := range both.All() {
		of, namespace, name := KindOf(o.Value), o.Value.GetNamespace(), o.Value.GetName()
		d := Difference{Kind: of.Kind, Group: of.Group, Namespace: namespace, Name: name}
		old, was := before.Get(of, namespace, name)
		now, is := after.Get(of, namespace, name)
		switch {
		case !was:
			d.Change = Created
		case !is:
			d.Change = Deleted
		case old.Value == now.Value:
			continue
		default:
			d.Change = Updated
			var err error
			if d.Fields, err = fields(old.Value, now.Value); err != nil {
				return nil, fmt.Errorf("%s: %w", nameOf(o.Value), err)
			}
			if len(d.Fields) == 0 {
				continue
			}
		}
		all = append(all, d)
	}
	return all, nil
}

// fields returns the fields that differ between two objects, by path.
func fields(before, after Kubernetes) ([]Field, error) {
	b, err := json.Marshal(before, options)
	if err != nil {
		return nil, err
	}
	a, err := json.Marshal(after, options)
	if err != nil {
		return nil, err
	}
	var c comparison
	c.compare("", b, a)
	return c.fields, c.err
}

// A comparison collects the fields that differ between two objects.
type comparison struct {
	fields []Field
	err    error
}

// compare compares the values at ptr.
func (c *comparison) compare(ptr jsontext.Pointer, before, after jsontext.Value) {
	kind := before.Kind()
	switch {
	case bytes.Equal(before, after):
	case kind == jsontext.KindBeginObject && kind == after.Kind():
		var b, a map[string]jsontext.Value
		c.err = errors.Join(c.err, json.Unmarshal(before, &b, options), json.Unmarshal(after, &a, options))
		keys := maps.Clone(b)
		maps.Copy(keys, a)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			c.compare(ptr.AppendToken(key), b[key], a[key])
		}
	case kind == jsontext.KindBeginArray && kind == after.Kind():
		var b, a []jsontext.Value
		c.err = errors.Join(c.err, json.Unmarshal(before, &b, options), json.Unmarshal(after, &a, options))
		length := max(len(b), len(a))
		b, a = append(b, make([]jsontext.Value, length-len(b))...), append(a, make([]jsontext.Value, length-len(a))...)
		for i := range length {
			c.compare(place.Item(ptr, i), b[i], a[i])
		}
	default:
		c.fields = append(c.fields, Field{place.Path(ptr), before, after})
	}
}

// WriteDiff writes differences for people.
func WriteDiff(w io.Writer, all []Difference) error {
	var text bytes.Buffer
	for _, d := range all {
		name := d.Name
		if d.Namespace != "" {
			name = d.Namespace + "/" + d.Name
		}
		fmt.Fprintf(&text, "%s %s: %s\n", d.Kind, legible.Name(name), d.Change)
		for _, f := range d.Fields {
			fmt.Fprintf(&text, "  %s: %s -> %s\n", legible.Name(f.Path), valueText(f.Before), valueText(f.After))
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}

func valueText(v jsontext.Value) string {
	if v == nil {
		return "none"
	}
	return legible.Value(legible.Name(string(v)))
}
