package validate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/constraint"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// problemsOf validates a catalog of one file.
func problemsOf(t *testing.T, opts Options, text string) []*problem.Problem {
	t.Helper()
	fsys := fstest.MapFS{"c.json": &fstest.MapFile{Data: []byte(text)}}
	report, err := Catalog(t.Context(), opts, declcfg.Source{Name: "c", FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	return report.Problems
}

// TestProblemLimit checks that at most maxProblems problems are reported, followed by an error that there may be more.
func TestProblemLimit(t *testing.T) {
	defer func(n int) { maxProblems = n }(maxProblems)
	maxProblems = 20
	const bundle = `{"schema": "olm.bundle", "package": "p", "name": "b", "image": "i", "properties": [` +
		`{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}, {"type": "olm.csv.metadata", "value": {}}]}`
	const valid = `{"schema": "olm.package", "name": "p", "defaultChannel": "c"}` + bundle +
		`{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "b"}%s]}`
	for name, text := range map[string]string{
		"in one object":     fmt.Sprintf(valid, strings.Repeat(", {}", 50)),
		"in many objects":   strings.Repeat(`{"schema": "olm.bundle"}`, 10),
		"in relations":      fmt.Sprintf(valid, strings.Repeat(`, {"name": "x", "replaces": "b"}`, 50)),
		"repeated keys":     `{"schema": "x"` + strings.Repeat(`, "k": 1`, 50) + `}`,
		"repeated bundles":  fmt.Sprintf(valid, "") + strings.Repeat(bundle, 50),
		"about its updates": fmt.Sprintf(valid, strings.Repeat(`, {"name": "b", "replaces": "x"}`, 50)),
	} {
		problems := problemsOf(t, Options{}, text)
		last := problems[len(problems)-1]
		if len(problems) > 21 || last.String() != "error: stopped after 20 problems; fix these first, or disable their rules" {
			t.Errorf("%s: got %d problems, the last %s", name, len(problems), last)
		}
		if unknown, _ := problem.NewBaseline(problems).Filter(problems); len(unknown) != 1 || unknown[0] != last {
			t.Errorf("%s: %d problems are new, want the last", name, len(unknown))
		}
	}
	if problems := problemsOf(t, Options{Levels: problem.Disabled("entry-name", "schema")}, fmt.Sprintf(valid, strings.Repeat(", {}", 50))); len(problems) > 1 {
		t.Errorf("got %v", problems)
	}
}

// TestManyWarnings checks that a catalog with more warnings than the limit is valid, and that later errors are still
// found.
func TestManyWarnings(t *testing.T) {
	defer func(n int) { maxProblems = n }(maxProblems)
	maxProblems = 5
	const custom = `{"schema": "olm.other"}`
	problems := problemsOf(t, Options{}, strings.Repeat(custom, 20)+`{"schema": "olm.package", "name": "p"}`)
	var warnings, errs int
	for _, p := range problems {
		switch p.Severity {
		case problem.Warning:
			warnings++
		case problem.Error:
			errs++
		}
	}
	last := problems[len(problems)-1]
	if warnings != 6 || errs == 0 || !strings.HasSuffix(last.Message, " more, which are not listed") {
		t.Errorf("%d warnings and %d errors, the last %v", warnings, errs, last)
	}
}

// TestLongValues checks that messages shorten long names.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for _, text := range []string{
		`{"schema": "olm.channel", "package": "` + long + `", "name": "` + long + `", "entries": [{"name": "` + long + `", "skipRange": "` + long + `"}, {}]}`,
		`{"schema": "olm.package", "name": "` + long + `", "defaultChannel": "` + long + `"}`,
		`{"schema": "olm.bundle", "package": "` + long + `", "name": "` + long + `", "image": "` + long + ` ", "properties": [{"type": "` + long + `"}]}`,
		`{"schema": "olm.deprecations", "package": "` + long + `", "entries": [{"reference": {"schema": "` + long + `", "name": "` + long + `"}}]}`,
		`{"schema": "` + long + `", "` + long + `": 1, "` + long + `": 1}`,
	} {
		problems := problemsOf(t, Options{}, text)
		for _, p := range problems {
			if n := len(p.String()); n > 1200 || len(p.Package) > 256 {
				t.Errorf("%d bytes: %s", n, p)
			}
		}
		if len(problems) == 0 {
			t.Errorf("no problem in %s", text)
		}
	}
}

// TestCostOfCEL checks that the total cost of compiling CEL is limited per catalog, and that realistic rules stay far
// below the limit.
func TestCostOfCEL(t *testing.T) {
	shared.OneGoroutine(t)
	n := shared.Number(2000, 300)
	for name, tt := range map[string]struct {
		rule  func(i int) string
		check int // minimum number of rules that are checked; most is the maximum
		most  int
	}{
		"as people write them": {func(i int) string {
			return fmt.Sprintf("properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '1.%d.0') >= 0)", i)
		}, n, n},
		"equal": {func(int) string { return "'" + strings.Repeat("x", 10000) + "' != ''" }, n, n},
		"long":  {func(i int) string { return fmt.Sprintf("'%s' != '%d'", strings.Repeat("x", 10000), i) }, 100, 105},
		"nested": {func(i int) string {
			return fmt.Sprintf("[%d]", i) + strings.Repeat(".map(x, [x])", 60) + ".size() > 0"
		}, 0, 1},
	} {
		c := newCELRules()
		checked := 0
		for i := range n {
			err := c.check(tt.rule(i))
			if err == nil {
				checked++
			} else if !errors.Is(err, constraint.ErrBudget) {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if checked < tt.check || checked > tt.most {
			t.Errorf("%s: %d rules are checked, want %d to %d", name, checked, tt.check, tt.most)
		}
	}
}
