//nolint:dupword // Mermaid repeats "end"
package draw

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/graph"
)

const shownMermaid = mermaidHead + `  subgraph p1["p"]
    subgraph p1c1["old (deprecated)"]
      p1c1n2(["v1<br/>1.0.0"])
      p1c1n1["v0<br/>0.0.0"]
      p1c1n1 -- "replaces" --> p1c1n2
    end
    subgraph p1c2["stable (default)"]
      p1c2n5(["v4<br/>4.0.0"])
      p1c2n4["v3<br/>3.0.0"]
      p1c2n3["v1<br/>1.0.0"]
      p1c2n2(["v0<br/>0.0.0"])
      p1c2n1["v2"]
      p1c2n3 -- "replaces" --> p1c2n5
      p1c2n4 == "skips" ==> p1c2n5
      p1c2n1 == "skips" ==> p1c2n5
      p1c2n2 -. "#60;2.0.0" .-> p1c2n4
      p1c2n3 -. "#60;2.0.0" .-> p1c2n4
      p1c2n2r("skipRange #60;0.0.0") -.-> p1c2n2
    end
  end
  class p1c1n2,p1c2n5,p1c2n2 head
  class p1c2n4,p1c2n1 skipped
  class p1c1,p1c1n1,p1c2n2 deprecated
  class p1c2n1,p1c2n2r virtual
  class p1c1n1 outside
`

func TestMermaidText(t *testing.T) {
	for text, want := range map[string]string{
		"kiln.v1.2.0-rc.1+build": "kiln.v1.2.0-rc.1+build",
		`a "b"`:                  "a #34;b#34;",
		"1. a":                   "1.#32;a",
		"a  b":                   "a #32;b",
		"--- a":                  "#45;#45;#45;#32;a",
		"www.a.b":                "www#46;a.b",
		"🚀\n":                    "🚀#92;n",
	} {
		if got := mermaidText(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
	entity := regexp.MustCompile(`#(\d+);`)
	for _, text := range hostileNames {
		got := mermaidText(text)
		read := entity.ReplaceAllStringFunc(got, func(e string) string {
			n, _ := strconv.Atoi(e[1 : len(e)-1])
			return string(rune(n))
		})
		if read != legible.Name(text) {
			t.Errorf("%q is written as %s and read as %q", text, got, read)
		}
		if rest := entity.ReplaceAllString(got, ""); strings.ContainsAny(rest, "\"`<>[]{}&#;:%|*_$@\\\n") {
			t.Errorf("%q: a character of %s has a meaning", text, got)
		}
	}
}

// TestMermaidLines checks that hostile names do not end the labels around them.
func TestMermaidLines(t *testing.T) {
	for _, line := range malformedLines(write(t, Mermaid, Options{}, hostilePackage())) {
		t.Errorf("cannot be read: %s", line)
	}
}

var (
	mermaidNode = regexp.MustCompile(`^ +(p\d+c\d+n\d+(\["[^"]*"\]|\(\["[^"]*"\]\))|subgraph p[\dc]+\["[^"]*"\]|end|class [pcnr\d,]+ \w+)$`)
	mermaidLink = regexp.MustCompile(`^ +(p\d+c\d+n\d+ (-- "replaces" --|== "skips" ==|-\. "[^"]*" \.-)|p\d+c\d+n\d+r\("[^"]*"\) -\.-)> p\d+c\d+n\d+$`)
)

// malformedLines returns the lines of a drawing that match none of the expected forms.
func malformedLines(text string) []string {
	var malformed []string
	for line := range strings.Lines(strings.TrimPrefix(text, mermaidHead)) {
		if line = strings.TrimSuffix(line, "\n"); !mermaidNode.MatchString(line) && !mermaidLink.MatchString(line) {
			malformed = append(malformed, line)
		}
	}
	return malformed
}

// TestMermaidLimit checks that a drawing too large for renderers is split by package, and that TooLarge is called with
// every size above the limit.
func TestMermaidLimit(t *testing.T) {
	// skips returns a package with n links.
	skips := func(name string, n int) *graph.Package {
		lines := "channel c\nv1 skips s1"
		for i := 2; i <= n; i++ {
			lines += fmt.Sprint(",s", i)
		}
		return packageOf(t, name, lines)
	}
	small, full, large, long := packageOf(t, "small", "channel c ; 🚀"), skips("full", 500), skips("large", 501), skips("long", 1)
	for i := range long.Channels[0].Members() {
		long.Channels[0].Members()[i].Name += strings.Repeat("🚀", 25_000)
	}
	tooLarge := func(packages ...string) string { return fmt.Sprint(packages) }
	for _, tt := range []struct {
		packages []*graph.Package
		want     []string // the packages reported as too large
	}{
		{[]*graph.Package{small}, nil},
		{[]*graph.Package{full}, nil},
		{[]*graph.Package{small, full}, nil},
		{[]*graph.Package{large}, []string{tooLarge("large")}},
		{[]*graph.Package{long}, []string{tooLarge("long")}},
		{[]*graph.Package{full, small, large, long}, []string{tooLarge("full", "small", "large", "long"), tooLarge("large"), tooLarge("long")}},
	} {
		var got []string
		o := Options{TooLarge: func(packages []*graph.Package, size MermaidSize) {
			var names []string
			for _, p := range packages {
				names = append(names, p.Name)
			}
			got = append(got, tooLarge(names...))
			whole := write(t, flowchartOnly, Options{}, packages...)
			if want := (MermaidSize{len(utf16.Encode([]rune(whole))), strings.Count(whole, " --") + strings.Count(whole, "==>")}); size != want {
				t.Errorf("%s: got %v, want %v", names, size, want)
			}
		}}
		text := write(t, Mermaid, o, tt.packages...)
		if !slices.Equal(got, tt.want) {
			t.Errorf("got %s, want %s", got, tt.want)
		}
		want := write(t, flowchartOnly, Options{}, tt.packages...)
		if len(tt.packages) > 1 && tt.want != nil {
			var parts []string
			for _, p := range tt.packages {
				parts = append(parts, "%% package "+p.Name+"\n"+write(t, flowchartOnly, Options{}, p))
			}
			want = strings.Join(parts, "\n")
		}
		if text != want {
			t.Errorf("got\n%.3000s\nwant\n%.3000s", text, want)
		}
	}
}

// flowchartOnly draws a single flowchart of any size.
func flowchartOnly(w io.Writer, packages []*graph.Package, o Options) error {
	_, err := flowchart(w, packages, o)
	return err
}
