package hostile

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// repeat writes a line for each of n numbers.
func repeat(w *bufio.Writer, n int, line string) {
	for i := range n {
		fmt.Fprintf(w, line+"\n", i)
	}
}

// pullRequests are files of a pull request beside a small catalog, by name, which take long to read or to obey.
var pullRequests = []struct {
	name  string
	files map[string]func(w *bufio.Writer)
	args  string
	code  int
	want  string // in what it prints
	rss   int64  // in MB
}{
	{"many unknown rules", map[string]func(*bufio.Writer){
		"opm.yaml": func(w *bufio.Writer) { w.WriteString("rules:\n"); repeat(w, 200_000, " rule-%d: off") },
	}, "validate c.yaml", 1, "199,000 more problems of the file are not reported", 500},
	{"many packages with unknown rules", map[string]func(*bufio.Writer){
		"opm.yaml": func(w *bufio.Writer) {
			w.WriteString("packages:\n")
			repeat(w, 100_000, " p%d: {rules: {rule: off}}")
		},
	}, "validate c.yaml", 1, "99,000 more problems of the file are not reported", 900},
	{"a large configuration", map[string]func(*bufio.Writer){
		"opm.yaml": func(w *bufio.Writer) { repeat(w, 800_000, "rules: {} # %d") },
	}, "validate c.yaml", 1, "opm.yaml: the file is too large: at most 4 MB are read", 180},
	{"a long pattern", map[string]func(*bufio.Writer){
		"opm.yaml": func(w *bufio.Writer) {
			fmt.Fprintf(w, "policy: {channelNames: '%s'}\n", strings.Repeat("(a|b)?", 90_000))
		},
	}, "validate c.yaml", 1, "a pattern of 540000 bytes, want at most 4096", 180},
	{"a million known problems", map[string]func(*bufio.Writer){
		"opm.yaml": func(w *bufio.Writer) { w.WriteString("baseline: known.json\n") },
		"known.json": func(w *bufio.Writer) {
			w.WriteString(`{"problems": [`)
			repeat(w, 1_000_000, `{"rule": "channel-head", "path": "%d"},`)
			w.WriteString("{}]}")
		},
	}, "validate c.yaml", 1, "a baseline has at most 100,000 problems", 400},
	{"CUE that doubles", map[string]func(*bufio.Writer){
		"opm.yaml": func(w *bufio.Writer) { w.WriteString("schemas: [s.cue]\n") },
		"s.cue": func(w *bufio.Writer) {
			w.WriteString("_a0: {x: 1}\n")
			for i := range 39 {
				fmt.Fprintf(w, "_a%d: {l: _a%d, r: _a%[2]d}\n", i+1, i)
			}
			w.WriteString(`#X: {schema!: "olm.package", n: _a39, ...}`)
		},
	}, "validate c.yaml", 1, "s.cue: the definitions take too much time or memory", 1500},
	{"CUE that makes a long list for each object", map[string]func(*bufio.Writer){
		"opm.yaml": func(w *bufio.Writer) { w.WriteString("schemas: [s.cue]\n") },
		"s.cue": func(w *bufio.Writer) {
			w.WriteString("import \"list\"\n#X: {schema!: \"olm.package\", name: string, n: len(list.Range(0, 1e9+len(name), 1)), ...}")
		},
	}, "validate c.yaml", 1, "the definitions take too much time or memory", 1500},
	{"many bad entries of a template", map[string]func(*bufio.Writer){
		"t.yaml": func(w *bufio.Writer) {
			w.WriteString("schema: olm.template.basic\nentries:\n")
			repeat(w, 100_000, "- {schema: olm.bundle, x%d: 1}")
		},
	}, "validate t.yaml", 1, "99,000 more problems of the file are not reported", 900},
	{"many objects without names", map[string]func(*bufio.Writer){
		"state.yaml": func(w *bufio.Writer) {
			w.WriteString("apiVersion: v1\nkind: List\nitems:\n")
			repeat(w, 100_000, "- apiVersion: operators.coreos.com/v1alpha1\n  kind: Subscription # %d")
		},
	}, "simulate state.yaml", 1, "the first of 500,000 errors", 900},
}

// TestPullRequests checks the time and the memory for files that anybody can put beside a catalog.
func TestPullRequests(t *testing.T) {
	for _, tt := range pullRequests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			attack.Write(t, filepath.Join(dir, "c.yaml"), func(w *bufio.Writer) {
				w.WriteString("schema: olm.package\nname: p\ndefaultChannel: c\n")
			})
			for name, write := range tt.files {
				attack.Write(t, filepath.Join(dir, name), write)
			}
			r := program.Call{Args: strings.Fields(tt.args), Dir: dir, Limit: 2 * attack.TooLong}.Bounded(t, tt.rss*attack.MB)
			if r.Code != tt.code || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("exit status %d, want %d and %q; got\n%.2000s", r.Code, tt.code, tt.want, r.Stderr)
			}
		})
	}
}
