package schemas

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/schematest"
)

// good has an object without findings for each definition.
var good = map[string]string{
	"Meta": `{"schema": "example.com/thing", "package": "p", "name": "n", "properties": [{"type": "t", "value": 1}],
		"more": {"deep": [1, null]}}`,
	"Meta without anything": `{"schema": "x"}`,
	"Package":               `{"schema": "olm.package", "name": "p", "defaultChannel": "stable"}`,
	"Package with all": `{"schema": "olm.package", "name": "p", "defaultChannel": "stable", "description": "",
		"icon": {"base64data": "", "mediatype": "image/png", "more": 1},
		"properties": [{"type": "t", "value": false}], "more": [1]}`,
	"Channel": `{"schema": "olm.channel", "package": "p", "name": "stable", "entries": []}`,
	"Channel with all": `{"schema": "olm.channel", "package": "p", "name": "stable", "properties": [],
		"entries": [{"name": "a"}, {"name": "b", "replaces": "a", "skips": ["x", "y"], "skipRange": "<1.0.0", "more": 1}]}`,
	"Bundle": `{"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "i", "properties": []}`,
	"Bundle with all": `{"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "i",
		"properties": [{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0", "release": "1"}}],
		"relatedImages": [{"image": "i", "name": ""}, {"image": "j"}]}`,
	"Deprecations": `{"schema": "olm.deprecations", "package": "p", "entries": [
		{"reference": {"schema": "olm.package"}, "message": "m"},
		{"reference": {"schema": "olm.channel", "name": "alpha"}, "message": "m"},
		{"reference": {"schema": "olm.bundle", "name": "p.v1"}, "message": "m"}]}`,
	"Property":                `{"schema": "x", "properties": [{"type": "mine", "value": {"a": null}, "more": 1}]}`,
	"PropertyGVK":             property1(`"olm.gvk"`, `{"group": "g", "version": "v1", "kind": "K", "description": "d"}`),
	"PropertyGVKRequired":     property1(`"olm.gvk.required"`, `{"group": "g", "version": "v1", "kind": "K"}`),
	"PropertyPackageRequired": property1(`"olm.package.required"`, `{"packageName": "p", "versionRange": ">1"}`),
	"PropertyCSVMetadata": property1(`"olm.csv.metadata"`, `{"annotations": {"a": "b"}, "displayName": "",
		"crdDescriptions": {"owned": [{"name": "n"}]}, "installModes": [{"type": "OwnNamespace", "supported": true}]}`),
	"PropertyBundleObject":               property1(`"olm.bundle.object"`, `{"data": "e30="}`),
	"PropertyMaxOpenShiftVersion text":   property1(`"olm.maxOpenShiftVersion"`, `"4.18"`),
	"PropertyMaxOpenShiftVersion number": property1(`"olm.maxOpenShiftVersion"`, `4.18`),
	"PropertyMaxOpenShiftVersion, value first": `{"schema": "x", "properties": [
		{"value": "4.9", "type": "olm.maxOpenShiftVersion"}]}`,
	"PropertyConstraint package": property1(`"olm.constraint"`,
		`{"package": {"packageName": "p", "versionRange": ">1"}}`),
	"PropertyConstraint gvk": property1(`"olm.constraint"`,
		`{"gvk": {"group": "g", "version": "v1", "kind": "K"}}`),
	"PropertyConstraint cel with failureMessage": property1(`"olm.constraint"`,
		`{"failureMessage": "m", "cel": {"rule": "true"}}`),
	"PropertyConstraint nested": property1(`"olm.constraint"`, `{"all": {"constraints": [
		{"any": {"constraints": [{"cel": {"rule": "true"}}, {"not": {"constraints": []}}]}}]}}`),
	"names with escapes": `{"schema": "olm.bundle", "packa\u0067e": "p", "name": "p.v1", "image": "i",
		"propert\u0069es": [{"typ\u0065": "olm\u002epackage", "value": {"packageName": "p", "version": "1.0.0"}}]}`,
}

func property1(typ, value string) string {
	return `{"schema": "x", "properties": [{"type": ` + typ + `, "value": ` + value + `}]}`
}

