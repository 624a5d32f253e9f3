package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// A pkg is a package that is edited: its objects, and the documents that they are in.
type pkg struct {
	name     string
	template template.Type // "" for a catalog
	parsed   *template.Template
	content  []byte // of the file of a template
	items    []*item
	units    []*unit // in the order of files and places
	notes    []string
	create   bool // channels that do not exist
}

// An item is an object: a document of a catalog, or an element of a template.
type item struct {
	*declcfg.Meta
	value any // as [declcfg.Object.Decode] returns it
	unit  *unit
	index int // among the entries of the template; -1 in a catalog
}

// A unit is a document of a file, before and after the edit.
type unit struct {
	text
	offset  int64 // in the file
	old     []byte
	removed bool
	added   []byte // documents behind it
}

// files returns the documents of each file.
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

// entries is the list of a template that holds objects.
const entries jsontext.Pointer = "/entries"

// ptr returns the way to a value of the item in its document.
func (i *item) ptr(within jsontext.Pointer) jsontext.Pointer {
	if i.index < 0 {
		return within
	}
	return entries.AppendToken(strconv.Itoa(i.index)) + within
}

func (p *pkg) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// checkName returns an error unless a template is about the package of that name, or none is given.
func (p *pkg) checkName(name string) error {
	if name == "" || name == p.name {
		return nil
	}
	if p.template == template.Semver {
		return errors.New("a semver template does not name its package: leave out --package")
	}
	return notFound("no", Package, name, []string{p.name})
}

// values returns the objects of one type, and the items that they are.
func values[T any](p *pkg) (all []*T, items []*item) {
	for _, i := range p.items {
		if v, ok := i.value.(*T); ok {
			all, items = append(all, v), append(items, i)
		}
	}
	return all, items
}

// channel returns the channel of that name.
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

// bundleNames returns the names of the bundles: in a template also those of entries, whose bundles are in images.
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

// unknown returns the error about a name that nothing in the package has.
func (p *pkg) unknown(kind Kind, name string, names []string) error {
	return notFound(fmt.Sprintf("package %q has no", p.name), kind, name, names)
}

// insert adds an object behind an item.
func (p *pkg) insert(behind *item, raw jsontext.Value) error {
	if behind.index < 0 {
		return behind.unit.add(raw)
	}
	if err := behind.unit.insertBehind(entries, behind.index, raw); err != nil {
		return err
	}
	for _, i := range p.items {
		if i.index > behind.index {
			i.index++
		}
	}
	return nil
}

// remove removes items.
func (p *pkg) remove(gone ...*item) error {
	p.items = slices.DeleteFunc(p.items, func(i *item) bool { return slices.Contains(gone, i) })
	var indices []int
	for _, i := range gone {
		if i.index < 0 {
			i.unit.removed = true
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

// add puts an object behind the document, in its style.
func (u *unit) add(raw jsontext.Value) error {
	tree, err := u.tree()
	if err != nil {
		return err
	}
	if u.yaml {
		text := []byte("---\n")
		if tree.isSorted() { // as opm and upstream print YAML
			text = bytes.TrimSuffix(format.AppendYAML(text, raw), []byte("\n"))
		} else if text, err = u.styleOf([]*node{tree}, tree).append(text, like(raw, []*node{tree})); err != nil {
			return err
		}
		u.added = append(u.added, u.wholeLines(len(u.old), text).by...)
		return nil
	}
	s := style{compact: u.isCompact(tree)}
	if len(tree.children) > 0 {
		s.unit = u.lineIndent(tree.children[0].start)
		s.broken = bytes.IndexByte(u.bytes[:tree.children[0].start], '\n') >= 0
	}
	u.added, err = s.append(append(u.added, '\n'), raw)
	return err
}

// end returns the item behind which an object of the package belongs: the last one in the file of the olm.package.
func (p *pkg) end() *item {
	first := p.last(declcfg.SchemaPackage)
	for _, i := range slices.Backward(p.items) {
		if first == nil || i.unit.file == first.unit.file {
			return i
		}
	}
	return first
}

// before returns the item behind which a new object comes: in a file in the order of [declcfg.Sort] the one before it,
// in others and in templates the last one.
func (p *pkg) before(schema, name string, last *item) *item {
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

// last returns the last item with one of the schemas, of which the first that there is counts; nil for none.
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
