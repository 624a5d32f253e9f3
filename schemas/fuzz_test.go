package schemas

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"cuelang.org/go/cue"
	"cuelang.org/go/cue/cuecontext"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// FuzzChecker mutates valid objects, and checks that cached results do not change the findings, and that there are
// findings if and only if CUE rejects the whole object.
func FuzzChecker(f *testing.F) {
	names := slices.Sorted(maps.Keys(good))
	for i := range names {
		f.Add(uint8(i), []byte{})
		f.Add(uint8(i), []byte{0, 1, 3, 7, 1, 2})
	}
	for op := range uint8(operations) {
		for node := range uint8(16) {
			f.Add(node, []byte{node, op, node + 1, op + 1})
			f.Add(node+16, []byte{node, op})
		}
	}
	rules, err := newRules(NewExtra())
	if err != nil {
		f.Fatal(err)
	}
	remembering := newChecker(f)
	fresh := &Checker{rules: rules}
	f.Fuzz(func(t *testing.T, seed uint8, changes []byte) {
		tree := decode(jsontext.Value(good[names[int(seed)%len(names)]]), whole)
		for ; len(changes) >= 2 && seed < 250; changes = changes[2:] {
			tree = mutate(tree, int(changes[0]), int(changes[1]))
		}
		raw := appendTree(nil, tree, int(seed))
		if raw[0] != '{' { // not an object of a catalog
			return
		}
		schema := schemaOf(raw)

		got := remembering.object(schema, raw)
		fresh.memory = memory{}
		if want := fresh.object(schema, raw); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nwith memory:    %v\nwithout memory: %v", raw, got, want)
		}
		if want := againstCUE(rules, schema, raw); (len(got) == 0) != (want == nil) {
			t.Fatalf("%s\nfound: %v\nCUE:   %v", raw, got, want)
		}
	})
}

// againstCUE returns the error of CUE for a whole object or for one of its whole properties.
func againstCUE(r *rules, schema string, raw jsontext.Value) error {
	tree := decode(raw, whole)
	if err := unify(r.definition(objectDefinition(schema).name), tree); err != nil {
		return err
	}
	object, _ := tree.(map[string]any)
	properties, _ := object["properties"].([]any)
	for _, p := range properties {
		typ, _ := p.(map[string]any)["type"].(string)
		if def := propertyDefinitions[typ]; def != nil {
			if err := unify(r.definition(def.name), p); err != nil {
				return err
			}
		}
	}
	return nil
}

// replacements lists the values that mutations insert.
var replacements = []any{
	"", "x", "olm.package", "4.18", int64(0), jsontext.Value("1.5"), true, nil, map[string]any{}, []any{},
	[]any{"x", ""}, map[string]any{"constraints": []any{}}, map[string]any{"cel": map[string]any{"rule": "r"}},
}

// operations is the number of different mutations of a value.
var operations = len(replacements) + 3

// mutate changes the nth value of a tree, in the order of a walk.
func mutate(tree any, nth, operation int) any {
	count := 0
	return change(tree, &count, nth, operation%operations)
}

func change(tree any, count *int, nth, operation int) any {
	*count++
	if *count == nth+1 {
		return changed(tree, operation)
	}
	switch t := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(t)) {
			t[key] = change(t[key], count, nth, operation)
		}
	case []any:
		for i := range t {
			t[i] = change(t[i], count, nth, operation)
		}
	}
	return tree
}

func changed(tree any, operation int) any {
	if operation < len(replacements) {
		return decode(appendTree(nil, replacements[operation], 0), whole)
	}
	switch t := tree.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(t))
		switch {
		case operation == len(replacements):
			t["more"] = map[string]any{"": ""}
		case len(keys) > 0:
			delete(t, keys[(operation-len(replacements)-1)*(len(keys)-1)])
		}
	case []any:
		return append(t, t...)
	}
	return tree
}

// appendTree appends a tree as JSON, in one of 8 styles: the bits of style select reversed keys, escapes and spaces.
func appendTree(out []byte, tree any, style int) []byte {
	space := []string{"", " \n"}[style>>2&1]
	switch t := tree.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(t))
		if style&1 != 0 {
			slices.Reverse(keys)
		}
		for i, key := range keys {
			out = append(out, "{,"[min(i, 1)])
			out = append(append(appendText(append(out, space...), key, style), space...), ':')
			out = appendTree(append(out, space...), t[key], style)
		}
		if len(keys) == 0 {
			out = append(out, '{')
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, element := range t {
			if i > 0 {
				out = append(append(out, space...), ',')
			}
			out = appendTree(append(out, space...), element, style)
		}
		return append(out, ']')
	case string:
		return appendText(out, t, style)
	case nil:
		return append(out, "null"...)
	case jsontext.Value:
		return append(out, t...)
	}
	return fmt.Append(out, tree)
}

func appendText(out []byte, text string, style int) []byte {
	if style&2 == 0 || text == "" {
		out, _ = jsontext.AppendQuote(out, text)
		return out
	}
	out = fmt.Appendf(out, `"\u%04x`, text[0])
	rest, _ := jsontext.AppendQuote(nil, text[1:])
	return append(out, rest[1:]...)
}

