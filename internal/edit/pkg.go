package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A pkg is a package to edit: its objects and their documents.
type pkg struct {
	name     string
	template template.Type // "" for a catalog
	parsed   *template.Template
	content  []byte // the file content, for a template
	items    []*item
	units    []*unit // ordered by file and position
	notes    []string
	placed   *declcfg.Bundle // the bundle that was added or promoted
	create   bool            // whether to create missing channels
}

// An item is an object: a document of a catalog, or an element of a template.
type item struct {
	*declcfg.Meta
	value any // the result of [declcfg.Object.Decode]
	unit  *unit
	index int // in the entries of the template; -1 in a catalog
}

// A unit is a document of a file, before and after the edit.
type unit struct {
	text
	offset  int64 // in the file
	old     []byte
	removed bool
	added   []byte // documents to add after it
	order   int    // order of its file among all that change
}

// The orders in which files change, so that readers see a valid package as far as possible, and an edit of which only
// some files arrived, such as through git, can be repeated: it finds the rest of a package or a channel by that object,
// and completes a bundle without an entry.
const (
	addsBundle = iota - 2
	addsOther
	changesObject
	removesOther
	removesChannel
	removesPackage
)

// files groups the documents by file.
func (p *pkg) files() (all [][]*unit) {
	for _, u := range p.units {
		if n := len(all); n > 0 && all[n-1][0].file == u.file {
			all[n-1] = append(all[n-1], u)
		} else {
			all = append(all, []*unit{u})
		}
	}
	return all
}

// entries points to the entries of a template, a channel or deprecations.
const entries jsontext.Pointer = "/entries"

// ptr returns the pointer to a value of the item in its document.
func (i *item) ptr(within jsontext.Pointer) jsontext.Pointer {
	if i.index < 0 {
		return within
	}
	return place.Item(entries, i.index) + within
}

func (p *pkg) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// checkName returns an error if a name is given and the template is about another package.
func (p *pkg) checkName(name string) error {
	if name == "" || name == p.name {
		return nil
	}
	if p.template == template.Semver {
		return errors.New("a semver template does not name its package: leave out --package")
	}
	return notFound("no", Package, name, []string{p.name})
}

// values returns the objects of one type, and their items in the same order.
func values[T any](p *pkg) (all []*T, items []*item) {
	for _, i := range p.items {
		if v, ok := i.value.(*T); ok {
			all, items = append(all, v), append(items, i)
		}
	}
	return all, items
}

// channel returns the channel with the given name, and its item.
func (p *pkg) channel(name string) (*declcfg.Channel, *item, error) {
	var names []string
	all, items := values[declcfg.Channel](p)
	for i, c := range all {
		if c.Name == name {
			return c, items[i], nil
		}
		names = append(names, c.Name)
	}
	return nil, nil, p.unknown(Channel, name, names)
}

