package format

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// TestBuild builds a value from parts of a text, which are not scanned again, from new values, and from an edited one.
func TestBuild(t *testing.T) {
	d := Parse(jsontext.Value(` {"list":[{"b":1.0,"a":"\u003c"},true],"t\u0065xt":"\u0041\n", "last": {"z":[],"y":null}}`))
	defer d.Release()
	raw := map[string]jsontext.Value{}
	for key, i := range d.Members(0) {
		raw[string(key)] = d.Raw(i)
		if s, ok := d.Text(i); ok != (string(key) == "text") || ok && s != "A\n" {
			t.Errorf("text of %s: %q, %v", key, s, ok)
		}
		if n := len(collect(d, i)); d.IsList(i) != (n == 2) || d.IsObject(i) != (string(key) == "last") {
			t.Errorf("%s: %d elements", key, n)
		}
	}
	d.OpenObject()
	d.String("last")
	d.Value(raw["last"], false)
	d.String("first")
	d.OpenList()
	d.Value(raw["list"], false)
	d.Value(jsontext.Value(`{"d":1.0,"c":"\u003c"}`), true)
	d.Value(raw["text"], false)
	d.Value(nil, false)
	d.Close()
	d.AddMembers(jsontext.Value(`{"o":{},"n":2}`))
	d.Close()
	const wantJSON = `{
    "last": {
        "y": null,
        "z": []
    },
    "first": [
        [
            {
                "a": "<",
                "b": 1
            },
            true
        ],
        {
            "d": 1.0,
            "c": "\u003c"
        },
        "A\n",
        null
    ],
    "n": 2,
    "o": {}
}`
	if got := string(d.AppendJSON(nil)); got != wantJSON {
		t.Errorf("JSON:\n%s\nwant\n%s", got, wantJSON)
	}
	wantYAML := string(AppendYAML(nil, jsontext.Value(wantJSON)))
	if got := string(d.AppendYAML(nil)); got != wantYAML {
		t.Errorf("YAML:\n%s\nwant\n%s", got, wantYAML)
	}
	if len(d.open) != 0 || d.found != 2 { // the text, which is the second value
		t.Errorf("%d open, %d found", len(d.open), d.found)
	}
}

func collect(d *Document, i int) (elements []int) {
	for k := range d.Elements(i) {
		elements = append(elements, k)
	}
	return elements
}

// TestBuildDeep adds a part of the text deeper than YAML is indented.
func TestBuildDeep(t *testing.T) {
	d := Parse(jsontext.Value(`{"a":["b"]}`))
	defer d.Release()
	part := d.Raw(0)
	const depth = MaxIndented + 5
	for range depth {
		d.OpenList()
	}
	d.Value(part, false)
	for range depth {
		d.Close()
	}
	want := string(AppendYAML(nil, []byte(strings.Repeat("[", depth)+string(part)+strings.Repeat("]", depth))))
	same(t, "YAML", string(d.AppendYAML(nil)), want)
}
