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

// TestFilterBig checks the time and memory to filter a catalog of 194 MB.
func TestFilterBig(t *testing.T) {
	catalog := attack.BigCatalog(t)
	for _, args := range [][]string{
		{"--with-dependencies", "-o", "images"}, {"--full", "--output-dir", filepath.Join(t.TempDir(), "full")},
	} {
		r := program.Call{Args: append([]string{"filter", catalog}, args...), Limit: attack.TooLong}.Bounded(t, attack.FewBytes)
		if r.Code != 0 || !strings.Contains(r.Stderr, "opm: kept 332 of 332 packages, 655 of 655 channels") {
			t.Errorf("opm filter %q: exit status %d, stderr %.500s", args, r.Code, r.Stderr)
		}
		t.Logf("%v, %d MB", r.Time.Round(10*time.Millisecond), r.RSS/attack.MB)
	}
}

// TestFilterSlow checks that filtering takes about linear time if nearly every entry of a channel must be mended, or
// every bundle depends on another one.
func TestFilterSlow(t *testing.T) {
	const n = 10_000
	versions := func(w *bufio.Writer, version func(i int) string, properties func(i int) string) {
		for i := range n {
			attack.Bundle(w, fmt.Sprint("b", i), version(i), properties(i))
		}
	}
	none := func(int) string { return "" }
	minor := func(i int) string { return fmt.Sprintf("1.%d.0", i) }
	for _, tt := range []struct {
		name  string
		write func(w *bufio.Writer)
		args  []string
		want  string // on stderr
	}{
		{"a gap below every entry", func(w *bufio.Writer) {
			attack.Chain(w, n, "")
			versions(w, func(i int) string { return fmt.Sprintf("%d.%d.0", 1+i%2, i) }, none)
		}, []string{"--config", "between.yaml"}, "5,000 of 10,000 bundles"},
		{"entries that the head skipped", func(w *bufio.Writer) {
			attack.Channel(w, "c0", func() {
				fmt.Fprintf(w, `{"name": "b%d", "skips": ["b0"`, n-1)
				for i := 1; i < n-1; i++ {
					fmt.Fprintf(w, `, "b%d"`, i)
				}
				fmt.Fprint(w, "]}")
				for i := range n - 1 {
					fmt.Fprintf(w, `, {"name": "b%d"}`, i)
				}
			})
			versions(w, func(i int) string { return fmt.Sprintf("%d.%d.0", 1+i/(n-1), i) }, none)
		}, []string{"--config", "between.yaml"}, "9,999 of 10,000 bundles"},
		{"a range of one of many", func(w *bufio.Writer) {
			attack.Chain(w, n, "")
			versions(w, minor, none)
		}, []string{"--package", "p@>=1.100 <1.9000"}, "8,900 of 10,000 bundles"},
		{"requirements", func(w *bufio.Writer) {
			attack.Chain(w, n, "")
			versions(w, minor, func(i int) string {
				return fmt.Sprintf(`, {"type": "olm.package.required", "value": {"packageName": "p", "versionRange": "1.%d.0"}}`, max(i, n-200)-1)
			})
		}, []string{"--package", "p", "--with-dependencies"}, "201 of 10,000 bundles"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(filepath.Join(dir, "c.json"))
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriter(f)
			attack.Package(w)
			tt.write(w)
			write(t, filepath.Join(dir, "between.yaml"), "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v1alpha2\n"+
				"mirror: {operators: [{catalog: c, packages: [{name: p, minVersion: 1.0.0, maxVersion: 1.99999.0}]}]}\n", 0)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			f.Close()
			args := append([]string{"filter", "c.json"}, tt.args...)
			r := program.Call{Args: args, Dir: dir, Limit: attack.TooLong}.Bounded(t, attack.FewBytes)
			if r.Code != 0 || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("exit status %d, stderr %.300s ... %s", r.Code, r.Stderr, r.Stderr[max(0, len(r.Stderr)-200):])
			}
			t.Logf("%v, %d MB", r.Time.Round(10*time.Millisecond), r.RSS/attack.MB)
		})
	}
}

// TestManyImages checks that a bundle with very many images, in many channels, takes about linear time.
func TestManyImages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.json")
	attack.Write(t, path, func(w *bufio.Writer) {
		attack.Package(w)
		for i := range 20_000 {
			attack.Channel(w, fmt.Sprint("c", i), func() { w.WriteString(`{"name": "b"}`) })
		}
		w.WriteString(`{"schema": "olm.bundle", "package": "p", "name": "b", "image": "registry.example/b:v1", ` +
			`"properties": [{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}], "relatedImages": [`)
		for i := range 300_000 {
			fmt.Fprintf(w, `{"name": "", "image": "registry.example/%d:v1"}, `, i)
		}
		w.WriteString(`{"name": "", "image": "registry.example/b:v1"}]}`)
	})
	for _, line := range []string{"list images " + path + " --channel c19999 -o name", "filter " + path + " --package p -o images"} {
		r := program.Call{Args: strings.Fields(line), Limit: attack.TooLong}.Bounded(t, 600*attack.MB)
		if n := strings.Count(r.Stdout, "\n"); r.Code != 0 || n != 300_001 {
			t.Errorf("opm %s: exit status %d, %d images: %.300s", line, r.Code, n, r.Stderr)
		}
	}
}
