package hostile

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/hostile/internal/attack"
	"github.com/opm-toolchain/opm/test/program"
)

// A slow input is a small catalog of a package p that takes long to check.
type slow struct {
	name  string
	file  string // its ending says JSON or YAML
	write func(w *bufio.Writer)
	code  int    // exit status of opm validate
	want  string // in what it prints, "" for anything
	rss   int64  // in MB
}

var slowInputs = []slow{
	{"50,000 channels", "c.json", func(w *bufio.Writer) {
		attack.Package(w)
		for i := range 50_000 {
			name := fmt.Sprint("b", i)
			attack.Bundle(w, name, fmt.Sprintf("1.%d.0", i), "")
			attack.Channel(w, fmt.Sprint("c", i), func() { fmt.Fprintf(w, `{"name": %q, "skipRange": "<1.%d.0"}`, name, i) })
		}
	}, 0, "", 400},
	{"30,000 entries that update to one for ever", "c.json", func(w *bufio.Writer) {
		attack.Package(w)
		attack.Chain(w, 30_000, `, "skipRange": "1.0.29999"`)
		for i := range 30_000 {
			attack.Bundle(w, fmt.Sprint("b", i), fmt.Sprint("1.0.", i), "")
		}
	}, 0, "never stops updating", 300},
	{"a list of five million numbers", "c.yaml", func(w *bufio.Writer) {
		w.WriteString("schema: x\nname: a\nlist: [")
		for i := range 5_000_000 {
			fmt.Fprint(w, i, ",")
		}
		w.WriteString("]\n")
	}, 1, "c.yaml:3:6888862: error: more than 1,000,000 values in a document with brackets", 700},
	{"aliases of 30 documents", "c.yaml", func(w *bufio.Writer) {
		for range 30 {
			w.WriteString("---\nschema: x\nname: a\ntext: &a " + strings.Repeat("x", 60_000) + "\nlist: [" + strings.Repeat("*a, ", 1000) + "]\n")
		}
	}, 1, "c.yaml:10:492: error: aliases expand beyond 64 MB", 900},
	{"aliases of many chunks", "c.yaml", func(w *bufio.Writer) {
		for range 10 {
			w.WriteString("---\nschema: x\nname: a\ntext: &a " + strings.Repeat("x", 600_000) + "\nlist: [" + strings.Repeat("*a, ", 60) + "]\n")
		}
	}, 1, "YAML aliases of the catalog expand beyond 64 MB", 900},
	{"3,000 CEL rules of 800 terms", "c.json", func(w *bufio.Writer) {
		attack.Rules(w, 3000, func(i int) string {
			return "1 == " + fmt.Sprint(i) + strings.Repeat(" && properties.exists(p, p.type == 'x')", 800)
		})
	}, 0, "the catalog has too much CEL", 400},
	{"CEL types nested deeply", "c.json", func(w *bufio.Writer) {
		attack.Rules(w, 60, func(i int) string {
			return strings.Repeat("{'a': ", 200) + fmt.Sprint(i) + strings.Repeat("}", 200) + ".size() > 0"
		})
	}, 0, "the catalog has too much CEL", 300},
	{"a skipRange of 5 MB", "c.json", func(w *bufio.Writer) {
		attack.Package(w)
		attack.Bundle(w, "b", "1.0.0", "")
		attack.Channel(w, "c0", func() {
			fmt.Fprintf(w, `{"name": "b", "skipRange": "1.0.0%s"}`, strings.Repeat(" || >=1.0.0 <1.0.1", 300_000))
		})
	}, 0, `<1.… (5,400,005 bytes)" of entry "b" includes its own version`, 500},
	{"500,000 problems", "c.json", func(w *bufio.Writer) {
		attack.Package(w)
		attack.Bundle(w, "b", "1.0.0", "")
		attack.Channel(w, "c0", func() { w.WriteString(strings.Repeat("{}, ", 500_000) + "{}") })
	}, 1, "error: stopped after 100,000 problems", 900},
	{"a long name with many problems", "c.json", func(w *bufio.Writer) {
		attack.Package(w)
		attack.Channel(w, strings.Repeat("x", 1_000_000), func() { w.WriteString(strings.Repeat("{}, ", 10_000) + "{}") })
	}, 1, "xxx… (1,000,000 bytes)", 300},
	{"a long name that is nearly right", "c.json", func(w *bufio.Writer) {
		attack.Package(w)
		attack.Bundle(w, strings.Repeat("x", 200_000), "1.0.0", "")
		attack.Channel(w, "c0", func() { fmt.Fprintf(w, `{"name": "%sy"}`, strings.Repeat("x", 200_000)) })
	}, 1, "no olm.bundle blobs found", 300},
	{"20,000 wrong properties", "c.json", func(w *bufio.Writer) {
		attack.Package(w)
		var properties strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&properties, `, {"type": "olm.gvk.required", "value": {"group": "", "kind": "k%d", "version": ""}}`, i)
		}
		attack.Bundle(w, "b", "1.0.0", properties.String())
	}, 1, "must not be empty (#PropertyGVKRequired)", 300},
}

// TestSlowInputs checks that small catalogs that could take quadratic time, or much slow work or memory, are checked or
// rejected quickly.
func TestSlowInputs(t *testing.T) {
	for _, tt := range slowInputs {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(filepath.Join(dir, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			tt.write(w)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			r := program.Call{Args: []string{"validate", "."}, Dir: dir, Limit: time.Minute}.Bounded(t, tt.rss<<20)
			if r.Code != tt.code || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("exit status %d, want %d and %q; got\n%.2000s", r.Code, tt.code, tt.want, r.Stderr)
			}
		})
	}
}
