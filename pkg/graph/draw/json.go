package draw

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// JSON writes packages as JSON for programs:
//
//	{"packages": [{
//	  "name": "kiln",
//	  "defaultChannel": "stable",
//	  "deprecated": false,
//	  "channels": [{
//	    "name": "stable",
//	    "deprecated": false,
//	    "nodes": [{
//	      "name": "kiln.v1.2.0",
//	      "version": "1.2.0",
//	      "entry": true,
//	      "head": true,
//	      "skipped": false,
//	      "deprecated": false,
//	      "virtual": false,
//	      "skipRange": ">=1.0.0 <1.2.0",
//	      "classic": {"to": "kiln.v1.3.0", "by": "replaces"},
//	      "v1": {"to": "kiln.v1.3.0", "by": "replaces"}
//	    }],
//	    "edges": [{"from": "kiln.v1.0.0", "to": "kiln.v1.2.0", "kind": "skipRange", "range": ">=1.0.0 <1.2.0"}]
//	  }]
//	}]}
//
// Nodes are sorted by version, the highest first. In a node, entry is true if the channel has an entry for it, and
// skipped if another entry skips it. Edges are sorted by their target. Unknown versions and ranges are omitted. The
// members classic and v1 are the next update of the bundle for followers of this channel, with its [graph.Edge]; each
// is omitted if there is no update. If OLM reports an error for the bundle instead, it is in classicError or v1Error. A
// channel that OLM Classic rejects has a member classicError, and its nodes have none. An edge for a whole range has no
// from; its member bundles is the number of bundles in the range.
func JSON(w io.Writer, packages []*graph.Package, o Options) error {
	return json.MarshalEncode(jsontext.NewEncoder(w, jsontext.WithIndent("  ")), Value(packages, o))
}

// Value returns the value that [JSON] writes. Its nodes and edges are made while it is encoded, one after another.
func Value(packages []*graph.Package, o Options) any {
	return jsonDrawing{eachOf(packages, func(p *graph.Package) jsonPackage {
		channels := eachOf(o.channelsOf(p), func(c *graph.Channel) jsonChannel { return jsonChannelOf(p, c) })
		return jsonPackage{p.Name, p.DefaultChannel, p.Deprecated, channels}
	})}
}

// eachOf yields the result of calling of for each element.
func eachOf[E, T any](all []E, of func(E) T) output.List[T] {
	return func(yield func(T) bool) {
		for _, e := range all {
			if !yield(of(e)) {
				return
			}
		}
	}
}

// A jsonDrawing is a drawing of packages.
type jsonDrawing struct {
	Packages output.List[jsonPackage] `json:"packages"`
}

type jsonPackage struct {
	Name           string                   `json:"name"`
	DefaultChannel string                   `json:"defaultChannel"`
	Deprecated     bool                     `json:"deprecated"`
	Channels       output.List[jsonChannel] `json:"channels"`
}

type jsonChannel struct {
	Name         string                 `json:"name"`
	Deprecated   bool                   `json:"deprecated"`
	ClassicError string                 `json:"classicError,omitzero"` // of OLM Classic, which rejects the channel
	Nodes        output.List[*jsonNode] `json:"nodes"`                 // the highest version first
	Edges        output.List[*jsonEdge] `json:"edges"`
}

func jsonChannelOf(p *graph.Package, c *graph.Channel) jsonChannel {
	d := newDrawing(c)
	classic, v1, err := p.Plans(c)
	return jsonChannel{
		Name: c.Name, Deprecated: c.Deprecated, ClassicError: errorText(err),
		Nodes: func(yield func(*jsonNode) bool) {
			for i := range d.nodes {
				n := jsonNodeOf(&d.nodes[i], classic, v1)
				if err != nil { // the error is in the channel
					n.ClassicError = ""
				}
				if !yield(n) {
					return
				}
			}
		},
		Edges: func(yield func(*jsonEdge) bool) {
			for l := range d.links() {
				if !yield(jsonEdgeOf(d, l)) {
					return
				}
			}
		},
	}
}

// A jsonNode is a bundle of a channel, or a bundle that its entries name.
type jsonNode struct {
	Name       string    `json:"name"`
	Version    string    `json:"version,omitzero"` // with the release; omitted if unknown
	Entry      bool      `json:"entry"`            // the channel has an entry for it
	Head       bool      `json:"head"`
	Skipped    bool      `json:"skipped"` // another entry skips it
	Deprecated bool      `json:"deprecated"`
	Virtual    bool      `json:"virtual"` // not in the catalog
	SkipRange  string    `json:"skipRange,omitzero"`
	Classic    *jsonStep `json:"classic,omitzero"` // the next update by OLM Classic
	V1         *jsonStep `json:"v1,omitzero"`      // the next update by OLM v1

	ClassicError string `json:"classicError,omitzero"` // the error of OLM Classic
	V1Error      string `json:"v1Error,omitzero"`      // the error of OLM v1
}

type jsonStep struct {
	To string     `json:"to"`
	By graph.Edge `json:"by"`
}

func jsonNodeOf(n *graph.Node, classic, v1 *graph.Plan) *jsonNode {
	j := &jsonNode{
		Name: n.Name, Version: versionOf(n), Entry: n.Entry != nil, Head: n.Head, Skipped: n.Skipped,
		Deprecated: n.Deprecated, Virtual: n.Virtual,
		Classic: jsonStepOf(classic, n.Bundle), V1: jsonStepOf(v1, n.Bundle),
		ClassicError: errorText(classic.Err(n.Bundle)), V1Error: errorText(v1.Err(n.Bundle)),
	}
	if n.Entry != nil {
		j.SkipRange = n.Entry.SkipRange
	}
	return j
}

func jsonStepOf(p *graph.Plan, b *graph.Bundle) *jsonStep {
	s, ok := p.Next(b)
	if !ok {
		return nil
	}
	return &jsonStep{s.To.Name, s.By}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

type jsonEdge struct {
	From    string     `json:"from,omitzero"` // omitted for a whole range
	To      string     `json:"to"`
	Kind    graph.Edge `json:"kind"`
	Range   string     `json:"range,omitzero"`
	Bundles *int       `json:"bundles,omitzero"` // number of bundles in a whole range
}

func jsonEdgeOf(d *drawing, l link) *jsonEdge {
	e := &jsonEdge{To: d.nodes[l.to].Name, Kind: l.by, Range: l.skipRange}
	if l.from == none {
		e.Bundles = &l.bundles
	} else {
		e.From = d.nodes[l.from].Name
	}
	return e
}
