// Package draw draws the update graphs of packages: for Mermaid and Graphviz, as SVG and HTML, and as JSON for
// programs. All show the same bundles and links.
//
//	err := draw.SVG(os.Stdout, []*graph.Package{graph.NewPackage(index)}, draw.Options{})
//
// In SVG and HTML, a package is a row of lanes, one for each channel. A lane lists what the channel names, one box for
// a bundle, the head at the top: in the order that OLM Classic follows, and by version where there is none. Lines lead
// upwards, from what is installed to what updates it.
//
//   - What is replaced has a solid line, between boxes where nothing is in the way, else at their left.
//   - What is skipped has a dashed line at the right of the boxes.
//   - What is in a skipRange has a dotted line at the left.
//
// As skips and ranges overlap, their lines share a trunk wherever that says the same: each entry with an arrow head on
// a trunk updates all bundles below it that join that trunk. So the lines of a channel in which every entry has a range
// down to the first version are one trunk.
package draw

import (
	"crypto/sha256"
	_ "embed" // the templates, styles and the script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
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

	// templates are parsed on first use.
	templates = sync.OnceValue(func() *template.Template { return parse(svgTemplate, pageTemplate) })
)

// parse returns the templates. html/template escapes values for their context, in SVG as in HTML.
func parse(texts ...string) *template.Template {
	all := template.New("draw")
	for _, text := range texts {
		template.Must(all.Parse(text))
	}
	return all
}

// maxBoxes is how many bundles and channels a picture may have: each takes a kilobyte, and several in a browser.
const maxBoxes = 100_000

// checkSize returns an error for packages that are too large for a picture.
func checkSize(packages []*graph.Package, o Options) error {
	boxes := 0
	for _, p := range packages {
		for _, c := range o.ChannelsOf(p) {
			boxes += 1 + len(c.Members())
		}
	}
	if boxes > maxBoxes {
		return fmt.Errorf("the picture has %s bundles and channels, more than %s; draw some packages or channels only, "+
			"or print dot or json", plural.Number(boxes), plural.Number(maxBoxes))
	}
	return nil
}

// SVG writes packages as one picture with a legend, from the top down in their order. Titles, which browsers show as
// tooltips, describe everything as text. Colours adapt to light and dark mode. The output is deterministic. The error
// is that of w, or about a picture of more than 100,000 bundles and channels.
func SVG(w io.Writer, packages []*graph.Package, o Options) error {
	if err := checkSize(packages, o); err != nil {
		return err
	}
	p := newPicture(packages, o, true)
	p.Style = template.CSS(svgStyle)
	return templates().ExecuteTemplate(w, "svg", p)
}

// HTML writes packages as a page with the picture of [SVG], to search and to zoom. It shows the updates of a selected
// bundle in OLM Classic and OLM v1, for followers of the channel of its lane, and has an index of packages. The page is
// self-contained and does not use the network. The error is as for SVG.
func HTML(w io.Writer, packages []*graph.Package, o Options) error {
	if err := checkSize(packages, o); err != nil {
		return err
	}
	picture := newPicture(packages, o, false)
	style := svgStyle + pageStyle
	return templates().ExecuteTemplate(w, "page", page{
		Picture: picture,
		Policy: fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'",
			hash(pageScript), hash(style)),
		Style:  template.CSS(style),
		Script: template.JS(pageScript),
		Legend: looseSamples(),
		Lanes:  newFates(picture),
	})
}

// A page is the data of the HTML template.
type page struct {
	Picture *picture
	Policy  string // Content-Security-Policy: only this style and this script
	Style   template.CSS
	Script  template.JS
	Legend  []sample // each by itself
	Lanes   []laneFates
}

// hash returns the hash of a text for a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
