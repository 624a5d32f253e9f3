package skim_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

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
