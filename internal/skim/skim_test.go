package skim_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
)

// FuzzCursor checks that a cursor finds the values of valid JSON, whether it enters them or skips them, and that it
// reaches the end of any text.
func FuzzCursor(f *testing.F) {
	for _, text := range []string{
		` {"a": [1, -2.5e3, {}], "b\"": {"\\": "\\\"", "": [[]]}} `, `"\\\\"`, "[\ttrue,\r\nnull , false]", `1`, `""`, `{"a":"]}"}`,
		`{"a`, `[}`, `{"a":[`, `:`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := skim.New(text)
		walk(&c, nil)
		raw := jsontext.Value(text)
		if !raw.IsValid() {
			return
		}
		want := bytes.Clone(text)
		compact := jsontext.Value(want)
		if err := compact.Compact(); err != nil {
			t.Fatal(err)
		}
		c = skim.New(raw)
		if got := walk(&c, nil); !bytes.Equal(got, compact) {
			t.Errorf("%s: got %s, want %s", text, got, compact)
		}
		c = skim.New(raw)
		if got := c.Value(); !bytes.Equal(got, bytes.TrimSpace(text)) {
			t.Errorf("%s: got %s", text, got)
		}
	})
}

// walk appends a value without space.
func walk(c *skim.Cursor, out []byte) []byte {
	kind := c.Kind()
	if kind != '{' && kind != '[' {
		return append(out, c.Value()...)
	}
	out = append(out, kind)
	n := 0
	for c.Enter(); c.More(); n++ {
		if n > 0 {
			out = append(out, ',')
		}
		if kind == '{' {
			out = append(append(out, c.Value()...), ':')
		}
		out = walk(c, out)
	}
	return append(out, kind+2)
}

// TestStringEnd checks StringEnd with text that is not valid JSON, too.
func TestStringEnd(t *testing.T) {
	for text, want := range map[string]int{
		``: -1, `a`: -1, `\`: -1, `\"`: -1, `\\\"`: -1, `"`: 1, `a"b"`: 2, `\"a"`: 4, `\\"a"`: 3, `\"\\\""`: 7,
	} {
		if got := skim.StringEnd([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// FuzzFits checks that every value that fits a type can be decoded into it, with the same result as upstream.
func FuzzFits(f *testing.F) {
	type inner struct {
		Name string         `json:"name"`
		Any  jsontext.Value `json:"any"`
	}
	type outer struct {
		Text string            `json:"text,omitempty"`
		Yes  bool              `json:"yes"`
		List []inner           `json:"list"`
		Map  map[string]string `json:"map"`
		Data []byte            `json:"data"`
		Port int32             `json:"port"`
	}
	for text, want := range map[string]bool{
		`{"text": "", "yes": false, "list": [{"name": "a", "any": null}, {}], "map": {"A": "b", "a": ""}, "more": null}`: true,
		`null`: false, `{"text": null}`: false, `{"list": [null]}`: false, `{"map": {"a": null}}`: false, `{}`: true, `[]`: false, `{"list": {}}`: false, `{"list": [{"name": 1}]}`: false,
		`{"map": {"a": 1}}`: false, `{"yes": "true"}`: false, `{"te\u0078t": ""}`: false, `{"TEXT": ""}`: false,
		`{"li\u017ft": []}`: false, `{"data": "e30="}`: false, `{"port": 1}`: false, `{"data": null}`: false,
	} {
		f.Add([]byte(text))
		if got := skim.Fits([]byte(text), reflect.TypeFor[outer]()); got != want {
			f.Errorf("%s: fits: %v, want %v", text, got, want)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !jsontext.Value(text).IsValid() || !skim.Fits(text, reflect.TypeFor[outer]()) {
			return
		}
		if err := json.Unmarshal(text, new(outer)); err != nil {
			t.Errorf("%s fits: %v", text, err)
		}
	})
}

// A node contains itself, a struct without a name, and types that decode themselves.
type node struct {
	head  `json:",inline"`
	Next  *node           `json:"next"`
	List  []node          `json:"list"`
	Map   map[string]node `json:"map"`
	Own   own             `json:"own"`
	Time  time.Time       `json:"time"`
	Plain string
}

type head struct {
	Name string `json:"name"`
}

// An own decodes itself.
type own struct {
	Key string `json:"key"`
}

func (*own) UnmarshalJSON([]byte) error { return nil }

// TestUnknownKeys checks the unknown keys of the shape of an object of Kubernetes, and those below a key that stands for
// a field.
func TestUnknownKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"name": "a", "next": {"next": {"nam": 1}}, "x": {"name": {}, "y": 1}}`: "/next/next/nam /x",
		`{"list": [{}, {"a/b": 1, "Name": 2}], "map": {"any": {"z": []}}}`:       "/list/1/a~1b /list/1/Name /map/any/z",
		`{"own": {"key": 1, "no": 2}, "time": {"any": 1}, "Plain": 3}`:           "/own/no /Plain",
		`{"n\u0061me": 1, "list": {"x": 1}, "map": [{"x": 1}], "next": null}`:    "",
		`{"NEXT": {"x": 1, "name": "a"}, "List": 1}`:                             "/NEXT /next/x /List",
		`[{"x": 1}]`: "", `{}`: "",
	} {
		var got []string
		shape := skim.KeyShape(reflect.TypeFor[*node]())
		shape.UnknownKeys([]byte(text), func(ptr jsontext.Pointer, of *skim.Shape) *skim.Field {
			got = append(got, string(ptr))
			if ptr.LastToken() == "NEXT" {
				return &of.Fields[1]
			}
			return nil
		})
		if got := strings.Join(got, " "); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	want := []string{"name", "next", "list", "map", "own", "time"}
	if got := skim.KeyShape(reflect.TypeFor[node]()).Names(); !slices.Equal(got, want) {
		t.Errorf("got names %q, want %q", got, want)
	}
}

// TestFold checks that names have the same folded form if they are equal in any case.
func TestFold(t *testing.T) {
	names := []string{"", "name", "NAME", "Name", "names", "s", "\u017f", "k", "K", "\u212a", "\u03c3", "\u03c2", "\u03a3",
		"\u01c4", "\u01c6", "i", "\u0131", "1_a-B"}
	for _, a := range names {
		for _, b := range names {
			if got, want := skim.Fold(a) == skim.Fold(b), strings.EqualFold(a, b); got != want {
				t.Errorf("%q and %q: equal: %t, want %t", a, b, got, want)
			}
		}
	}
}
