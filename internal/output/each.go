package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/report"
)

// An Each writes results about several catalogs. Text has a heading for each catalog; JSON and YAML are one list, whose
// objects have the key catalog; names are written once.
type Each struct {
	w       io.Writer
	format  Format
	objects []object        // of JSON and YAML
	names   map[string]bool // those that are written
	headed  bool            // a catalog has a heading
}

// An object is one that a result has for a catalog.
type object struct {
	Catalog string         `json:"catalog"`
	Object  jsontext.Value `json:",embed"`
}

// eachFormats are the formats that can hold several results.
var eachFormats = []Format{Text, Wide, Markdown, JSON, YAML, Name}

// NewEach returns an Each that writes to w. Formats that cannot hold several results are an error.
func NewEach(w io.Writer, f Format) (*Each, error) {
	if !slices.Contains(eachFormats, f) {
		return nil, fmt.Errorf("--each and --output %s cannot be combined", f)
	}
	return &Each{w: w, format: f, objects: []object{}, names: map[string]bool{}}, nil
}

// Add adds the result about a catalog. Text and names are written now.
func (e *Each) Add(catalog string, r *Result) error {
	switch e.format {
	case JSON, YAML:
		return e.add(catalog, r.Value)
	case Name:
		return writeNames(e.w, r.Names, e.names)
	}
	return r.Write(&headed{each: e, catalog: catalog}, e.format)
}

func (e *Each) add(catalog string, value any) error {
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	objects := []jsontext.Value{text}
	if jsontext.Value(text).Kind() == '[' {
		if err := json.Unmarshal(text, &objects); err != nil {
			return err
		}
	}
	catalog = strings.ToValidUTF8(catalog, "\uFFFD") // it is the name of a file
	for _, o := range objects {
		e.objects = append(e.objects, object{catalog, o})
	}
	return nil
}

// Close writes what could not be written before. It is called after the last result.
func (e *Each) Close() error {
	if e.format != JSON && e.format != YAML {
		return nil
	}
	return (&Result{Value: e.objects}).Write(e.w, e.format)
}

// A headed writes text below the heading of its catalog. If there is no text, there is no heading.
type headed struct {
	each    *Each
	catalog string
	begun   bool
}

func (h *headed) Write(p []byte) (int, error) {
	if !h.begun {
		h.begun = true
		if _, err := fmt.Fprintln(h.each.w, h.each.heading(h.catalog)); err != nil {
			return 0, err
		}
	}
	return h.each.w.Write(p)
}

// heading returns the heading of a catalog, which a blank line separates from the text before.
func (e *Each) heading(catalog string) string {
	heading := legible.Name(catalog) + ":"
	if e.format == Markdown {
		var title report.Report
		title.Heading(2, report.Name(catalog))
		var markdown strings.Builder
		_ = title.Markdown(&markdown) // writing to a Builder does not fail
		heading = markdown.String()
	}
	if e.headed {
		heading = "\n" + heading
	}
	e.headed = true
	return heading
}
