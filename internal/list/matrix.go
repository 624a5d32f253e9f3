package list

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Matrix compares the heads of channels in several catalogs, such as the catalogs for several versions of a platform.
type Matrix struct {
	Catalogs []string    `json:"catalogs"` // names, in the order of the columns
	Rows     []MatrixRow `json:"rows"`     // by package and channel
}

// A MatrixRow is a package or, in a matrix of all channels, a channel of a package.
type MatrixRow struct {
	Package string       `json:"package"`
	Channel string       `json:"channel,omitempty"` // "" for the default channel, which may differ between catalogs
	Heads   []MatrixHead `json:"heads"`             // one for each catalog that has the row, in the order of catalogs
}

// A MatrixHead is the head of a channel in one of the catalogs.
type MatrixHead struct {
	Catalog string `json:"catalog"`
	Channel string `json:"channel"`
	Bundle  string `json:"bundle"`
	Version string `json:"version"` // version of the bundle, with the release; "" if unknown
	Older   bool   `json:"older"`   // a catalog of the row has a higher version

	version *declcfg.Version
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
func Heads(packages iter.Seq[*declcfg.PackageIndex]) []ChannelHead {
	var all []ChannelHead
	for x := range packages {
		l := newLister(x)
		for _, c := range x.Channels {
			head := headOf(c.Value)
			all = append(all, ChannelHead{
				x.Name, c.Value.Name, c.Value.Name == l.defaultChannel(), head, l.bundle(head).Version,
			})
		}
	}
	return all
}

// NewMatrix compares the default channels of catalogs, or all channels if all is true.
func NewMatrix(columns []MatrixColumn, all bool) *Matrix {
	type key struct{ pkg, channel string }
	m := &Matrix{Catalogs: []string{}, Rows: []MatrixRow{}}
	rows := map[key]*MatrixRow{}
	highest := map[key]*declcfg.Version{} // nil if no version of the row is known
	for _, column := range columns {
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
				rows[k] = &MatrixRow{Package: k.pkg, Channel: k.channel}
			}
			rows[k].Heads = append(rows[k].Heads, MatrixHead{
				Catalog: column.Catalog, Channel: h.Channel, Bundle: h.Bundle, Version: fullVersion(h.Version), version: h.Version,
			})
			if h.Version != nil && (highest[k] == nil || h.Version.Compare(*highest[k]) > 0) {
				highest[k] = h.Version
			}
		}
	}
	for k, row := range rows {
		for i := range row.Heads {
			h := &row.Heads[i]
			h.Older = h.version != nil && h.version.Compare(*highest[k]) < 0
		}
		m.Rows = append(m.Rows, *row)
	}
	slices.SortFunc(m.Rows, func(a, b MatrixRow) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Channel, b.Channel))
	})
	return m
}

// Result returns the answer with a matrix. In text and Markdown, "-" stands for a package that a catalog does not have,
// and "<" follows a version that is older than another one of its row. The channel is named if a row has several.
func (m *Matrix) Result() *output.Result {
	return &output.Result{Value: m, Report: m.table, Other: map[output.Format]func(io.Writer) error{
		output.HTML: func(w io.Writer) error { return matrixPage.Execute(w, m) },
	}}
}

func (m *Matrix) table() *report.Report {
	var rows [][]string
	for _, r := range m.Rows {
		cells := m.titles(r)
		for _, name := range m.Catalogs {
			cells = append(cells, r.cell(name))
		}
		rows = append(rows, cells)
	}
	out := &report.Report{}
	out.Table(m.columns(), rows)
	return out
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
	return slices.Concat(titles, report.Names(m.Catalogs))
}

// titles returns the cells of a row before its heads.
func (m *Matrix) titles(r MatrixRow) []string {
	if m.Channels() {
		return []string{report.Name(r.Package), report.Name(r.Channel)}
	}
	return []string{report.Name(r.Package)}
}

// In returns the head of the row in a catalog, or nil if the catalog does not have the row.
func (r MatrixRow) In(catalog string) *MatrixHead {
	i := slices.IndexFunc(r.Heads, func(h MatrixHead) bool { return h.Catalog == catalog })
	if i < 0 {
		return nil
	}
	return &r.Heads[i]
}

// cell returns the cell of a catalog in text and Markdown.
func (r MatrixRow) cell(catalog string) string {
	h := r.In(catalog)
	if h == nil {
		return "-"
	}
	text := r.Label(h)
	if h.Older {
		text += " <"
	}
	return text
}

// Label returns the version of a head of the row, or its bundle if the version is unknown. It adds the channel if the
// row has several channels.
func (r MatrixRow) Label(h *MatrixHead) string {
	text := cmp.Or(h.Version, h.Bundle)
	if slices.ContainsFunc(r.Heads, func(o MatrixHead) bool { return o.Channel != h.Channel }) {
		text += " (" + h.Channel + ")"
	}
	return text
}

//go:embed matrix.tmpl
var matrixText string

var matrixPage = template.Must(template.New("matrix").Parse(matrixText))