func TestGood(t *testing.T) {
	c, editors := newChecker(t), compiled(t, "catalog")
	for name, raw := range good {
		if found := check(t, c, raw); found != nil {
			t.Errorf("%s: %q", name, found)
		}
		if err := schematest.Validate(editors, []byte(raw)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBad(t *testing.T) {
	const bundle = `"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "i", "properties": []`
	tests := []struct{ name, raw, want string }{ // want has findings separated by semicolons
		{"schema empty", `{"schema": ""}`, "/schema must not be empty"},
		{"schema missing", `{"Schema": "olm.package"}`, "/schema is required"},
		{"package empty", `{"schema": "x", "package": ""}`, "/package must not be empty"},
		{"properties null", `{"schema": "x", "properties": null}`, "/properties want list, found null"},
		{"property not an object", `{"schema": "x", "properties": ["t"]}`,
			`/properties/0 want object, found "t"`},

		{"package empty but for its schema", `{"schema": "olm.package"}`,
			"/defaultChannel is required; /name is required"},
		{"wrong and missing at once", `{"schema": "olm.package", "name": 1}`,
			"/defaultChannel is required; /name want string, found 1"},
		{"description", `{"schema": "olm.package", "name": "p", "defaultChannel": "c", "description": true}`,
			"/description want string, found true"},
		{"icon", `{"schema": "olm.package", "name": "p", "defaultChannel": "c", "icon": {"base64data": [1]}}`,
			"/icon/base64data want string, found list; /icon/mediatype is required"},

		{"entries missing", `{"schema": "olm.channel", "package": "p", "name": "c"}`, "/entries is required"},
		{"entries", `{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "a"}, {"name": "",
			"replaces": "", "skips": ["a", "", 1.50], "skipRange": ""}, {}]}`,
			"/entries/1/name must not be empty; /entries/1/replaces must not be empty; " +
				"/entries/1/skipRange must not be empty; /entries/1/skips/1 must not be empty; " +
				"/entries/1/skips/2 want string, found 1.50; /entries/2/name is required"},

		{"bundle", `{"schema": "olm.bundle", "package": "", "image": ""}`,
			"/image must not be empty; /name is required; /package must not be empty; /properties is required"},
		{"related images", `{` + bundle + `, "relatedImages": [{"name": "n", "image": ""}, {"name": null}]}`,
			"/relatedImages/0/image must not be empty; /relatedImages/1/image is required; " +
				"/relatedImages/1/name want string, found null"},
		{"related images not a list", `{` + bundle + `, "relatedImages": {"image": "i"}}`,
			"/relatedImages want list, found object"},

		{"deprecations", `{"schema": "olm.deprecations", "entries": [
			{"reference": {"schema": "olm.package", "name": "p"}, "message": "m"},
			{"reference": {"schema": "olm.package", "name": ""}, "message": "m"},
			{"reference": {"schema": "olm.channel"}, "message": ""},
			{"reference": {"schema": "olm.bundle", "name": ""}},
			{"reference": {"schema": "olm.csv", "name": "n"}, "message": "m"},
			{"reference": {}, "message": "m"},
			{"reference": "olm.package", "message": "m"}]}`,
			"/entries/0/reference/name must be omitted: the reference is to the package itself; " +
				"/entries/1/reference/name must be omitted: the reference is to the package itself; " +
				"/entries/2/message must not be empty; /entries/2/reference/name is required; " +
				"/entries/3/message is required; /entries/3/reference/name must not be empty; " +
				`/entries/4/reference/schema want "olm.package" | "olm.channel" | "olm.bundle", found "olm.csv"; ` +
				`/entries/5/reference/schema is required; /entries/6/reference want object, found "olm.package"; ` +
				"/package is required"},

		{"property", `{"schema": "x", "properties": [{}, {"type": "", "value": null}, {"type": "t"}]}`,
			"/properties/0/type is required; /properties/0/value is required; " +
				"/properties/1/type must not be empty; /properties/1/value must not be null; " +
				"/properties/2/value is required"},
		{"olm.package", property1(`"olm.package"`, `{"version": "", "release": 1}`),
			"/properties/0/value/packageName is required; /properties/0/value/release want string, found 1; " +
				"/properties/0/value/version must not be empty"},
		{"olm.gvk, value first", `{"schema": "x", "properties": [{"value": {"group": "", "kind": "K"}, "type": "olm.gvk"}]}`,
			"/properties/0/value/group must not be empty; /properties/0/value/version is required"},
		{"olm.gvk with escapes", `{"schema": "x", "properties": [{"t\u0079pe": "olm.gv\u006b", "value": "K"}]}`,
			`/properties/0/value want object, found "K"`},
		{"olm.gvk.required", property1(`"olm.gvk.required"`, `[{"group": "g", "kind": "K", "version": "v1"}]`),
			"/properties/0/value want object, found list"},
		{"olm.package.required", property1(`"olm.package.required"`, `{"packageName": "p", "versionRange": ""}`),
			"/properties/0/value/versionRange must not be empty"},
		{"olm.csv.metadata", property1(`"olm.csv.metadata"`, `{"annotations": ["a"], "keywords": "k"}`),
			"/properties/0/value/annotations want object, found list; " +
				`/properties/0/value/keywords want list, found "k"`},
		{"olm.bundle.object", property1(`"olm.bundle.object"`, `{"ref": "objects/csv.yaml"}`),
			"/properties/0/value/data is required"},
		{"olm.maxOpenShiftVersion", property1(`"olm.maxOpenShiftVersion"`, `"v4"`),
			`/properties/0/value want a version such as "4.18"`},
		{"olm.maxOpenShiftVersion list", property1(`"olm.maxOpenShiftVersion"`, `["4.18"]`),
			`/properties/0/value want a version such as "4.18"`},

		{"constraint of no kind", property1(`"olm.constraint"`, `{"failureMessage": "m"}`),
			"/properties/0/value want one of the keys all, any, cel, gvk, not or package"},
		{"constraint of two kinds", property1(`"olm.constraint"`, `{"cel": {"rule": "r"}, "not": {"constraints": []}}`),
			"/properties/0/value want only one of the keys all, any, cel, gvk, not or package"},
		{"constraint with another key", property1(`"olm.constraint"`, `{"cel": {"rule": "r"}, "more-keys": {"a": 1}}`),
			"/properties/0/value/more-keys unknown key"},
		{"constraint on a package by name", property1(`"olm.constraint"`, `{"package": {"name": "p", "versionRange": ">1"}}`),
			"/properties/0/value/package/name unknown key; /properties/0/value/package/packageName is required"},
		{"constraint inside of constraints", property1(`"olm.constraint"`,
			`{"all": {"constraints": [{"any": {"constraints": [{"cel": {"rule": ""}}, {}]}}, {"cel": {"rule": "r"}}, 1]}}`),
			"/properties/0/value/all/constraints/0/any/constraints/0/cel/rule must not be empty; " +
				"/properties/0/value/all/constraints/0/any/constraints/1 want one of the keys all, any, cel, gvk, not or package; " +
				"/properties/0/value/all/constraints/2 want object, found 1"},
		{"constraints not a list", property1(`"olm.constraint"`, `{"all": {"constraints": {"cel": {"rule": "r"}}}}`),
			"/properties/0/value/all/constraints want list, found object"},
		{"long text", `{"schema": "x", "properties": "` + strings.Repeat("é", 50) + `"}`,
			`/properties want list, found "` + strings.Repeat("é", 40) + `"…`},
	}
	c, editors := newChecker(t), compiled(t, "catalog")
	for _, test := range tests {
		if schematest.Validate(editors, []byte(test.raw)) == nil {
			t.Errorf("%s: the JSON Schema has nothing against it", test.name)
		}
		for _, time := range []string{"first", "remembered"} {
			got := strings.Join(check(t, c, test.raw), "; ")
			if got != test.want {
				t.Errorf("%s, %s: got\n%s\nwant\n%s", test.name, time, got, test.want)
			}
		}
	}
}

// TestDefinitionsAreUsed checks that every definition of the checker is in the CUE files, and that the checker uses
// every property definition of the CUE files.
func TestDefinitionsAreUsed(t *testing.T) {
	rules, err := newRules(NewExtra())
	if err != nil {
		t.Fatal(err)
	}
	used := []*definition{meta, property, channelEntry, relatedImage, deprecation}
	for _, table := range []map[string]*definition{objectDefinitions, propertyDefinitions} {
		for _, def := range table {
			used = append(used, def)
		}
	}
	for _, def := range used {
		if !rules.definition(def.name).Exists() {
			t.Errorf("%s is not in the files", def.name)
		}
	}
	for line := range strings.Lines(All()) {
		name, isDefinition := strings.CutPrefix(strings.TrimSuffix(line, ": {\n"), "#Property")
		if !isDefinition || !strings.HasSuffix(line, ": {\n") {
			continue
		}
		if !slices.ContainsFunc(used, func(def *definition) bool { return def.name == "#Property"+name }) {
			t.Errorf("#Property%s is in the files, but nothing is checked against it", name)
		}
	}
}

// TestDeepConstraint checks that deep constraints are fast. CUE alone would try each of six kinds at each level, which
// is exponential in the depth.
func TestDeepConstraint(t *testing.T) {
	raw := strings.Repeat(`{"all": {"constraints": [`, 300) + `{"cel": {"rule": ""}}` + strings.Repeat(`]}}`, 300)
	found := check(t, newChecker(t), property1(`"olm.constraint"`, raw))
	if len(found) != 1 || !strings.HasSuffix(found[0], "/cel/rule must not be empty") {
		t.Errorf("got %q", found)
	}
}

// TestManyFindings checks that an object with many wrong elements is checked quickly.
func TestManyFindings(t *testing.T) {
	var raw strings.Builder
	raw.WriteString(`{"schema": "x", "properties": [{"type": "olm.gvk", "value": 0}`)
	for i := range 20_000 {
		fmt.Fprintf(&raw, `, {"type": "olm.gvk", "value": {"group": "", "kind": %d}}`, i)
	}
	raw.WriteString("]}")
	if n := len(check(t, newChecker(t), raw.String())); n < maxFindings || n > maxFindings+10 {
		t.Errorf("got %d findings", n)
	}
}
