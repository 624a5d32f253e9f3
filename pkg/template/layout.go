package template

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/strictyaml"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A layout is a catalog file with the entries of a template. Each entry is one line long and begins at its line in the
// template. So messages that refer to other objects have the right line, and positions in an object can be mapped to
// the template.
type layout struct {
	file *strictyaml.File
	text []byte
	at   []laidOutEntry
}

// A laidOutEntry is an entry in a layout.
type laidOutEntry struct {
	entry
	start declcfg.Pos
	text  []byte
}

func layOut(file *strictyaml.File, entries []entry) *layout {
	l := &layout{file: file}
	ptrs := make([]jsontext.Pointer, len(entries))
	for i, e := range entries {
		ptrs[i] = e.ptr
	}
	line, column := 1, 1
	for i, pos := range file.Pos(ptrs...) {
		if pos.Line > line {
			l.text = append(l.text, bytes.Repeat([]byte("\n"), pos.Line-line)...)
			line, column = pos.Line, 1
		}
		if pos.Column > column {
			l.text = append(l.text, bytes.Repeat([]byte(" "), pos.Column-column)...)
			column = pos.Column
		}
		text := format.AppendCompact(nil, entries[i].raw)
		l.at = append(l.at, laidOutEntry{entries[i], declcfg.Pos{File: file.Name(), Line: line, Column: column}, text})
		l.text = append(l.text, text...)
		column += utf8.RuneCount(text)
	}
	return l
}

// addPlaceholders appends a placeholder bundle for each channel entry, because the real bundles are in images.
func (l *layout) addPlaceholders() {
	seen := map[bundleName]bool{}
	l.text = append(l.text, '\n')
	for _, e := range l.at {
		c, ok := e.value.(*declcfg.Channel)
		if !ok {
			continue
		}
		for _, n := range c.Entries {
			if name := (bundleName{c.Package, n.Name}); !seen[name] && n.Name != "" {
				seen[name] = true
				b := &declcfg.Bundle{Schema: declcfg.SchemaBundle, Package: c.Package, Name: n.Name}
				l.text = declcfg.JSON.Append(l.text, b)
			}
		}
	}
}

// place maps a position in the layout to a position in the template. It returns false if the template has no such
// position.
func (l *layout) place(pos declcfg.Pos) (declcfg.Pos, bool) {
	i := len(l.at) - 1
	for i >= 0 && l.at[i].start.Compare(pos) > 0 {
		i--
	}
	if i < 0 || l.at[i].start.Line != pos.Line {
		return pos, false
	}
	e := l.at[i]
	return l.file.Pos(e.ptr + pointerAt(e.text, pos.Column-e.start.Column))[0], true
}

// pointerAt returns the pointer to the value at a column of a JSON text of one line. Columns count from 0.
func pointerAt(text []byte, column int) jsontext.Pointer {
	offset := 0
	for ; column > 0 && offset < len(text); column-- {
		_, size := utf8.DecodeRune(text[offset:])
		offset += size
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	for d.InputOffset() <= int64(offset) {
		if _, err := d.ReadToken(); err != nil {
			break
		}
	}
	return d.StackPointer()
}

// problems returns the errors of the entries when validated as a catalog. White space in names is reported, too, if the
// options ask for it.
func (l *layout) problems(ctx context.Context, opts validate.Options) ([]*problem.Problem, error) {
	opts.ErrorsOnly = true
	report, err := validate.Catalog(ctx, opts, render.Text(l.file.Name(), l.text))
	if err != nil {
		return nil, err
	}
	var problems []*problem.Problem
	for _, p := range report.Problems {
		var ok bool
		if p.Pos, ok = l.place(p.Pos); ok {
			problems = append(problems, p)
		}
	}
	return problem.Sort(problems), nil
}

// invalid returns the problems of the entries as errors with positions.
func (l *layout) invalid(ctx context.Context) []error {
	problems, err := l.problems(ctx, validate.Options{})
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, p := range problems {
		errs = append(errs, &declcfg.Error{Pos: p.Pos, Err: asError(p)})
	}
	return errs
}

func asError(p *problem.Problem) error {
	at := *p
	at.Pos = declcfg.Pos{}
	text := at.String()
	return errors.New(text[len(string(p.Severity)+": "):])
}

// checkResult validates the rendered catalog, and records its problems as errors about the substitutions.
func (r *rendering) checkResult() {
	const name = "rendered catalog"
	var text []byte
	for _, object := range r.objects {
		text = appendObject(text, object)
	}
	sources := slices.DeleteFunc(slices.Clone(r.bundles.catalog.Sources), func(s declcfg.Source) bool {
		return !slices.ContainsFunc(r.used, func(m *declcfg.Meta) bool { return m.Pos.File == s.Name })
	})
	report, err := validate.Catalog(r.ctx, validate.Options{ErrorsOnly: true}, append(sources, render.Text(name, text))...)
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	for _, p := range report.Problems {
		r.fail("/substitutions", "with its substitutes the catalog is not valid: %w", asError(p))
	}
}
