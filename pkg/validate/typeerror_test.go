package validate

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestNulled(t *testing.T) {
	const text = `{"a": [1, {"b/c": "x"}, []], "a~b": {}, "": 5}`
	tests := []struct{ ptr, want string }{
		{"", `null`},
		{"/a", `{"a": null, "a~b": {}, "": 5}`},
		{"/a/0", `{"a": [null, {"b/c": "x"}, []], "a~b": {}, "": 5}`},
		{"/a/1/b~1c", `{"a": [1, {"b/c": null}, []], "a~b": {}, "": 5}`},
		{"/a/2", `{"a": [1, {"b/c": "x"}, null], "a~b": {}, "": 5}`},
		{"/a~0b", `{"a": [1, {"b/c": "x"}, []], "a~b": null, "": 5}`},
		{"/", `{"a": [1, {"b/c": "x"}, []], "a~b": {}, "": null}`},
		{"/a/3", ""},
		{"/a/2/0", ""},
		{"/a/x", ""},
		{"/a/0/b", ""},
		{"/b", ""},
		{"/a~0b/c", ""},
	}
	for _, tt := range tests {
		got, ok := nulled(jsontext.Value(text), jsontext.Pointer(tt.ptr))
		if string(got) != tt.want || ok != (tt.want != "") {
			t.Errorf("nulled %q = %s, %t, want %s", tt.ptr, got, ok, tt.want)
		}
	}
	for _, broken := range []string{"", "{", `{"a"`, `{"a": `, "[1"} {
		if got, ok := nulled(jsontext.Value(broken), "/a/1"); ok {
			t.Errorf("nulled %s = %s", broken, got)
		}
	}
}

// TestTypeErrorsEnd checks that validation ends even if the decoder always returns an error.
func TestTypeErrorsEnd(t *testing.T) {
	tests := map[jsontext.Pointer]int{"/a": maxTypeErrors, "/b": 1, "": 1}
	for ptr, want := range tests {
		calls := 0
		for range typeErrors(jsontext.Value(`{"a": 1}`), func(jsontext.Value) (jsontext.Pointer, error) {
			return ptr, errors.New("no")
		}) {
			calls++
		}
		if calls != want {
			t.Errorf("%q: %d errors, want %d", ptr, calls, want)
		}
	}
}
