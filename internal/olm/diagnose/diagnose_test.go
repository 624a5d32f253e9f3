package diagnose_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/diagnose"
	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// load returns the state of a manifest.
func load(t testing.TB, manifest []byte) *cluster.State {
	t.Helper()
	state, err := cluster.Load(t.Context(), nil, declcfg.Source{
		Name: "state.yaml", FS: fstest.MapFS{"state.yaml": {Data: manifest}}, File: "state.yaml",
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// run returns the diagnosis of a state, without catalogs.
func run(t testing.TB, state *cluster.State) *diagnose.Result {
	t.Helper()
	r, err := diagnose.Run(t.Context(), state, diagnose.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func text(t testing.TB, r *diagnose.Result) string {
	t.Helper()
	var out strings.Builder
	if err := r.Report().Text(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestStates diagnoses broken states, with the causes of all rules, and one that is healthy. The first line of a state
// is the rule and the object of the first cause.
func TestStates(t *testing.T) {
	const file = "testdata/states.txtar"
	table, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	for i := 0; i < len(table.Files); i += 2 {
		state, want := table.Files[i], &table.Files[i+1]
		t.Run(want.Name, func(t *testing.T) {
			if state.Name != want.Name+".yaml" {
				t.Fatalf("file %q is followed by %q", state.Name, want.Name)
			}
			r := run(t, load(t, state.Data))
			first := "nothing"
			for i, f := range r.Findings {
				covered[f.Rule] = true
				if i == 0 {
					first = f.Rule + " " + f.Object.String()
				}
				if len(f.Help) == 0 || f.Help[0].Command == "" {
					t.Errorf("%s: no command would help", f.Object)
				}
			}
			line, _, _ := strings.Cut(string(state.Data), "\n")
			golden.Equal(t, state.Name, line, "# "+first)
			golden.Equal(t, want.Name, string(want.Data), text(t, r))
			if *golden.Update {
				_, rest, _ := bytes.Cut(state.Data, []byte("\n"))
				table.Files[i].Data = append([]byte("# "+first+"\n"), rest...)
				want.Data = []byte(text(t, r))
			}
		})
	}
	for _, rule := range diagnose.Rules().All() {
		if rule.Reason == "" {
			t.Errorf("rule %s has no reason", rule.Name)
		}
		if !covered[rule.Name] && !onlyInPlays[rule.Name] {
			t.Errorf("no state breaks the rule %s", rule.Name)
		}
	}
	if *golden.Update {
		golden.Compare(t, file, txtar.Format(table))
	}
}

// onlyInPlays are the rules that need the contents of catalogs; see TestPlayCauses.
var onlyInPlays = map[string]bool{"predicted": true, "update-held-back": true}
