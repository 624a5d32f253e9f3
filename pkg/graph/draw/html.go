package draw

import (
	"crypto/sha256"
	_ "embed" // the templates, styles and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/graph"
)

var (
	//go:embed svg.tmpl
	svgTemplate string
	//go:embed svg.css
	svgStyle string
	//go:embed page.tmpl
	pageTemplate string
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string

	// templates returns the templates, which are parsed on first use.
	templates = sync.OnceValue(func() *template.Template { return parse(svgTemplate, pageTemplate) })
)

// parse parses templates. html/template escapes values for their context, in SVG as in HTML.
func parse(texts ...string) *template.Template {
	all := template.New("draw")
	for _, text := range texts {
		template.Must(all.Parse(text))
	}
	return all
}

// maxBoxes is the maximum number of bundles and channels in a picture. Each takes one kilobyte of memory, and several
// in a browser.
const maxBoxes = 100_000

// checkSize returns an error if packages are too large for a picture.
func checkSize(packages []*graph.Package, o Options) error {
	boxes := 0
	for _, p := range packages {
		for _, c := range o.channelsOf(p) {
			boxes += 1 + len(c.Members())
		}
	}
	if boxes > maxBoxes {
		return fmt.Errorf("the picture has %s bundles and channels, more than %s; draw some packages or channels only, "+
			"or print dot or json", plural.Number(boxes), plural.Number(maxBoxes))
	}
	return nil
}

// SVG writes packages as one picture with a legend, one below the other in their order. Titles, which browsers show as
// tooltips, describe everything as text. Colours adapt to light and dark mode. The output is deterministic. The error
// is the error of w, or reports a picture with more than 100,000 bundles and channels.
func SVG(w io.Writer, packages []*graph.Package, o Options) error {
	if err := checkSize(packages, o); err != nil {
		return err
	}
	p := newPicture(packages, o, true)
	p.Style = template.CSS(svgStyle)
	return templates().ExecuteTemplate(w, "svg", p)
}

// HTML writes packages as a page that shows the picture of [SVG] with search and zoom. For a selected bundle, the page
// shows the updates in OLM Classic and OLM v1 for followers of the channel of its lane. It has an index of packages, is
// self-contained and does not use the network. The error is as for SVG.
func HTML(w io.Writer, packages []*graph.Package, o Options) error {
	if err := checkSize(packages, o); err != nil {
		return err
	}
	picture := newPicture(packages, o, false)
	lanes := []laneUpdates{} // an empty list, not null
	for _, b := range picture.Blocks {
		for _, l := range b.Lanes {
			lanes = append(lanes, l.updates(b.graph))
		}
	}
	style := svgStyle + pageStyle
	samples, _ := newLegend()
	for i := range samples {
		samples[i].X, samples[i].Y = 1, sampleHeight/2
	}
	return templates().ExecuteTemplate(w, "page", page{
		Picture: picture,
		Policy: fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'",
			hash(pageScript), hash(style)),
		Style:  template.CSS(style),
		Script: template.JS(pageScript),
		Legend: samples,
		Lanes:  lanes,
	})
}

// A page is the data of the HTML template.
type page struct {
	Picture *picture
	Policy  string // Content-Security-Policy: allows only this style and this script
	Style   template.CSS
	Script  template.JS
	Legend  []sample // each sample drawn separately
	Lanes   []laneUpdates
}

// hash returns the SHA-256 source expression of a text for a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// laneUpdates is the data of the HTML page for a lane: the updates of each bundle. Lanes and bundles are in the order
// of the picture.
type laneUpdates struct {
	Package string        `json:"package"`
	Channel string        `json:"channel"`         // "" for bundles in no channel
	Loose   bool          `json:"loose,omitempty"` // the bundles are in no channel
	Refused string        `json:"refused,omitempty"`
	Bundles []bundleFacts `json:"bundles"`
	Classic []*nextStep   `json:"classic"` // by bundle; null if it stays, or the channel is refused
	V1      []*nextStep   `json:"v1"`      // as Classic
}

// bundleFacts are the name, version and state of a bundle, as text.
type bundleFacts struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	State   string `json:"state,omitempty"` // the texts of its badges
	Head    bool   `json:"head,omitempty"`
}

// A nextStep is the update of a bundle to another bundle of the lane, or the error that OLM reports instead.
type nextStep struct {
	To    int        `json:"to"`
	By    graph.Edge `json:"by,omitempty"`
	Error string     `json:"error,omitempty"`
}

// updates returns the updates of a lane of a package.
func (l *lane) updates(g *graph.Package) laneUpdates {
	u := laneUpdates{Package: g.Name, Loose: l.Loose, Bundles: make([]bundleFacts, len(l.Boxes))}
	for i, b := range l.Boxes {
		words := make([]string, len(b.Badges))
		for i, badge := range b.Badges {
			words[i] = badge.Text
		}
		u.Bundles[i] = bundleFacts{b.node.Name, versionOf(b.node), strings.Join(words, ", "), b.node.Head}
	}
	if l.channel == nil {
		u.Classic, u.V1 = make([]*nextStep, len(l.Boxes)), make([]*nextStep, len(l.Boxes))
		return u
	}
	u.Channel = l.channel.Name
	classic, v1, err := g.Plans(l.channel)
	if err != nil {
		u.Refused = err.Error()
		u.Classic = make([]*nextStep, len(l.Boxes))
	} else {
		u.Classic = l.steps(classic)
	}
	u.V1 = l.steps(v1)
	return u
}

// steps returns the updates of a plan. They never leave the lane: only bundles in the channel can be installed from it.
func (l *lane) steps(plan *graph.Plan) []*nextStep {
	at := make(map[*graph.Bundle]int, len(l.Boxes))
	for i, b := range l.Boxes {
		at[b.node.Bundle] = i
	}
	steps := make([]*nextStep, len(l.Boxes))
	for i, b := range l.Boxes {
		if s, ok := plan.Next(b.node.Bundle); ok {
			steps[i] = &nextStep{To: at[s.To], By: s.By}
		} else if err := plan.Err(b.node.Bundle); err != nil {
			steps[i] = &nextStep{To: none, Error: err.Error()}
		}
	}
	return steps
}
