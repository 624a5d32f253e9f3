package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/template"
)

// Remove removes a package from a catalog, or a channel or a bundle from a package, together with its deprecation.
type Remove struct {
	Kind Kind
	Name string

	Channel     string // removes a bundle from this channel only
	Image       string // the image of the bundle, for a basic template without bundle names
	Reconnect   bool   // entries that replace the bundle will replace its predecessor, and skip the bundle
	WithBundles bool   // also removes the bundles that are in no other channel
}

func (e Remove) subject() (schema, name string) { return e.Kind.Schema(), e.Name }

func (e Remove) apply(p *pkg) error {
	switch {
	case p.template == template.Semver && e.Kind == Bundle:
		return p.removeImage(e.Name, e.Channel)
	case p.template == template.Semver:
		return errSemver
	case p.template != "" && e.Kind == Package:
		return errors.New("a template is about one package: delete the file instead")
	}
	if err := p.check(e.Kind, e.Name); err != nil {
		return err
	}
	switch e.Kind {
	case Package:
		channels, _ := values[declcfg.Channel](p)
		bundles, _ := values[declcfg.Bundle](p)
		p.note("package %q is removed, with %s and %s", p.name,
			plural.Of(len(channels), "channel"), plural.Of(len(bundles), "bundle"))
		return p.remove(slices.Clone(p.items)...)
	case Channel:
		return e.channel(p)
	}
	return e.bundle(p)
}

func (e Remove) channel(p *pkg) error {
	c, channel, err := p.channel(e.Name)
	if err != nil {
		return err
	}
	gone := []declcfg.Reference{{Schema: declcfg.SchemaChannel, Name: e.Name}}
	objects := []*item{channel}
	var bundles []string
	names := p.bundleNames()
	for _, entry := range c.Entries {
		if !e.WithBundles || len(p.channelsOf(entry.Name)) > 1 || !slices.Contains(names, entry.Name) {
			continue // such as a bundle that an earlier edit removed without the channel
		}
		object, err := e.object(p, entry.Name)
		if err != nil {
			return err
		}
		gone = append(gone, declcfg.Reference{Schema: declcfg.SchemaBundle, Name: entry.Name})
		objects, bundles = append(objects, object), append(bundles, entry.Name)
	}
	if _, err := p.undeprecate(gone...); err != nil {
		return err
	}
	note := fmt.Sprintf("channel %q of package %q is removed", e.Name, p.name)
	if len(bundles) > 0 {
		note += ", with " + strings.Join(bundles, ", ")
	}
	p.note("%s", note)
	return p.remove(objects...)
}

func (p *pkg) channelsOf(bundle string) (found []*item) {
	all, items := values[declcfg.Channel](p)
	for i, c := range all {
		if entryOf(c, bundle) >= 0 {
			found = append(found, items[i])
		}
	}
	return found
}

// entryOf returns the index of the entry of a bundle, or -1.
func entryOf(c *declcfg.Channel, bundle string) int {
	return slices.IndexFunc(c.Entries, func(e declcfg.Entry) bool { return e.Name == bundle })
}

// bundle removes a bundle from one channel, or from the package.
func (e Remove) bundle(p *pkg) error {
	if e.Channel != "" {
		c, item, err := p.channel(e.Channel)
		if err != nil {
			return err
		}
		if entryOf(c, e.Name) < 0 {
			return nearest.NotFound(fmt.Sprintf("channel %q has no bundle", e.Channel), e.Name, nil)
		}
		p.note("bundle %q of package %q is removed from channel %q", e.Name, p.name, c.Name)
		return e.entry(p, item, c)
	}
	p.note("bundle %q of package %q is removed", e.Name, p.name)
	all, items := values[declcfg.Channel](p)
	for i, c := range all {
		if entryOf(c, e.Name) < 0 {
			continue
		}
		if err := e.entry(p, items[i], c); err != nil {
			return err
		}
	}
	object, err := e.object(p, e.Name)
	if err != nil {
		return err
	}
	if _, err := p.undeprecate(declcfg.Reference{Schema: declcfg.SchemaBundle, Name: e.Name}); err != nil {
		return err
	}
	return p.remove(object)
}

func (e Remove) object(p *pkg, name string) (*item, error) {
	var images []string
	bundles, items := values[declcfg.Bundle](p)
	for i, b := range bundles {
		if b.Name == name || e.Image != "" && b.Image == e.Image && p.template == template.Basic {
			return items[i], nil
		}
		images = append(images, b.Image)
	}
	switch {
	case e.Image != "":
		return nil, notFound("the template has no", image, e.Image, images)
	case e.Kind == Bundle:
		return nil, fmt.Errorf("the template does not say which image bundle %q is: name it with --image", name)
	}
	return nil, fmt.Errorf("the template does not say which image bundle %q is: remove it by hand", name)
}

// entry removes the entry of the bundle from a channel.
func (e Remove) entry(p *pkg, item *item, c *declcfg.Channel) error {
	if len(c.Entries) == 1 {
		return fmt.Errorf("bundle %q is the only one in channel %q: remove the channel first", e.Name, c.Name)
	}
	k := entryOf(c, e.Name)
	gone := c.Entries[k]
	for i, other := range c.Entries {
		if !e.Reconnect || other.Replaces != gone.Name {
			continue
		}
		after := graph.Bypass(other, gone)
		if err := reconnect(item, i, other, after); err != nil {
			return err
		}
		if after.Replaces == "" {
			p.note("%s in channel %q skips %s, and replaces none", other.Name, c.Name, gone.Name)
		} else {
			p.note("%s in channel %q replaces %s, and skips %s", other.Name, c.Name, after.Replaces, gone.Name)
		}
	}
	return item.unit.removeElements(item.ptr(entries), k)
}

