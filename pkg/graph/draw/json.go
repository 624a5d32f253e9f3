package draw

import (
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/graph"
)

// JSON writes packages for programs:
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
// members classic and v1 are the next update of the bundle for followers of this channel, with its [graph.Edge]; they
// are omitted if there is none. The error that OLM reports about the bundle instead is in classicError or v1Error. A
// channel that OLM Classic rejects has a member classicError, and its nodes have none. An edge for a whole range has no
// from; its member bundles is the number of bundles in the range.
func JSON(w io.Writer, packages []*graph.Package, o Options) error {
	j := &jsonDrawing{enc: jsontext.NewEncoder(w, jsontext.WithIndent("  "))}
	j.object(func() {
		j.list("packages", func() {
			for _, p := range packages {
				j.pkg(p, o.ChannelsOf(p))
			}
		})
	})
	return j.err
}

// A jsonDrawing writes one drawing, with at most one node or edge in memory. It keeps its first error.
type jsonDrawing struct {
	enc *jsontext.Encoder
	err error
}

func (j *jsonDrawing) token(t jsontext.Token) {
	if j.err == nil {
		j.err = j.enc.WriteToken(t)
	}
}

func (j *jsonDrawing) value(v any) {
	if j.err == nil {
		j.err = json.MarshalEncode(j.enc, v)
	}
}

func (j *jsonDrawing) member(name string, v any) {
	j.token(jsontext.String(name))
	j.value(v)
}

func (j *jsonDrawing) object(members func()) {
	j.token(jsontext.BeginObject)
	members()
	j.token(jsontext.EndObject)
}

func (j *jsonDrawing) list(name string, elements func()) {
	j.token(jsontext.String(name))
	j.token(jsontext.BeginArray)
	elements()
	j.token(jsontext.EndArray)
}

func (j *jsonDrawing) pkg(p *graph.Package, channels []*graph.Channel) {
	j.object(func() {
		j.member("name", p.Name)
		j.member("defaultChannel", p.DefaultChannel)
		j.member("deprecated", p.Deprecated)
		j.list("channels", func() {
			for _, c := range channels {
				j.channel(p, c)
			}
		})
	})
}

func (j *jsonDrawing) channel(p *graph.Package, c *graph.Channel) {
	d := newDrawing(c)
	classic, v1, err := p.Plans(c)
	j.object(func() {
		j.member("name", c.Name)
		j.member("deprecated", c.Deprecated)
		if err != nil {
			j.member("classicError", err.Error())
		}
		j.list("nodes", func() {
			for i := range d.nodes {
				n := jsonNodeOf(&d.nodes[i], classic, v1)
				if err != nil { // it is in the channel
					n.ClassicError = ""
				}
				j.value(n)
			}
		})
		j.list("edges", func() {
			for l := range d.links() {
				j.value(jsonEdgeOf(d, l))
			}
		})
	})
}

type jsonNode struct {
	Name       string    `json:"name"`
	Version    string    `json:"version,omitzero"`
	Entry      bool      `json:"entry"`
	Head       bool      `json:"head"`
	Skipped    bool      `json:"skipped"`
	Deprecated bool      `json:"deprecated"`
	Virtual    bool      `json:"virtual"`
	SkipRange  string    `json:"skipRange,omitzero"`
	Classic    *jsonStep `json:"classic,omitzero"`
	V1         *jsonStep `json:"v1,omitzero"`

	ClassicError string `json:"classicError,omitzero"`
	V1Error      string `json:"v1Error,omitzero"`
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
	From    string     `json:"from,omitzero"`
	To      string     `json:"to"`
	Kind    graph.Edge `json:"kind"`
	Range   string     `json:"range,omitzero"`
	Bundles *int       `json:"bundles,omitzero"`
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
