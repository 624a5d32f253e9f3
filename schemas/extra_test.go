package schemas

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const ownRules = `package ours

import "strings"

#Helper: {a: string}

#Thing: {
	schema!: "example.com/thing"
	level!:  "gold" | "silver" | 3
	tier?:   int & >0 & <4
	short?:  strings.MaxRunes(2)
	deep?: {"a-b"?: {c!: #Helper}}
	if level == "gold" {reason!: string}
}

#OurBundle: #Bundle & {
	schema:  "olm.bundle"
	package: _
	let P = package
	name:    =~"^\(P)[.]v[0-9]"
	image:   =~"^quay.io/ours/"
	...
}

#Tier: {type!: "example.com/tier", value!: int & <4}

#OurGVK: {type: "olm.gvk", value: {group: =~"[.]com$", ...}, ...}
`

func TestExtra(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"good thing", `{"schema": "example.com/thing", "level": "silver", "tier": 3, "short": "ab"}`, ""},
		{"alternatives", `{"schema": "example.com/thing", "level": "bronze"}`,
			`/level want 3, "gold" or "silver", found string ("bronze")`},
		{"alternatives of several kinds", `{"schema": "example.com/thing", "level": []}`,
			`/level want "gold", "silver" or 3, found list`},
		{"one field depends on another", `{"schema": "example.com/thing", "level": "gold"}`, "reason: required, but missing"},
		{"closed", `{"schema": "example.com/thing", "level": 3, "x-y": {"z": 1}}`, "/x-y unknown key"},
		{"closed, inside", `{"schema": "example.com/thing", "level": 3, "deep": {"a-b": {"c": {"a": "", "d": {"e": 1}}}}}`,
			"/deep/a-b/c/d unknown key"},
		{"bounds", `{"schema": "example.com/thing", "level": 3, "tier": 4}`, "/tier must be <4, found number (4)"},
		{"not an integer", `{"schema": "example.com/thing", "level": 3, "tier": 1.5}`,
			"/tier wrong type: want integer, found number (1.5)"},
		{"large numbers", `{"schema": "example.com/thing", "level": 3, "tier": 123456789012345678901}`,
			"/tier must be <4, found number (123456789012345678901)"},
		{"what is not translated", `{"schema": "example.com/thing", "level": 3, "short": "abc"}`,
			`/short invalid value "abc" (does not satisfy strings.MaxRunes(2))`},

		{"good bundle", `{"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "quay.io/ours/p", "more": 1,
			"properties": [{"type": "example.com/tier", "value": 3}]}`, ""},
		{"bundle", `{"schema": "olm.bundle", "package": "p", "name": "q.v1", "image": "docker.io/q", "properties": []}`,
			`/image must match "^quay.io/ours/", found string ("docker.io/q"); ` +
				`/name must match "^p[.]v[0-9]", found string ("q.v1")`},
		{"nothing twice", `{"schema": "olm.bundle", "package": "p", "name": "p.v1", "properties": [{"type": "t"}]}`,
			"image: required, but missing; /properties/0 value: required, but missing"},
		{"own property", `{"schema": "x", "properties": [{"type": "example.com/tier", "value": 4},
			{"type": "example.com/tier", "value": "3", "more": 1}]}`,
			`/properties/0/value must be <4, found number (4); /properties/1/more unknown key; ` +
				`/properties/1/value wrong type: want integer, found string ("3")`},
		{"property of the format", `{"schema": "x", "properties": [
			{"type": "olm.gvk", "value": {"group": "a.com", "kind": "K", "version": "v1"}},
			{"type": "olm.gvk", "value": {"group": "a.org", "kind": "K", "version": ""}}]}`,
			`/properties/1/value/group must match "[.]com$", found string ("a.org"); ` +
				`/properties/1/value/version must not be empty`},
	}
	c := newChecker(t, File{"ours.cue", []byte(ownRules)})
	for _, test := range tests {
		for _, time := range []string{"first", "remembered"} {
			if got := strings.Join(check(t, c, test.raw), "; "); got != test.want {
				t.Errorf("%s, %s: got\n%s\nwant\n%s", test.name, time, got, test.want)
			}
		}
	}
}

func TestExtraIsMarked(t *testing.T) {
	c := newChecker(t, File{"ours.cue", []byte(ownRules)})
	got := c.Object("olm.bundle", jsontext.Value(`{"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "i"}`))
	want := []Finding{
		{"", "properties: required, but missing", "properties", "#Bundle", false},
		{"/image", `must match "^quay.io/ours/", found string ("i")`, "", "#OurBundle", true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestExtraErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"syntax", "#A: {", "x.cue:1:6: expected '}', found 'EOF'"},
		{"unknown definition", "#A: {schema: \"x\"}\n\n#B: #C\n", `x.cue:3:5: #B: reference "#C" not found`},
		{"unknown package", "import \"nope\"\n#A: {schema: nope.X}", `x.cue:1:8: builtin package "nope" undefined`},
		{"contradiction", "#A: {\n\tschema: \"x\"\n\tb: 1 & 2\n}", "x.cue:3:5: #A.b: conflicting values 2 and 1"},
		{"nothing to check", "#A: {schema: string}\na: {schema: \"x\"}\n", "x.cue:1:1: no definition says what it is for"},
		{"empty", "", "x.cue:1:1: no definition says what it is for"},
		{"a default is not a constant", `#A: {schema: *"a" | "b"}`, "x.cue:1:1: no definition says what it is for"},
	}
	for _, test := range tests {
		_, err := NewChecker(File{"x.cue", []byte(test.text)})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	_, err := NewChecker(File{"x.cue", []byte("#A: {")}, File{"y.cue", []byte("#B: {")})
	if err == nil || !strings.Contains(err.Error(), "y.cue:1:6: ") {
		t.Errorf("not every file is reported: %v", err)
	}
}
