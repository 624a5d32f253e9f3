package draw

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// readJSON decodes the output of JSON, and rejects undocumented members.
func readJSON(t *testing.T, text string) (drawn struct {
	Packages []struct {
		Name           string `json:"name"`
		DefaultChannel string `json:"defaultChannel"`
		Deprecated     bool   `json:"deprecated"`
		Channels       []struct {
			Name         string     `json:"name"`
			Deprecated   bool       `json:"deprecated"`
			ClassicError string     `json:"classicError"`
			Nodes        []jsonNode `json:"nodes"`
			Edges        []jsonEdge `json:"edges"`
		} `json:"channels"`
	} `json:"packages"`
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &drawn, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return drawn
}

func TestWriteJSON(t *testing.T) {
	drawn := readJSON(t, write(t, JSON, Options{}, shown(t)))
	p := drawn.Packages[0]
	if p.Name != "p" || p.DefaultChannel != "stable" || p.Deprecated || len(p.Channels) != 2 {
		t.Errorf("got package %+v", p)
	}
	old, stable := p.Channels[0], p.Channels[1]
	if old.Name != "old" || !old.Deprecated || old.ClassicError != "" {
		t.Errorf("got channel %+v", old)
	}
	if !strings.Contains(stable.ClassicError, "2 replacement chains") { // from v4 and from v0
		t.Errorf("got the error of OLM Classic %q", stable.ClassicError)
	}
	var nodes, edges []string
	for _, n := range stable.Nodes {
		line := fmt.Sprintf("%s %s entry=%t head=%t skipped=%t deprecated=%t virtual=%t %s", n.Name, n.Version, n.Entry, n.Head,
			n.Skipped, n.Deprecated, n.Virtual, n.SkipRange)
		if n.Classic != nil {
			line += fmt.Sprintf(" classic: %s %s", n.Classic.By, n.Classic.To)
		}
		if n.V1 != nil {
			line += fmt.Sprintf(" v1: %s %s", n.V1.By, n.V1.To)
		}
		nodes = append(nodes, line)
	}
	for _, e := range stable.Edges {
		line := fmt.Sprintf("%s %s %s %s", e.From, e.Kind, e.To, e.Range)
		if e.Bundles != nil {
			line += fmt.Sprintf(" %d bundles", *e.Bundles)
		}
		edges = append(edges, line)
	}
	wantNodes := []string{
		"v4 4.0.0 entry=true head=true skipped=false deprecated=false virtual=false ",
		"v3 3.0.0 entry=true head=false skipped=true deprecated=false virtual=false <2.0.0 v1: skips v4",
		"v1 1.0.0 entry=true head=false skipped=false deprecated=false virtual=false  v1: replaces v4",
		"v0 0.0.0 entry=true head=true skipped=false deprecated=true virtual=false <0.0.0 v1: skipRange v3",
		"v2  entry=false head=false skipped=true deprecated=false virtual=true  v1: skips v4",
	}
	if !slices.Equal(nodes, wantNodes) {
		t.Errorf("got nodes\n%s\nwant\n%s", strings.Join(nodes, "\n"), strings.Join(wantNodes, "\n"))
	}
	wantEdges := []string{
		"v1 replaces v4 ", "v3 skips v4 ", "v2 skips v4 ", "v0 skipRange v3 <2.0.0", "v1 skipRange v3 <2.0.0",
		" skipRange v0 <0.0.0 0 bundles",
	}
	if !slices.Equal(edges, wantEdges) {
		t.Errorf("got edges\n%s\nwant\n%s", strings.Join(edges, "\n"), strings.Join(wantEdges, "\n"))
	}
	if c := old.Nodes[1].Classic; c == nil || *c != (jsonStep{"v1", graph.Replaces}) {
		t.Errorf("got the classic update %v of v0 in the channel old", c)
	}
}

func TestWriteJSONErrors(t *testing.T) {
	//nolint:dupword // a table
	p := packageOf(t, "p", "channel c\nv2 replaces v1\nv1\nrequires v2 olm.constraint\nprohibited v2")
	nodes := readJSON(t, write(t, JSON, Options{}, p)).Packages[0].Channels[0].Nodes
	v2, v1 := nodes[0], nodes[1]
	if !strings.Contains(v2.ClassicError, "bundle v2 is deprecated") || v1.ClassicError != "" {
		t.Errorf("got the errors %q, %q of OLM Classic", v2.ClassicError, v1.ClassicError)
	}
	for _, n := range nodes {
		if n.V1 != nil || !strings.HasPrefix(n.V1Error, `validating bundle "v2": `) {
			t.Errorf("%s: got the update %v and the error %q of OLM v1", n.Name, n.V1, n.V1Error)
		}
	}
}

// TestWriteJSONNames checks that every name survives encoding and decoding.
func TestWriteJSONNames(t *testing.T) {
	p := hostilePackage()
	drawn := readJSON(t, write(t, JSON, Options{}, p))
	for i, c := range drawn.Packages[0].Channels {
		if c.Name != p.Channels[i].Name || c.Nodes[0].Name != newDrawing(p.Channels[i]).nodes[0].Name {
			t.Errorf("channel %q came back as %q", p.Channels[i].Name, c.Name)
		}
	}
}
