package list

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/markdown"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Matrix compares the heads of channels in several catalogs, such as the catalogs for several versions of a platform.
type Matrix struct {
	Catalogs []string    `json:"catalogs"` // names, in the order of the columns
	Rows     []MatrixRow `json:"rows"`     // by package and channel
}

// A MatrixRow is a package or, in a matrix of all channels, a channel of a package.
type MatrixRow struct {
	Package string        `json:"package"`
	Channel string        `json:"channel,omitempty"` // "" for the default channel, which may differ between catalogs
	Heads   []*MatrixHead `json:"heads"`             // one for each catalog; null if the catalog does not have the row
}

// A MatrixHead is the head of a channel in one of the catalogs.
type MatrixHead struct {
	Channel string `json:"channel"`
	Bundle  string `json:"bundle"`
	Version string `json:"version"` // of the bundle, with the release; "" if it is not known
	Older   bool   `json:"older"`   // than the highest version of the row
}

// A MatrixColumn is a catalog of a matrix.
type MatrixColumn struct {
	Catalog string // its name
	Heads   []ChannelHead
}

// A ChannelHead is a channel of a catalog and its head.
type ChannelHead struct {
	Package, Channel string
	Default          bool // whether it is the default channel
	Bundle           string
	Version          *declcfg.Version // of the bundle, nil if it is not known
}

// Heads returns the heads of all channels of packages, which must be packages of a valid catalog.
func Heads(of []*declcfg.PackageIndex) ([]ChannelHead, error) {
	var all []ChannelHead
	for _, x := range of {
		l, err := newLister(x)
		if err != nil {
			return nil, err
		}
		for _, c := range x.Channels {
			head := headOf(c.Value)
			all = append(all, ChannelHead{
				x.Name, c.Value.Name, c.Value.Name == l.defaultChannel(), head, l.bundle(head).Version,
			})
		}
	}
	return all, nil
}

// NewMatrix compares the default channels of catalogs or, with all, all channels.
func NewMatrix(columns []MatrixColumn, all bool) *Matrix {
	type key struct{ pkg, channel string }
	m := &Matrix{Catalogs: []string{}, Rows: []MatrixRow{}}
	rows := map[key][]*ChannelHead{} // one for each column
	for i, column := range columns {
		m.Catalogs = append(m.Catalogs, column.Catalog)
		for _, h := range column.Heads {
			k := key{pkg: h.Package}
			switch {
			case all:
				k.channel = h.Channel
			case !h.Default:
				continue
			}
			if rows[k] == nil {
				rows[k] = make([]*ChannelHead, len(columns))
			}
			rows[k][i] = &h
		}
	}
	for k, heads := range rows {
		m.Rows = append(m.Rows, MatrixRow{k.pkg, k.channel, compareHeads(heads)})
	}
	slices.SortFunc(m.Rows, func(a, b MatrixRow) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Channel, b.Channel))
	})
	return m
}

// compareHeads marks the heads whose version is not the highest. Heads may be nil.
func compareHeads(heads []*ChannelHead) []*MatrixHead {
	var highest declcfg.Version
	for _, h := range heads {
		if h != nil && h.Version != nil && h.Version.Compare(highest) > 0 {
			highest = *h.Version
		}
	}
	marked := make([]*MatrixHead, len(heads))
	for i, h := range heads {
		if h == nil {
			continue
		}
		marked[i] = &MatrixHead{
			Channel: h.Channel, Bundle: h.Bundle, Version: fullVersion(h.Version),
			Older: h.Version != nil && h.Version.Compare(highest) < 0,
		}
	}
	return marked
}

// The formats of reports that people read, beside Text.
const (
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// MatrixFormats returns the formats of a matrix, the default first.
func MatrixFormats() []Format { return []Format{Text, Markdown, HTML, JSON, YAML} }

// Write writes a matrix. In text and Markdown, "-" stands for a package that a catalog does not have, and "<" follows
// a version that is older than another one of its row. The channel is named if a row has several.
func (m *Matrix) Write(w io.Writer, f Format) error {
	switch f {
	case JSON:
		return writeJSON(w, m)
	case YAML:
		return writeYAML(w, m)
	case HTML:
		return matrixPage.Execute(w, m)
	case Markdown:
		return m.writeMarkdown(w)
	}
	return align(w, len(m.columns()), func(yield func([]string) bool) {
		header := m.columns()
		for i := range header {
			header[i] = legible.Name(header[i])
			if i < len(header)-len(m.Catalogs) {
				header[i] = strings.ToUpper(header[i])
			}
		}
		if !yield(header) {
			return
		}
		for _, r := range m.Rows {
			cells := m.titles(r)
			for _, h := range r.Heads {
				cells = append(cells, r.cell(h))
			}
			for i := range cells {
				cells[i] = legible.Name(cells[i])
			}
			if !yield(cells) {
				return
			}
		}
	})
}

// Channels reports whether the rows are channels.
func (m *Matrix) Channels() bool {
	return slices.ContainsFunc(m.Rows, func(r MatrixRow) bool { return r.Channel != "" })
}

// columns returns the names of the columns.
func (m *Matrix) columns() []string {
	titles := []string{"package"}
	if m.Channels() {
		titles = append(titles, "channel")
	}
	return slices.Concat(titles, m.Catalogs)
}

// titles returns the cells of a row before its heads.
func (m *Matrix) titles(r MatrixRow) []string {
	if m.Channels() {
		return []string{r.Package, r.Channel}
	}
	return []string{r.Package}
}

// cell writes a head of the row, which may be nil.
func (r MatrixRow) cell(h *MatrixHead) string {
	if h == nil {
		return "-"
	}
	text := r.Label(h)
	if h.Older {
		text += " <"
	}
	return text
}

// Label returns the version of a head of the row or, if it is not known, the bundle, and the channel if the row has
// several.
func (r MatrixRow) Label(h *MatrixHead) string {
	text := cmp.Or(h.Version, h.Bundle)
	if slices.ContainsFunc(r.Heads, func(o *MatrixHead) bool { return o != nil && o.Channel != h.Channel }) {
		text += " (" + h.Channel + ")"
	}
	return text
}

func (m *Matrix) writeMarkdown(w io.Writer) error {
	var text strings.Builder
	line := func(cells []string) { fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | ")) }
	var header []string
	for _, name := range m.columns() {
		header = append(header, markdown.Escape(name))
	}
	line(header)
	line(slices.Repeat([]string{"---"}, len(header)))
	for _, r := range m.Rows {
		var cells []string
		for _, title := range m.titles(r) {
			cells = append(cells, markdown.Code(title))
		}
		for _, h := range r.Heads {
			cells = append(cells, markdown.Escape(r.cell(h)))
		}
		line(cells)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

//go:embed matrix.tmpl
var matrixText string

var matrixPage = template.Must(template.New("matrix").Parse(matrixText))
