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
			`/level want "gold" | "silver" | 3, found "bronze"`},
		{"alternatives of several kinds", `{"schema": "example.com/thing", "level": []}`,
			"/level want integer or string, found list"},
		{"one field depends on another", `{"schema": "example.com/thing", "level": "gold"}`, "/reason is required"},
		{"a wrong field that depends on another", `{"schema": "example.com/thing", "level": "gold", "reason": 1}`,
			"/reason want string, found 1"},
		{"closed", `{"schema": "example.com/thing", "level": 3, "x-y": {"z": 1}}`, "/x-y unknown key"},
		{"closed, inside", `{"schema": "example.com/thing", "level": 3, "deep": {"a-b": {"c": {"a": "", "d": {"e": 1}}}}}`,
			"/deep/a-b/c/d unknown key"},
		{"bounds", `{"schema": "example.com/thing", "level": 3, "tier": 4}`, "/tier want uint & >0 & <4, found 4"},
		{"not an integer", `{"schema": "example.com/thing", "level": 3, "tier": 1.5}`,
			"/tier want integer, found 1.5"},
		{"large numbers", `{"schema": "example.com/thing", "level": 3, "tier": 123456789012345678901}`,
			"/tier want uint & >0 & <4, found 123456789012345678901"},
		{"what is not translated", `{"schema": "example.com/thing", "level": 3, "short": "abc"}`,
			`/short want strings.MaxRunes(2), found "abc"`},

		{"good bundle", `{"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "quay.io/ours/p", "more": 1,
			"properties": [{"type": "example.com/tier", "value": 3}]}`, ""},
		{"bundle", `{"schema": "olm.bundle", "package": "p", "name": "q.v1", "image": "docker.io/q", "properties": []}`,
			`/image want =~"^quay.io/ours/", found "docker.io/q"; /name want =~"^p[.]v[0-9]", found "q.v1"`},
		{"nothing twice", `{"schema": "olm.bundle", "package": "p", "name": "p.v1", "properties": [{"type": "t"}]}`,
			"/image is required; /properties/0/value is required"},
		{"own property", `{"schema": "x", "properties": [{"type": "example.com/tier", "value": 4},
			{"type": "example.com/tier", "value": "3", "more": 1}]}`,
			"/properties/0/value want int & <4, found 4; /properties/1/more unknown key; " +
				`/properties/1/value want integer, found "3"`},
		{"property of the format", `{"schema": "x", "properties": [
			{"type": "olm.gvk", "value": {"group": "a.com", "kind": "K", "version": "v1"}},
			{"type": "olm.gvk", "value": {"group": "a.org", "kind": "K", "version": ""}}]}`,
			`/properties/1/value/group want =~"[.]com$", found "a.org"; ` +
				"/properties/1/value/version must not be empty"},
	}
	c := newChecker(t, File{Name: "ours.cue", Data: []byte(ownRules)})
	for _, test := range tests {
		for _, time := range []string{"first", "remembered"} {
			if got := strings.Join(check(t, c, test.raw), "; "); got != test.want {
				t.Errorf("%s, %s: got\n%s\nwant\n%s", test.name, time, got, test.want)
			}
		}
	}
}

func TestExtraIsMarked(t *testing.T) {
	c := newChecker(t, File{Name: "ours.cue", Data: []byte(ownRules)})
	got := c.object("olm.bundle", jsontext.Value(`{"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "i"}`))
	want := []Finding{
		{"/image", Invalid, `want =~"^quay.io/ours/", found "i"`, "#OurBundle", true, false, ""},
		{"/properties", Missing, "is required", "#Bundle", false, false, "package-property"},
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
		_, err := NewChecker(File{Name: "x.cue", Data: []byte(test.text)})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	_, err := NewChecker(File{Name: "x.cue", Data: []byte("#A: {")}, File{Name: "y.cue", Data: []byte("#B: {")})
	if err == nil || !strings.Contains(err.Error(), "y.cue:1:6: ") {
		t.Errorf("not every file is reported: %v", err)
	}
}
