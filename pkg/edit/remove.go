package edit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// Remove removes a package from a catalog, or a channel or a bundle from a package, with its deprecation.
type Remove struct {
	Kind Kind
	Name string

	Channel     string // removes a bundle from this channel only
	Image       string // of the bundle, in a basic template that does not have its name
	Reconnect   bool   // lets what updated a bundle update what that updated, and skip it
	WithBundles bool   // also removes the bundles that no other channel has
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
		return p.remove(slices.Clone(p.items)...)
	case Channel:
		return e.channel(p)
	}
	return e.bundle(p)
}

// channel removes a channel.
func (e Remove) channel(p *pkg) error {
	c, of, err := p.channel(e.Name)
	if err != nil {
		return err
	}
	gone := []declcfg.Reference{{Schema: declcfg.SchemaChannel, Name: e.Name}}
	objects := []*item{of}
	for _, entry := range c.Entries {
		if !e.WithBundles || len(p.channelsOf(entry.Name)) > 1 {
			continue
		}
		object, err := e.object(p, entry.Name)
		if err != nil {
			return err
		}
		gone = append(gone, declcfg.Reference{Schema: declcfg.SchemaBundle, Name: entry.Name})
		objects = append(objects, object)
	}
	if _, err := p.undeprecate(gone...); err != nil {
		return err
	}
	return p.remove(objects...)
}

// channelsOf returns the channels that have a bundle.
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
			return declcfg.NotFound(fmt.Sprintf("channel %q has no bundle", e.Channel), e.Name, nil)
		}
		return e.entry(item, c)
	}
	all, items := values[declcfg.Channel](p)
	for i, c := range all {
		if entryOf(c, e.Name) < 0 {
			continue
		}
		if err := e.entry(items[i], c); err != nil {
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

// object returns the object of a bundle.
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

// entry removes the entry of a bundle from a channel.
func (e Remove) entry(item *item, c *declcfg.Channel) error {
	if len(c.Entries) == 1 {
		return fmt.Errorf("bundle %q is the only one in channel %q: remove the channel first", e.Name, c.Name)
	}
	k := entryOf(c, e.Name)
	gone := c.Entries[k]
	for i, other := range c.Entries {
		if !e.Reconnect || other.Replaces != gone.Name {
			continue
		}
		if err := reconnect(item, i, other, gone); err != nil {
			return err
		}
	}
	return item.unit.removeElements(item.ptr("/entries"), k)
}

// reconnect lets an entry update what another one updated, and that one itself, for it may be installed.
func reconnect(item *item, i int, entry, gone declcfg.Entry) error {
	ptr := item.ptr(at("/entries", i))
	var err error
	if gone.Replaces != "" {
		err = item.unit.set(ptr+"/replaces", encoded(gone.Replaces))
	} else {
		err = item.unit.remove(ptr + "/replaces")
	}
	var skips []string
	for _, name := range append([]string{gone.Name}, gone.Skips...) {
		if !slices.Contains(entry.Skips, name) {
			skips = append(skips, name)
		}
	}
	if len(entry.Skips) == 0 {
		return errors.Join(err, item.unit.set(ptr+"/skips", encoded(skips)))
	}
	for _, name := range skips {
		err = errors.Join(err, item.unit.append(ptr+"/skips", encoded(name)))
	}
	return err
}
