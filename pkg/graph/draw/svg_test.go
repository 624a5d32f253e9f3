package draw

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// goldens are the graphs of the files testdata/NAME.svg.
var goldens = []struct {
	name  string
	graph string
}{
	{
		// v1.2.0 ──► v1.1.0 ──► v1.0.0, which replaces v0.9.0, not in the catalog; v1.2.0 skips v1.1.1
		"chain", `
		default stable
		channel stable
		- p.v1.2.0 replaces p.v1.1.0 skips p.v1.1.1
		- p.v1.1.1 replaces p.v1.1.0
		- p.v1.1.0 replaces p.v1.0.0
		- p.v1.0.0 replaces p.v0.9.0
		deprecated p.v1.0.0`,
	}, {
		// Every entry has a range down to v1.0.0: one trunk, with arrows into v1.1.0 to v1.3.0. The range of v1.0.0 is
		// empty, the range of v1.1.1 is invalid, and v2.0.0 skips all bundles except the first, which it replaces.
		"ranges", `
		channel c
		- p.v2.0.0 replaces p.v1.0.0 skips p.v1.1.0,p.v1.1.1,p.v1.2.0,p.v1.3.0
		- p.v1.3.0 replaces p.v1.2.0 range >=1.0.0 <1.3.0
		- p.v1.2.0 replaces p.v1.1.0 range >=1.0.0 <1.2.0
		- p.v1.1.1 range 1.x.y
		- p.v1.1.0 replaces p.v1.0.0 range >=1.0.0 <1.1.0
		- p.v1.0.0 range <1.0.0`,
	}, {
		// Two channels, one of them deprecated, share v1.0.0; fast names v0.9.0 of slow; v0.1.0 is in no channel.
		"channels", `
		default fast
		channel fast
		- p.v1.1.0 replaces p.v1.0.0
		- p.v1.0.0 replaces p.v0.9.0
		channel slow
		- p.v1.0.0 replaces p.v0.9.0
		- p.v0.9.0
		deprecated channel slow
		bundle p.v0.1.0`,
	}, {
		// OLM Classic rejects both channels: a has two heads, and b has a cycle of replaces: v1 ──► v2 ──► v3 ──► v1.
		// The range of v3.0.0 contains itself.
		"refused", `
		channel a
		- p.v2.0.0 replaces p.v0.0.1
		- p.v1.0.0 replaces p.v0.0.1
		- p.v0.0.1
		channel b
		- p.v1.0.0 replaces p.v2.0.0
		- p.v2.0.0 replaces p.v3.0.0
		- p.v3.0.0 replaces p.v1.0.0 range >=3.0.0`,
	},
}

func TestSVGGolden(t *testing.T) {
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			golden.Compare(t, "testdata/"+tt.name+".svg", write(t, SVG, Options{}, packageOf(t, "p", tt.graph)))
		})
	}
}

// TestTitles checks that the titles of lines and boxes describe their meaning.
func TestTitles(t *testing.T) {
	for _, tt := range []struct{ graph, title string }{
		{"chain", "p.v1.2.0 replaces p.v1.1.0"},
		{"chain", "p.v1.2.0 skips p.v1.1.1"},
		{"chain", "p.v1.1.1\nversion 1.1.1\nskipped\nreplaces p.v1.1.0"},
		{"chain", "p.v0.9.0\nnot in catalog"},
		{"chain", "p.v1.0.0\nversion 1.0.0\ndeprecated\nreplaces p.v0.9.0"},
		{"ranges", "p.v2.0.0 replaces p.v1.0.0"},
		{"ranges", "p.v2.0.0 skips p.v1.3.0, p.v1.2.0, p.v1.1.1, p.v1.1.0"},
		{"ranges", "p.v1.0.0 has 0 bundles in its skipRange <1.0.0"},
		{"ranges", "each of p.v1.3.0, p.v1.2.0, p.v1.1.0 has in its skipRange those below it of " +
			"p.v1.2.0, p.v1.1.1, p.v1.1.0, p.v1.0.0"},
		{"channels", "p.v0.9.0\nversion 0.9.0\nnot in channel"},
		{"channels", "p.v0.1.0\nversion 0.1.0"},
		{"channels", "bundles in no channel"},
		{"refused", "p.v2.0.0 replaces p.v0.0.1"},
		{"refused", "p.v1.0.0 replaces p.v2.0.0"},
		{"refused", "p.v3.0.0 has in its skipRange >=3.0.0: p.v3.0.0"},
		{"refused", `no channel heads (entries not replaced by another entry) found in channel "b" of package "p"`},
	} {
		i := slices.IndexFunc(goldens, func(g struct{ name, graph string }) bool { return g.name == tt.graph })
		titles := textsOf(t, write(t, SVG, Options{}, packageOf(t, "p", goldens[i].graph)), "title")
		if !slices.Contains(titles, tt.title) {
			t.Errorf("%s: no title %q in\n%s", tt.graph, tt.title, strings.Join(titles, "\n"))
		}
	}
}

