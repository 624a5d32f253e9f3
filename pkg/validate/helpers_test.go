package validate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

const digest = "sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef"

// valid is a catalog without problems. One package is in YAML, with block style, flow style and several documents per
// file; the other is in JSON.
var valid = map[string]string{
	"oak/package.yaml": `---
# The package.
schema: olm.package
name: oak
defaultChannel: stable
description: A tree.
icon:
  base64data: iVBORw0KGgo=
  mediatype: image/png
`,
	"oak/channels.yaml": `schema: olm.channel
package: oak
name: candidate
entries:
- name: oak.v1.0.0
- name: oak.v1.1.0
  replaces: oak.v1.0.0
- name: oak.v2.0.0
  replaces: oak.v1.0.0
  skips: [oak.v1.1.0]
  skipRange: ">=1.0.0 <2.0.0"
---
{schema: olm.channel, package: oak, name: stable,
 entries: [{name: oak.v1.0.0}, {name: oak.v1.1.0, replaces: oak.v1.0.0}]}
`,
	"oak/bundles.yaml": `schema: olm.bundle
package: oak
name: oak.v1.0.0
image: registry.example/oak@` + digest + `
properties:
- type: olm.package
  value:
    packageName: oak
    version: 1.0.0
- type: olm.csv.metadata
  value:
    displayName: Oak
relatedImages:
- name: operator
  image: registry.example/oak@` + digest + `
---
schema: olm.bundle
package: oak
name: oak.v1.1.0
image: registry.example/oak@` + digest + `
properties:
- {type: olm.package, value: {packageName: oak, version: 1.1.0}}
- {type: olm.csv.metadata, value: {}}
---
schema: olm.bundle
package: oak
name: oak.v2.0.0
image: localhost:5000/oak:2@` + digest + `
properties:
- {type: olm.package, value: {packageName: oak, version: 2.0.0}}
- {type: olm.bundle.object, value: {data: e30=}}
`,
	"oak/deprecations.yaml": `schema: olm.deprecations
package: oak
entries:
- reference:
    schema: olm.bundle
    name: oak.v1.0.0
  message: old
- reference:
    schema: olm.channel
    name: candidate
  message: unstable
- reference: {schema: olm.package}
  message: gone
`,
	"pine.json": `{
  "schema": "olm.package",
  "name": "pine",
  "defaultChannel": "stable"
}
{
  "schema": "olm.channel",
  "package": "pine",
  "name": "stable",
  "entries": [{"name": "pine.v1"}]
}
{"schema": "olm.bundle", "package": "pine", "name": "pine.v1", "image": "registry.example/pine",
 "properties": [
  {"type": "olm.package", "value": {"packageName": "pine", "version": "1.0.0"}},
  {"type": "olm.csv.metadata", "value": {}}
 ],
 "relatedImages": [{"name": "pine", "image": "registry.example/pine@` + digest + `"}]}
{"schema": "other.example.com", "package": "no-such-package", "anything": [null]}
`,
}

// check validates the files as a catalog named "c".
func check(t testing.TB, opts validate.Options, files map[string]string) []*problem.Problem {
	t.Helper()
	report, err := validate.Catalog(t.Context(), opts, declcfg.Source{Name: "c", FS: mapFS(files)})
	if err != nil {
		t.Fatal(err)
	}
	return report.Problems
}

func mapFS(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

// brief formats a problem as "file:line:col rule".
func brief(p *problem.Problem) string {
	return strings.TrimPrefix(p.Pos.String(), "c/") + " " + p.Rule
}

func briefs(problems []*problem.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, brief(p))
	}
	return all
}

// only returns the problems that break one of the rules. A test compares the problems of the rules that it is about, so
// that another rule, such as a new one, does not concern it.
func only(problems []*problem.Problem, rules ...string) []*problem.Problem {
	return slices.DeleteFunc(problems, func(p *problem.Problem) bool { return !slices.Contains(rules, p.Rule) })
}

// named returns the sorted names of the rules in lists of problems in the form of [brief] or of their String method.
func named(lists ...[]string) []string {
	var names []string
	for _, text := range slices.Concat(lists...) {
		names = append(names, strings.Trim(text[strings.LastIndexByte(text, ' ')+1:], "[]"))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// expect fails the test unless the problems are equal to want, in this order.
func expect(t testing.TB, problems []*problem.Problem, want ...string) {
	t.Helper()
	if !slices.Equal(briefs(problems), want) {
		t.Errorf("got\n%s\nwant\n\t%s", listing(problems), strings.Join(want, "\n\t"))
	}
}

func listing(problems []*problem.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "\t%s\n", p)
	}
	return b.String()
}

// rulesOf returns the sorted names of the broken rules, without repetitions.
func rulesOf(problems []*problem.Problem) []string {
	var names []string
	for _, p := range problems {
		names = append(names, p.Rule)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func userSchema(text string) []schemas.File {
	if text == "" {
		return nil
	}
	return []schemas.File{{Name: "own.cue", Data: []byte(text)}}
}