// TestDecodable checks that Decodable is true for decodable values in the usual notation of tools, and false for other
// values and notations.
func TestDecodable(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"type": "t", "value": [{"a": null}]}`:                                                                    true,
		`{"type": "olm.gvk", "value": {"group": "g", "more": [1]}}`:                                                true,
		`{"type": "olm.channel", "value": {"channelName": "a"}}`:                                                   true,
		`{"type": "olm.csv.metadata", "value": {"labels": {"A": "b"}}}`:                                            true,
		`{"type": "olm.csv.metadata", "value": {"installModes": [{"supported": false}], "description": "\"}{\\"}}`: true,
		`{"type": "olm.csv.metadata", "value":
			{"crdDescriptions": {"owned": [{"specDescriptors": [{"x-descriptors": ["a"], "value": {}}]}]}}}`: true,

		`{"type": "olm.csv.metadata", "value":
			{"crdDescriptions": {"owned": [{"specDescriptors": [{"x-descriptors": [1], "value": {}}]}]}}}`: false,
		`{"type": "olm.csv.metadata", "value": {"labels": {"a": 1}}}`: false,
		`{"type": "olm.csv.metadata", "value": {"Labels": {}}}`:       false,
		`{"type": "olm.gvk", "value": {"\u212aind": "k"}}`:            false,
		`{"type": "olm.gvk", "value": []}`:                            false,
		`{"type": "olm.gvk", "value": null}`:                          false,
		`{"type": "olm.gvk", "value": {"group": null}}`:               false,
		`{"type": "olm.gvk"}`:                                         false,
		`{"type": "t"}`:                                               false,
		`{"type": "t", "value": 1, "Value": 2}`:                       false,
		`{"value": {}, "type": "olm.gvk"}`:                            false,
		`{"value": {}}`:                                               false,
		`{"type": 1, "value": {}}`:                                    false,
		`1`:                                                           false,
	} {
		var c Checker
		c.object("olm.bundle", jsontext.Value(`{"properties": [`+raw+`]}`))
		if c.Decodable(0) != want || c.Decodable(1) {
			t.Errorf("%s: decodable: %v, want %v", raw, !want, want)
		}
	}
}

// FuzzProperty checks that every property for which Decodable is true can be decoded.
func FuzzProperty(f *testing.F) {
	for typ := range propertyDefinitions {
		for _, value := range []string{
			`null`, `{}`, `"text"`, `[]`, ` {"data": "e30="}`, `{"data": [1, 256]}`, `{"Data": "e3\n0="}`, `{"data": null}`,
			`{"version": "1", "release": 2}`, `{"labels": {"a": "b", "A": 1}}`, `{"installModes": [{"supported": true}]}`,
			`{"apiServiceDefinitions": {"owned": [{"containerPort": 1e1, "name": ""}], "required": null}}`,
			`{"crdDescriptions": {"Owned": [{"specDescriptors": [{"value": {"b": 1}, "x-descriptors": ["a", null]}]}]}}`,
			`{"de\u017fcription": 1}`, `{"\u212aind": 1}`, `{"description": "a\\\"\/\\"}`, `{"version": "1", "VERSION": 2}`,
		} {
			f.Add(typ, []byte(value))
		}
	}
	c := new(Checker)
	f.Fuzz(func(t *testing.T, typ string, value []byte) {
		quoted, _ := jsontext.AppendQuote(nil, typ)
		for _, format := range []string{`{"type": %s, "value": %s}`, `{"value": %[2]s, "type": %[1]s}`, `{"type": %s, "VALUE": %s}`} {
			raw := fmt.Sprintf(`{"schema": "olm.bundle", "properties": [`+format+`, {"type": %[1]s}]}`, quoted, value)
			o, err := declcfg.NewObject(declcfg.Pos{}, jsontext.Value(raw))
			if err != nil {
				return
			}
			c.Object(o)
			v, err := o.Decode()
			for i := range c.decodable {
				if b, ok := v.(*declcfg.Bundle); c.Decodable(i) && (!ok || b.Properties[i].Check() != nil) {
					t.Errorf("%s: property %d cannot be decoded (%v)", raw, i, err)
				}
			}
		}
	})
}

// TestEncode checks that Context.Encode of CUE keeps numbers and nulls unchanged. A change there would change verdicts.
func TestEncode(t *testing.T) {
	file := cuecontext.New().CompileString(
		`#D: {n!: int, f!: float, large: 123456789012345678901, null: null, deep: [null, {a: 1}], "#x": 1}`)
	def := file.LookupPath(cue.ParsePath("#D"))
	tree := decode(jsontext.Value(
		`{"n": 1, "f": 1.0, "large": 123456789012345678901, "null": null, "deep": [null, {"a": 1}], "#x": 1}`), whole)
	if err := unify(def, tree); err != nil {
		t.Error(err)
	}
}