func TestChannelsDrawn(t *testing.T) {
	p := packageOf(t, "p", goldens[2].graph)
	for _, tt := range []struct {
		channels []string
		want     string
	}{
		{nil, "fast slow in no channel"},
		{[]string{"slow"}, "slow"},
		{[]string{}, ""},
	} {
		var got []string
		for _, l := range newPicture([]*graph.Package{p}, Options{Channels: tt.channels}, true).Blocks[0].Lanes {
			got = append(got, l.Label)
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%q: lanes %q, want %q", tt.channels, got, tt.want)
		}
	}
}

// hostile are names that change the meaning of the document unless escaped, or that are invalid in XML.
var hostile = []string{
	`"><script>alert(1)</script>`, `' onload='alert(1)`, `&amp;<b>]]>--></title></style>`, "a b", "🚀 👩‍🚀", "{{.}} ${x} `y`",
	"\x01\x7f\ufffe\xff", "line\nbreak", "</script><!--", strings.Repeat("long", 200),
}

func TestEscaping(t *testing.T) {
	for _, name := range hostile {
		p := packageOf(t, name, "default "+strings.ReplaceAll(name, "\n", "·")+"\nchannel "+strings.ReplaceAll(name, "\n", "·")+
			"\nv1.0.0\nbundle v2.0.0")
		for _, b := range p.Bundles {
			b.Name = name + b.Name // hostile only as a name
		}
		svg := write(t, SVG, Options{}, p)
		titles := textsOf(t, svg, "title")
		if want := oneLine(name) + "v2.0.0\nversion 2.0.0"; !slices.Contains(titles, want) {
			t.Errorf("%q: no title %q in %q", name, want, titles)
		}
		if len(textsOf(t, svg, "script")) > 0 || len(textsOf(t, svg, "style")) != 1 {
			t.Errorf("%q became an element", name)
		}
		if strings.ContainsAny(svg, "\x00\x01") {
			t.Errorf("%q: a control character is left", name)
		}
	}
}

func TestElide(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"v1.0.0", 100, "v1.0.0"},
		{"an-operator-with-a-long-name.v1.0.0", 120, "an-o…me.v1.0.0"},
		{"🚀🚀🚀🚀🚀🚀🚀🚀", 80, "🚀…🚀🚀"},
		{"abc", 1, "…"},
		{"", 1, ""},
	} {
		got := elide(tt.text, labelSize, tt.limit)
		if got != tt.want {
			t.Errorf("elide(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
		if w := width(got, labelSize); w > tt.limit && got != "…" {
			t.Errorf("elide(%q, %d) = %q, which is %d wide", tt.text, tt.limit, got, w)
		}
	}
}

func TestCommonPrefix(t *testing.T) {
	for _, tt := range []struct{ names, want string }{
		{"a.v1 a.v2 b.v3", "a."},
		{"a.v1 b.v2", ""},
		{"a.v1", ""},
		{"v1 v2", ""},
		{"a. b. a.", ""},
	} {
		var bundles []*graph.Bundle
		for name := range strings.FieldsSeq(tt.names) {
			bundles = append(bundles, &graph.Bundle{Name: name})
		}
		if got := commonPrefix(bundles); got != tt.want {
			t.Errorf("commonPrefix(%s) = %q, want %q", tt.names, got, tt.want)
		}
	}
}

// TestWriteError checks that every format returns the error of the writer.
func TestWriteError(t *testing.T) {
	p := []*graph.Package{packageOf(t, "p", graphtest.Dense(300))}
	for name, write := range map[string]Func{"SVG": SVG, "HTML": HTML, "Mermaid": Mermaid, "DOT": DOT, "JSON": JSON} {
		if err := write(failing{}, p, Options{}); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

type failing struct{}

var errFull = errors.New("the disk is full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func BenchmarkSVG500(b *testing.B)  { benchmark(b, SVG) }
func BenchmarkHTML500(b *testing.B) { benchmark(b, HTML) }

func benchmark(b *testing.B, write Func) {
	packages := []*graph.Package{packageOf(b, "p", graphtest.Dense(500))}
	for b.Loop() {
		var n counter
		if err := write(&n, packages, Options{}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(n), "bytes")
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }
