package declcfg

import (
	"context"
	"reflect"
	"testing"
	"testing/fstest"
)

// TestPacked compares the objects of an index with the added ones: their values and Metas, and objects in no file.
func TestPacked(t *testing.T) {
	source := Source{Name: "c", FS: fstest.MapFS{
		"a.yaml": {Data: []byte(`# a comment
schema: olm.package
name: kiln
package: other
defaultChannel: stable
---
{schema: olm.channel, package: kiln, name: stable, entries: [
  {name: kiln.v2, replaces: kiln.v1, skips: [kiln.v0, kiln.v0.1], skipRange: <2.0.0, weight: 3}, {name: kiln.v1}]}
---
{schema: olm.channel, package: kiln, name: empty}
---
{schema: olm.deprecations, package: kiln, entries: [{reference: {schema: olm.bundle, name: kiln.v1}, message: "Use v2.\n"}]}
`)},
		"b.json": {Data: []byte(`{"schema": "olm.bundle", "package": "kiln", "name": "kiln.v2", "image": "i2", "properties": [
  {"type": "olm.package", "value": {"packageName": "kiln", "version": "2.0.0-rc.1+a", "release": "3.b"}},
  {"type": "olm.gvk.required", "value": {}}, {"type": "olm.deprecated", "value": {}}]}
{"schema": "olm.bundle", "package": "kiln", "name": "kiln.v1", "image": "i1"}`)},
	}}
	type object struct {
		meta  *Meta
		value any
	}
	var added []object
	for o, err := range Map(context.Background(), func(o *Object) (object, error) {
		v, err := o.Decode()
		return object{o.Meta, Slim(v)}, err
	}, source) {
		if err != nil {
			t.Fatal(err)
		}
		added = append(added, o)
	}
	loose, err := NewObject(Pos{File: "l"}, []byte(`{"schema": "olm.bundle", "package": "kiln", "name": "loose"}`))
	if err != nil {
		t.Fatal(err)
	}
	added = append(added, object{loose.Meta, nil})

	var x Index
	for _, o := range added {
		x.Add(o.meta, o.value)
	}
	check := func(p *PackageIndex) {
		t.Helper()
		var got []object
		for _, o := range p.Packages {
			got = append(got, object{o.Meta, o.Value})
		}
		for _, o := range p.Channels {
			got = append(got, object{o.Meta, o.Value})
		}
		for _, o := range p.Deprecations {
			got = append(got, object{o.Meta, o.Value})
		}
		for _, o := range p.Bundles[:2] {
			got = append(got, object{o.Meta, o.Value})
		}
		if o := p.Bundles[2]; o.Value != nil || o.Meta != loose.Meta {
			t.Errorf("got %+v for an object in no file", o)
		}
		if len(got) != len(added)-1 {
			t.Fatalf("got %d objects of %d", len(got)+1, len(added))
		}
		for i, o := range got {
			if !reflect.DeepEqual(o, added[i]) {
				t.Errorf("got %+v, want %+v", o, added[i])
			}
			if o.meta.Key() != added[i].meta.Key() {
				t.Errorf("%s has another key", o.meta.Name)
			}
		}
	}
	for p := range x.Each() {
		check(p)
	}
	p := x.Package("kiln")
	check(p)
	if x.Package("kiln") != p || x.Packages()[0] != p {
		t.Error("a package is not kept")
	}
	x.Add(added[0].meta, added[0].value)
	if len(x.Package("kiln").Packages) != 2 {
		t.Error("an object is not added to a package that is kept")
	}
}
