package validate_test

import (
	"bytes"
	"maps"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// rewritten returns the baseline of the problems after a round trip through its file format.
func rewritten(t *testing.T, problems []*problem.Problem) *problem.Baseline {
	t.Helper()
	var text bytes.Buffer
	if err := problem.NewBaseline(problems).Write(&text); err != nil {
		t.Fatal(err)
	}
	b, err := problem.ReadBaseline(&text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unknown(b *problem.Baseline, problems []*problem.Problem) []*problem.Problem {
	problems, _ = b.Filter(problems)
	return problems
}

func TestBaseline(t *testing.T) {
	files := broken(t)
	problems := check(t, validate.Options{}, files)
	rules := named(brokenWant, []string{"deprecation-message"})
	baseline := rewritten(t, problems)
	expect(t, unknown(baseline, problems))

	// Problems that moved to another line are in the baseline; new ones are not.
	moved := maps.Clone(files)
	moved[pkgFile] = strings.Replace(files[pkgFile], "---\n", "---\n# a comment\n", 1)
	moved["oak/all-bundles.yaml"] = "---\n" + files[bundleFile]
	delete(moved, bundleFile)
	edit{deprFile, "message: old", "message: ''"}.apply(t, moved)
	expect(t, only(unknown(baseline, check(t, validate.Options{}, moved)), rules...),
		"oak/deprecations.yaml:7:12 deprecation-message")

	// Problems without a path are identified by their file.
	delete(moved, "more/README.md")
	moved["README.md"] = files["more/README.md"]
	expect(t, only(unknown(baseline, check(t, validate.Options{}, moved)), rules...),
		"README.md:1:1 read", "oak/deprecations.yaml:7:12 deprecation-message")
}
