package template_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/ruletest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

func check(t testing.TB, text string) []*problem.Problem {
	t.Helper()
	problems, err := template.Check(t.Context(), "t.yaml", []byte(text), validate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return problems
}

// ownRules returns the rules that apply only to templates.
func ownRules() []*problem.Rule {
	groups := template.Rules().Groups
	return groups[len(groups)-1].Rules
}

// TestRuleExamples checks that the bad example of each rule breaks only this rule, and that the good example breaks
// none.
func TestRuleExamples(t *testing.T) {
	ruletest.Explained(t, ownRules())
	for _, r := range ownRules() {
		t.Run(r.Name, func(t *testing.T) {
			broken := func(text string) (names []string) {
				for _, p := range check(t, text) {
					if p.Rule == r.Name || p.Rule != "template-tag" {
						names = append(names, p.Rule)
					}
				}
				return names
			}
			e := r.Example()
			if got := broken(e.Bad); !slices.Equal(got, []string{r.Name}) {
				t.Errorf("the bad example breaks %q\n%s", got, problem.Lines(check(t, e.Bad)))
			}
			if got := broken(e.Good); got != nil {
				t.Errorf("the good example breaks %q\n%s", got, problem.Lines(check(t, e.Good)))
			}
		})
	}
}

// TestCheckObjects checks that problems of the objects in a template have positions, and do not depend on the content
// of bundle images.
func TestCheckObjects(t *testing.T) {
	const text = `schema: olm.template.basic
entries:
- schema: olm.package
  name: oak
  defaultChannel: stabel
- schema: olm.channel
  package: oak
  name: stable
  entries:
  - {name: oak.v1}
  - {name: oak.v2, replaces: oak.v1}
  - {name: oak.v3, replaces: oak.v2, skips: [oak.v2]}
- schema: olm.deprecations
  package: oak
  entries:
  - {reference: {schema: olm.bundle, name: oak.v1}, message: old}
  - {reference: {schema: olm.bundle, name: oak.v9}, message: old}
  - {reference: {schema: olm.channel, name: fast}, message: old}
- {schema: olm.package, name: oak, defaultChannel: stable}
- schema: olm.bundle
  image: registry.example/oak@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef
`
	var got []string
	for _, p := range check(t, text) {
		got = append(got, fmt.Sprintf("%d:%d %s", p.Pos.Line, p.Pos.Column, p.Rule))
	}
	want := []string{
		"5:19 default-channel", "10:5 channel-stranded", "17:44 deprecation-reference", "18:45 deprecation-reference",
		"19:31 duplicate-package",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), problem.Lines(check(t, text)))
	}
	problems, err := template.Check(t.Context(), "t.yaml", []byte(text),
		validate.Options{Levels: problem.Disabled("channel-stranded", "default-channel", "deprecation-reference", "duplicate-package")})
	if err != nil || len(problems) > 0 {
		t.Errorf("all are disabled: %v\n%s", err, problem.Lines(problems))
	}
}

// TestCheckImages checks that each type of template, and a catalog, have the same problems for the same bundle image.
func TestCheckImages(t *testing.T) {
	opts := validate.Options{Policy: validate.Policy{Registries: []string{"registry.example/pottery", "localhost:5000"}}}
	const digest = "@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef"
	for _, tt := range []struct{ image, rule string }{
		{"registry.example/pottery/kiln" + digest, ""},
		{"localhost:5000/kiln" + digest, ""},
		{"registry.example/potteryware/kiln" + digest, "policy-registry"},
		{"kiln" + digest, "policy-registry"},
		{"registry.example/pottery/kiln" + digest + " ", "image-reference"},
		{"registry.example/pottery/Kiln" + digest, "image-reference"},
		{"registry.example/other/kiln:" + strings.Repeat("x", 1000), "image-reference"},
	} {
		of := func(problems []*problem.Problem, err error) (text string) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Rule == "image-reference" || p.Rule == "policy-registry" {
					text += fmt.Sprintln(p.Rule, p.Severity, p.Rejected, p.Message, p.Cause, p.Fix, p.Pos.Line)
				}
			}
			return text
		}
		catalog := fmt.Sprintf(`schema: olm.bundle
package: kiln
name: kiln.v1.0.0
image: %q
`, tt.image)
		report, err := validate.Catalog(t.Context(), opts, render.Text("c.yaml", []byte(catalog)))
		if err != nil {
			t.Fatal(err)
		}
		want := of(report.Problems, nil)
		if !strings.HasPrefix(want, tt.rule) || tt.rule == "" && want != "" {
			t.Errorf("%s: the catalog has %q, want %q", tt.image, want, tt.rule)
		}
		for _, text := range []string{`schema: olm.template.basic
entries:
- schema: olm.bundle
  image: %q
`, `schema: olm.semver
stable:
  bundles:
  - image: %q
`, `schema: olm.template.substitutes
substitutions:
- base: kiln.v1.0.0
  name: %q
`} {
			if got := of(template.Check(t.Context(), "t.yaml", fmt.Appendf(nil, text, tt.image), opts)); got != want {
				t.Errorf("%s: got %q, want %q", fmt.Sprintf(text, tt.image), got, want)
			}
		}
	}
}

// TestCheckRealTemplates checks that real templates are recognized and have no errors.
func TestCheckRealTemplates(t *testing.T) {
	for _, path := range shared.Glob(t, "data/catalog-templates/*/*") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !template.Recognized(strings.NewReader(string(text)), int64(len(text))) {
			t.Errorf("%s is not recognized", path)
		}
		for _, p := range check(t, string(text)) {
			if p.Severity == problem.Error {
				t.Errorf("%s: %s", path, p)
			}
		}
	}
}

// FuzzCheck checks that no text causes a panic, and that every problem has a position.
func FuzzCheck(f *testing.F) {
	for _, r := range ownRules() {
		f.Add(r.Example().Bad)
		f.Add(r.Example().Good)
	}
	f.Add(`{"schema": "olm.semver", "Stable": {"bundles": [{"image": "a:1"}, null]}}`)
	f.Add("# c\n---\nschema: olm.template.basic\nentries: [&a {schema: olm.bundle, image: x}, *a, null, 1]\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range check(t, text) {
			if p.Pos.File != "t.yaml" || p.Pos.Line < 1 {
				t.Errorf("%q: %+v", text, p)
			}
		}
		template.Recognized(strings.NewReader(text), int64(len(text)))
	})
}