// bundleNames returns the names of the bundles. For a basic template they include the entry names, because its bundles
// are in images.
func (p *pkg) bundleNames() []string {
	var names []string
	all, _ := values[declcfg.Bundle](p)
	for _, b := range all {
		names = append(names, b.Name)
	}
	if p.template == template.Basic {
		channels, _ := values[declcfg.Channel](p)
		for _, c := range channels {
			for _, e := range c.Entries {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

// unknown returns the error for a name that the package does not have.
func (p *pkg) unknown(kind Kind, name string, names []string) error {
	return notFound(fmt.Sprintf("package %q has no", p.name), kind, name, names)
}

func (p *pkg) insert(behind *item, raw jsontext.Value) error {
	if behind.index < 0 {
		return behind.unit.add(raw)
	}
	if err := behind.unit.insertAfter(entries, behind.index, raw); err != nil {
		return err
	}
	for _, i := range p.items {
		if i.index > behind.index {
			i.index++
		}
	}
	return nil
}

// remove removes items, and updates the indices of the others.
func (p *pkg) remove(gone ...*item) error {
	p.items = slices.DeleteFunc(p.items, func(i *item) bool { return slices.Contains(gone, i) })
	var indices []int
	for _, i := range gone {
		if i.index < 0 {
			i.unit.removed, i.unit.order = true, removalOrder(i.Schema)
		} else {
			indices = append(indices, i.index)
		}
	}
	if indices == nil {
		return nil
	}
	slices.Sort(indices)
	for _, i := range p.items {
		before, _ := slices.BinarySearch(indices, i.index)
		i.index -= before
	}
	return gone[0].unit.removeElements(entries, indices...)
}

func removalOrder(schema string) int {
	switch schema {
	case declcfg.SchemaPackage:
		return removesPackage
	case declcfg.SchemaChannel:
		return removesChannel
	}
	return removesOther
}

// add adds an object after the document, in the style of the document.
func (u *unit) add(raw jsontext.Value) error {
	tree, err := u.tree()
	if err != nil {
		return err
	}
	u.order = min(u.order, addsOther)
	if path := []*syntax.Node{tree}; u.yaml {
		text := []byte("---\n")
		byName := func(a, b *syntax.Node) int { return strings.Compare(a.Name, b.Name) }
		if slices.IsSortedFunc(tree.Children, byName) { // the YAML layout of opm and upstream
			text = bytes.TrimSuffix(format.AppendYAML(text, raw), []byte("\n"))
		} else if text, err = u.styleOf(path, tree).append(text, like(raw, path)); err != nil {
			return err
		}
		u.added = append(u.added, u.wholeLines(len(u.bytes), text).by...)
		return nil
	}
	s := style{compact: u.isCompact(tree)}
	if len(tree.Children) > 0 {
		s.unit = u.lineIndent(tree.Children[0].Start)
		s.broken = bytes.IndexByte(u.bytes[:tree.Children[0].Start], '\n') >= 0
	}
	u.added, err = s.append(append(u.added, '\n'), raw)
	return err
}

// end returns the item after which new objects of the package are added: the last item in the file of the olm.package.
func (p *pkg) end() *item {
	first := p.last(declcfg.SchemaPackage)
	for _, i := range slices.Backward(p.items) {
		if first == nil || i.unit.file == first.unit.file {
			return i
		}
	}
	return first
}

// insertionPoint returns the item after which to insert a new object: its predecessor in a file that is in the order of
// [declcfg.Sort], or the given last item in other files and in templates.
func (p *pkg) insertionPoint(schema, name string, last *item) *item {
	if last.index >= 0 {
		return last
	}
	var items []*item
	var metas []*declcfg.Meta
	for _, i := range p.items {
		if i.unit.file == last.unit.file {
			items, metas = append(items, i), append(metas, i.Meta)
		}
	}
	added := &declcfg.Meta{Schema: schema, Package: p.name, Name: name}
	sorted := append(slices.Clone(metas), added)
	declcfg.Sort(sorted)
	at := slices.Index(sorted, added)
	if at == 0 || !slices.Equal(slices.Delete(sorted, at, at+1), metas) {
		return last
	}
	return items[at-1]
}

// last returns the last item with one schema: the first of the schemas that the package has. It returns nil if the
// package has none of them.
func (p *pkg) last(schemas ...string) *item {
	for _, schema := range schemas {
		for _, i := range slices.Backward(p.items) {
			if i.Schema == schema {
				return i
			}
		}
	}
	return nil
}

func (p *pkg) problems(ctx context.Context) ([]*problem.Problem, error) {
	var found []*problem.Problem
	if p.template != "" {
		u := p.units[0]
		text := slices.Concat(p.content[:u.offset], u.bytes, p.content[int(u.offset)+len(u.old):])
		all, err := template.Check(ctx, u.file, text, validate.Options{ErrorsOnly: true})
		if err != nil {
			return nil, err
		}
		found = all
	} else if sources := p.sources(); len(sources) > 0 {
		report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, sources...)
		if err != nil {
			return nil, err
		}
		found = report.Problems
	}
	return slices.DeleteFunc(found, func(p *problem.Problem) bool { return p.Severity != problem.Error }), nil
}

// sources returns the edited files with only the objects of the package, at the lines that they will have.
func (p *pkg) sources() (all []declcfg.Source) {
	for _, units := range p.files() {
		var l lines
		grown := 0 // number of lines added in the previous documents
		for _, u := range units {
			now := u.now()
			if len(now) > 0 {
				l.to(u.start.Line+grown, u.yaml)
				l.add(now)
			}
			grown += bytes.Count(now, []byte("\n")) - bytes.Count(u.old, []byte("\n"))
		}
		if len(l.text) > 0 {
			all = append(all, render.Text(units[0].file, l.text))
		}
	}
	return all
}

// now returns the current text: the edited document and the documents added after it.
func (u *unit) now() []byte {
	if u.removed {
		return nil
	}
	return slices.Concat(u.bytes, u.added)
}

func (u *unit) changed() bool { return !bytes.Equal(u.old, u.now()) }

type lines struct {
	text []byte
	n    int
}

func (l *lines) add(text []byte) {
	l.text = append(l.text, text...)
	l.n += bytes.Count(text, []byte("\n"))
}

// to adds empty lines up to a line, counted from 1, unless the text is already longer. It separates the next document
// from the text before it.
func (l *lines) to(line int, yaml bool) {
	if !yaml || line > 1 && l.n == 0 && len(l.text) == 0 {
		l.add([]byte{'\n'})
	}
	if yaml {
		line--
	}
	if missing := line - 1 - l.n; missing > 0 {
		l.add(bytes.Repeat([]byte("\n"), missing))
	}
	if yaml && line > 0 {
		l.add([]byte("---\n"))
	}
}
