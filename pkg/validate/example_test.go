package validate_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/testing/ruletest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

func TestExampleKeepsEveryRule(t *testing.T) {
	expect(t, check(t, validate.Options{}, map[string]string{"catalog.yaml": validate.Rules().Example}))
}

// companions lists the other rules that the bad example of a rule breaks inevitably.
var companions = map[string][]string{
	"package-name": {"package-channels"}, // the renamed package is another one, and empty
}

// TestExamplesOfRules checks that the bad example of each rule breaks it and the good one does not, and that neither
// breaks another rule. Hints count for their own rule only, because an example must not follow all advice.
func TestExamplesOfRules(t *testing.T) {
	shared.OneGoroutine(t)
	ruletest.Explained(t, validate.Rules().All())
	for _, r := range validate.Rules().All() {
		t.Run(r.Name, func(t *testing.T) {
			e := r.Example()
			broken := func(change string) []string {
				isOther := func(p *problem.Problem) bool { return p.Severity == problem.Info && p.Rule != r.Name }
				return rulesOf(slices.DeleteFunc(changed(t, e, change), isOther))
			}
			bad := append([]string{r.Name}, companions[r.Name]...)
			slices.Sort(bad)
			if got := broken(e.Bad); e.Abridged == "" && !slices.Equal(got, bad) {
				t.Errorf("the bad example breaks %q, want %q", got, bad)
			}
			if got := broken(e.Good); got != nil {
				t.Errorf("the good example breaks %q", got)
			}
			if e.Abridged != "" && !slices.Contains([]string{"no-objects", "object-size", "message-size"}, r.Name) {
				t.Error("no other test breaks the rule, whose example is abridged")
			}
		})
	}
}

// changed validates the example catalog with the objects of change, a part of e, added or replaced.
func changed(t *testing.T, e problem.Example, change string) []*problem.Problem {
	t.Helper()
	replaced := map[[3]string]bool{}
	for _, m := range objects(t, change) {
		replaced[identity(m)] = true
	}
	var rest strings.Builder
	for _, m := range objects(t, validate.Rules().Example) {
		o, err := m.Read()
		if err != nil {
			t.Fatal(err)
		}
		if !replaced[identity(m)] {
			rest.Write(append(o.JSON(), '\n'))
		}
	}
	var config struct {
		Policy validate.Policy
		Target string
	}
	if err := yaml.Unmarshal([]byte(e.Config), &config); err != nil {
		t.Fatal(err)
	}
	opts := validate.Options{Schemas: userSchema(e.Schema), Policy: config.Policy}
	if config.Target != "" {
		var err error
		if opts.Target, err = platform.Parse(config.Target); err != nil {
			t.Fatal(err)
		}
	}
	return check(t, opts,
		map[string]string{"catalog.json": rest.String(), "change.yaml": change})
}

func identity(m *declcfg.Meta) [3]string { return [3]string{m.Schema, m.Package, m.Name} }

// objects returns the readable objects of a file.
func objects(t *testing.T, text string) []*declcfg.Meta {
	t.Helper()
	var metas []*declcfg.Meta
	fsys := mapFS(map[string]string{"file.yaml": text})
	meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(t.Context(), meta, declcfg.Source{FS: fsys}) {
		if err == nil {
			metas = append(metas, m)
		}
	}
	return metas
}

func TestWriteRule(t *testing.T) {
	for _, r := range validate.Rules().All() {
		var out bytes.Buffer
		if err := validate.Rules().WriteRule(&out, r.Name); err != nil {
			t.Fatal(err)
		}
		good := r.Example().Good
		if lines := strings.SplitAfter(good, "\n"); good != "" && !strings.Contains(out.String(), "    "+lines[len(lines)-2]) {
			t.Errorf("%s is explained without its good example", r.Name)
		}
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "    ") && len(line) > 101 {
				t.Errorf("a line of %d bytes: %s", len(line), line)
			}
		}
	}
}

func TestCheckNames(t *testing.T) {
	if err := validate.Rules().CheckNames([]string{"read", "icon-type"}); err != nil {
		t.Error(err)
	}
	err := validate.Rules().CheckNames([]string{"read", "icon-typ"})
	if want := `unknown rule "icon-typ" (did you mean "icon-type"?)`; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestNamesOfRules checks the names of rules, which are used in flags, baselines and code scanning settings.
func TestNamesOfRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range validate.Rules().All() {
		if seen[r.Name] || strings.Trim(r.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("%q is taken, or no name", r.Name)
		}
		seen[r.Name] = true
	}
}
