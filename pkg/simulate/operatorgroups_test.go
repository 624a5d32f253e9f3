package simulate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/opm-toolchain/opm/pkg/cluster"
)

// Each file has rows: a state NAME.yaml and what happens to it, NAME.
func TestOperatorGroups(t *testing.T) {
	files, err := filepath.Glob("testdata/operatorgroups/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, f := range archive.Files {
			want[f.Name] = string(f.Data)
		}
		rows := &txtar.Archive{Comment: archive.Comment}
		for _, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			var got string
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+name, func(t *testing.T) {
				got = grouped(t, string(f.Data))
				if got != want[name] && !*updateTables {
					t.Errorf("got\n%s\nwant\n%s", got, want[name])
				}
			})
			rows.Files = append(rows.Files, f, txtar.File{Name: name, Data: []byte(got)})
		}
		if *updateTables {
			if err := os.WriteFile(file, txtar.Format(rows), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// grouped returns what the controller of OperatorGroups does with a state: the timeline, what is waited for and assumed,
// and which fields change. A second simulation from there on changes nothing.
func grouped(t *testing.T, text string) string {
	t.Helper()
	state := loaded(t, text)
	result := groupedState(t, state)
	var lines strings.Builder
	for _, e := range result.Events {
		fmt.Fprintf(&lines, "%d %s %s: %s\n  %s: %s\n", e.Step, e.Object, e.Action, e.Text, e.Verdict, e.Why)
	}
	for _, w := range result.Waiting {
		fmt.Fprintf(&lines, "%s waits for %s (%s)\n", w.Object, w.For, w.Verdict)
	}
	for _, a := range result.Assumed {
		fmt.Fprintf(&lines, "assumed: %s\n", a)
	}
	differences, err := cluster.Diff(state, result.State)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.WriteDiff(&lines, differences); err != nil {
		t.Fatal(err)
	}
	if again := groupedState(t, result.State); len(again.Events) > 0 {
		t.Errorf("simulated again:\n%s", timeline(again))
	}
	return lines.String()
}

func groupedState(t *testing.T, state *cluster.State) *Result {
	t.Helper()
	result, err := newRun(state, Options{}).loop(t.Context(), []controller{operatorGroups})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Idle {
		t.Errorf("it does not come to rest:\n%s", timeline(result))
	}
	return result
}
