package validate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/validate"
	"github.com/opm-toolchain/opm/schemas"
)

// check validates the files of a catalog that is called "c".
func check(t testing.TB, opts validate.Options, files map[string]string) []*validate.Problem {
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

// brief writes a problem as file:line:col rule.
func brief(p *validate.Problem) string {
	return strings.TrimPrefix(p.Pos.String(), "c/") + " " + p.Rule
}

func briefs(problems []*validate.Problem) []string {
	var all []string
	for _, p := range problems {
		all = append(all, brief(p))
	}
	return all
}

// expect fails unless the problems are those in want, in this order.
func expect(t testing.TB, problems []*validate.Problem, want ...string) {
	t.Helper()
	if !slices.Equal(briefs(problems), want) {
		t.Errorf("got\n%s\nwant\n\t%s", listing(problems), strings.Join(want, "\n\t"))
	}
}

func listing(problems []*validate.Problem) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "\t%s\n", p)
	}
	return b.String()
}

// rulesOf returns the rules that are broken, each once, sorted.
func rulesOf(problems []*validate.Problem) []string {
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
