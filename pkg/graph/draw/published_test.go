package draw

import (
	"os"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// publishedCatalogs returns third-party published catalogs, by directory.
func publishedCatalogs(t *testing.T) map[string]*declcfg.Index {
	t.Helper()
	all := map[string]*declcfg.Index{}
	for _, dir := range shared.Catalogs(t) {
		x, err := declcfg.ReadIndex(t.Context(), declcfg.Source{Name: dir, FS: os.DirFS(dir)})
		if err != nil {
			t.Fatal(err)
		}
		all[dir] = x
	}
	return all
}

// TestPublishedDrawings draws published catalogs in every format, and checks that all formats show the same bundles and
// links.
func TestPublishedDrawings(t *testing.T) {
	for dir, x := range publishedCatalogs(t) {
		for _, p := range x.Packages() {
			drawPublished(t, graph.NewPackage(p))
		}
		var upstream strings.Builder
		if err := UpstreamMermaid(&upstream, x, UpstreamOptions{V0: true}); err != nil {
			t.Error(err)
		}
		if strings.Count(upstream.String(), "\n    subgraph ") == 0 {
			t.Errorf("%s: upstream's drawing has no channels", dir)
		}
	}
}

func drawPublished(t *testing.T, p *graph.Package) {
	t.Helper()
	mermaid := write(t, Mermaid, Options{}, p)
	for _, line := range malformedLines(mermaid) {
		t.Errorf("package %s: Mermaid cannot read: %s", p.Name, line)
	}
	dot := write(t, DOT, Options{}, p)
	if err := balanced(dot); err != nil {
		t.Errorf("package %s: %v", p.Name, err)
	}
	links := 0
	for _, c := range readJSON(t, write(t, JSON, Options{}, p)).Packages[0].Channels {
		links += len(c.Edges)
	}
	inMermaid := 0
	for line := range strings.Lines(mermaid) {
		if mermaidLink.MatchString(strings.TrimSuffix(line, "\n")) {
			inMermaid++
		}
	}
	if inDOT := strings.Count(dot, " -> "); inMermaid != links || inDOT != links {
		t.Errorf("package %s: %d links in Mermaid, %d in DOT, %d in JSON", p.Name, inMermaid, inDOT, links)
	}
}