// reconnect gives an entry of a channel the replaces and the skips that [graph.Bypass] returns for it.
func reconnect(item *item, i int, entry, after declcfg.Entry) error {
	ptr := item.ptr(place.Item(entries, i))
	var err error
	if after.Replaces != "" {
		err = item.unit.set(ptr+"/replaces", encoded(after.Replaces))
	} else {
		err = item.unit.remove(ptr + "/replaces")
	}
	if len(entry.Skips) == 0 {
		return errors.Join(err, item.unit.set(ptr+"/skips", encoded(after.Skips)))
	}
	for _, name := range after.Skips[len(entry.Skips):] {
		err = errors.Join(err, item.unit.append(ptr+"/skips", encoded(name)))
	}
	return err
}

// Deprecate deprecates a package, a channel or a bundle with a message, or changes the message.
type Deprecate struct {
	Kind    Kind
	Name    string
	Message string
	Undo    bool // remove the deprecation instead
}

func (e Deprecate) subject() (schema, name string) { return e.Kind.Schema(), e.Name }

func (e Deprecate) apply(p *pkg) error {
	if p.template == template.Semver {
		return errSemver
	}
	if err := p.check(e.Kind, e.Name); err != nil {
		return err
	}
	reference := declcfg.Reference{Schema: e.Kind.Schema(), Name: e.Name}
	if e.Kind == Package {
		reference.Name = ""
	}
	if e.Undo {
		found, err := p.undeprecate(reference)
		if err == nil && !found {
			err = nearest.NotFound(fmt.Sprintf("no deprecation of %s", e.Kind), e.Name, nil)
		}
		p.note("%s is no longer deprecated", e.object(p))
		return err
	}
	all, items := values[declcfg.Deprecations](p)
	for i, d := range all {
		k := slices.IndexFunc(d.Entries, func(d declcfg.Deprecation) bool { return isSame(d.Reference, reference) })
		switch {
		case k >= 0 && d.Entries[k].Message == e.Message:
			p.note("%s already has this deprecation", e.object(p))
			return nil
		case k >= 0:
			p.note("the deprecation of %s has a new message", e.object(p))
			return items[i].unit.set(items[i].ptr(place.Item(entries, k))+"/message", encoded(e.Message))
		}
	}
	p.note("%s is deprecated", e.object(p))
	entry := declcfg.Deprecation{Reference: reference, Message: e.Message}
	if len(items) > 0 {
		return items[0].unit.append(items[0].ptr(entries), declcfg.JSON.Append(nil, &entry))
	}
	return p.insert(p.end(), declcfg.JSON.Append(nil, &declcfg.Deprecations{
		Schema: declcfg.SchemaDeprecations, Package: p.name, Entries: []declcfg.Deprecation{entry},
	}))
}

// object describes the deprecated object.
func (e Deprecate) object(p *pkg) string {
	if e.Kind == Package {
		return fmt.Sprintf("package %q", e.Name)
	}
	return fmt.Sprintf("%s %q of package %q", e.Kind, e.Name, p.name)
}

// undeprecate removes the deprecations of all references, and reports whether there were any.
func (p *pkg) undeprecate(references ...declcfg.Reference) (found bool, err error) {
	all, items := values[declcfg.Deprecations](p)
	for i, d := range all {
		var indices []int
		for k, entry := range d.Entries {
			if slices.ContainsFunc(references, func(r declcfg.Reference) bool { return isSame(r, entry.Reference) }) {
				indices = append(indices, k)
			}
		}
		switch {
		case len(indices) == 0:
			continue
		case len(indices) == len(d.Entries):
			err = p.remove(items[i])
		default:
			err = items[i].unit.removeElements(items[i].ptr(entries), indices...)
		}
		if found = true; err != nil {
			return found, err
		}
	}
	return found, nil
}

func isSame(a, b declcfg.Reference) bool { return a.Schema == b.Schema && a.Name == b.Name }

// check returns an error unless the package has an object of this kind and name, or is the package with this name.
func (p *pkg) check(kind Kind, name string) error {
	switch kind {
	case Package:
		return p.checkName(name)
	case Channel:
		_, _, err := p.channel(name)
		return err
	}
	if names := p.bundleNames(); !slices.Contains(names, name) {
		return p.unknown(kind, name, names)
	}
	return nil
}

// DefaultChannel makes a channel the default of its package.
type DefaultChannel struct {
	Channel string
}

func (e DefaultChannel) subject() (schema, name string) { return declcfg.SchemaChannel, e.Channel }

func (e DefaultChannel) apply(p *pkg) error {
	if p.template == template.Semver {
		return errSemver
	}
	if _, _, err := p.channel(e.Channel); err != nil {
		return err
	}
	packages, items := values[declcfg.Package](p)
	switch {
	case len(packages) == 0:
		return notFound("no", Package, p.name, nil)
	case packages[0].DefaultChannel == e.Channel:
		p.note("the default channel of package %q is already %q", p.name, e.Channel)
		return nil
	}
	p.note("the default channel of package %q is %q, and was %q", p.name, e.Channel, packages[0].DefaultChannel)
	return items[0].unit.set(items[0].ptr("/defaultChannel"), encoded(e.Channel))
}
