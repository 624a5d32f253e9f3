// Package draw draws the update graphs of packages: as Mermaid, Graphviz, SVG, HTML, and JSON. All formats show the
// same bundles and links.
//
//	err := draw.SVG(os.Stdout, []*graph.Package{graph.NewPackage(index)}, draw.Options{})
//
// In SVG and HTML, a package is a row of lanes, one for each channel. A lane has a box for each bundle that the channel
// names, the head at the top: in the order of OLM Classic or, if there is none, by version. Lines lead upwards, from
// the installed bundle to its update.
//
//   - A replaced bundle has a solid line, between the boxes if the way is free, otherwise left of them.
//   - A skipped bundle has a dashed line right of the boxes.
//   - A bundle in a skipRange has a dotted line left of the boxes.
//
// Since skips and ranges overlap, their lines share a trunk if that does not change the meaning: each entry with an
// arrow head on a trunk updates all bundles below it that join the trunk. For example, if every entry of a channel has
// a range down to the first version, their lines are one trunk.
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

// maxBoxes is the maximum number of bundles and channels in a picture. Each takes a kilobyte, and several in a browser.
const maxBoxes = 100_000

// checkSize returns an error if packages are too large for a picture.
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
	Policy  string // Content-Security-Policy: allows only this style and this script
	Style   template.CSS
	Script  template.JS
	Legend  []sample // each sample drawn separately
	Lanes   []laneFates
}

// hash returns the SHA-256 source expression of a text for a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
