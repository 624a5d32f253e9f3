package validate_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/validate"
)

// rewritten returns the baseline as it is after writing and reading.
func rewritten(t *testing.T, problems []*validate.Problem) *validate.Baseline {
	t.Helper()
	text := write(t, func(w *bytes.Buffer) error { return validate.NewBaseline(problems).Write(w) })
	b, err := validate.ReadBaseline(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBaseline(t *testing.T) {
	files := broken(t)
	problems := check(t, validate.Options{}, files)
	baseline := rewritten(t, problems)
	expect(t, baseline.Filter(problems))

	// Problems that moved are known; new ones are not.
	moved := maps.Clone(files)
	moved[pkgFile] = "# a comment\n" + files[pkgFile]
	moved["oak/all-bundles.yaml"] = "---\n" + files[bundleFile]
	delete(moved, bundleFile)
	edit{deprFile, "message: old", "message: ''"}.apply(t, moved)
	expect(t, baseline.Filter(check(t, validate.Options{}, moved)), "oak/deprecations.yaml:7:12 deprecation-message")

	// What has no path is known by its file.
	delete(moved, "more/README.md")
	moved["README.md"] = files["more/README.md"]
	expect(t, baseline.Filter(check(t, validate.Options{}, moved)),
		"README.md:1:1 read", "oak/deprecations.yaml:7:12 deprecation-message")
}

func TestBaselineFormat(t *testing.T) {
	text := func(problems []*validate.Problem) string {
		return write(t, func(w *bytes.Buffer) error { return validate.NewBaseline(problems).Write(w) })
	}
	same(t, text(nil), "{\n  \"problems\": []\n}\n")
	same(t, text([]*validate.Problem{two[0], two[1], two[0]}), `{
  "problems": [
    {
      "rule": "utf-8",
      "file": "c/b,c:d.json"
    },
    {
      "rule": "channel-head",
      "package": "p",
      "path": "package \"p\": channel \"<c>\""
    }
  ]
}
`)
	problems := check(t, validate.Options{}, broken(t))
	backwards := slices.Clone(problems)
	slices.Reverse(backwards)
	same(t, text(backwards), text(problems))
}

func TestReadBaseline(t *testing.T) {
	for _, text := range []string{"", "[]", `{"problems": [{"rule": 1}]}`, `{"problem": []}`, `{"problems": []} x`} {
		if _, err := validate.ReadBaseline(strings.NewReader(text)); err == nil ||
			!strings.HasPrefix(err.Error(), "not a baseline: ") {
			t.Errorf("%q: got error %v", text, err)
		}
	}
}
