package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
)

// Add adds a bundle to a package and puts it into a channel: into a stage (candidate, fast or stable) of a semver
// template, which has no other channels.
type Add struct {
	Bundle  *declcfg.Bundle
	Channel string
	Updates Updates

	// Reference is another reference to the image of the bundle, such as by its tag. A template that has it already names
	// the bundle by it. "" means none.
	Reference string

	// Package has the description and the icon of a package that is created with the bundle; nil for neither.
	Package *declcfg.Package

	// LikeOthers gives the bundle the form in which the last bundle of the package carries its manifests.
	LikeOthers bool
}

// Updates are the edges of an entry.
type Updates struct {
	Replaces  *string // nil for the head of the channel
	Skips     []string
	SkipRange string
}

func (a Add) subject() (schema, name string) { return declcfg.SchemaPackage, a.Bundle.Package }

func (a Add) apply(p *pkg) error {
	if p.template != "" && a.Bundle.Image == "" {
		return fmt.Errorf("bundle %q has no image, by which a template names it", a.Bundle.Name)
	}
	if p.template == template.Semver {
		image := a.Bundle.Image
		if slices.Contains(p.parsed.Images(), a.Reference) {
			image = a.Reference
		}
		return p.addToStage(image, a.Channel, a.Updates)
	}
	if a.Bundle.Package != p.name {
		return fmt.Errorf("bundle %q is of package %q, not of package %q", a.Bundle.Name, a.Bundle.Package, p.name)
	}
	isThere := slices.Contains(p.bundleNames(), a.Bundle.Name)
	if isThere && len(p.channelsOf(a.Bundle.Name)) > 0 {
		return fmt.Errorf("package %q already has bundle %q; opm promote puts it into another channel",
			p.name, a.Bundle.Name)
	}
	if a.LikeOthers {
		if err := p.convert(a.Bundle); err != nil {
			return err
		}
	}
	if err := p.addEntry(declcfg.Entry{Name: a.Bundle.Name}, a.Channel, a.Updates); err != nil {
		return err
	}
	if isThere { // from an edit that did not get to the channel
		return nil
	}
	last := p.last(declcfg.SchemaBundle, declcfg.SchemaChannel, declcfg.SchemaPackage)
	behind := p.before(a.Bundle.Schema, a.Bundle.Name, last)
	if p.template == template.Basic {
		return p.insert(behind, p.reference(a.Bundle))
	}
	return p.insert(behind, declcfg.JSON.Append(nil, a.Bundle))
}

// reference returns the object by which a basic template names the image of a bundle. It has the name of the bundle
// where others have it.
func (p *pkg) reference(b *declcfg.Bundle) jsontext.Value {
	members := []member{{"schema", encoded(b.Schema)}, {"image", encoded(b.Image)}}
	if last := p.last(declcfg.SchemaBundle); last != nil && last.Name != "" {
		members = slices.Insert(members, 1, member{"name", encoded(b.Name)})
	}
	return joined(members)
}

// convert gives a bundle the form of the last bundle in the package that has manifests or metadata.
func (p *pkg) convert(b *declcfg.Bundle) error {
	others, _ := values[declcfg.Bundle](p)
	for _, other := range slices.Backward(others) {
		if form := render.FormOf(other); form != "" {
			return render.Changes{Form: form}.Edit(b)
		}
	}
	return nil
}

// addEntry adds an entry with these updates to a channel.
func (p *pkg) addEntry(e declcfg.Entry, channel string, u Updates) error {
	c, item, err := p.channel(channel)
	switch {
	case err != nil && p.create && len(p.items) > 0:
		c = &declcfg.Channel{Schema: declcfg.SchemaChannel, Name: channel, Package: p.name}
	case err != nil:
		return fmt.Errorf("%w; %s", err, createHint)
	}
	if entryOf(c, e.Name) >= 0 {
		return fmt.Errorf("bundle %q is already in channel %q of package %q", e.Name, channel, p.name)
	}
	if e.Replaces, err = p.replaced(c, u.Replaces, e); err != nil {
		return err
	}
	for _, name := range u.Skips {
		if !slices.Contains(e.Skips, name) {
			e.Skips = append(e.Skips, name)
		}
		if names := p.bundleNames(); !slices.Contains(names, name) {
			p.note("skips %q, which is not in package %q%s", name, p.name, nearest.Hint(name, names))
		}
	}
	if u.SkipRange != "" {
		e.SkipRange = u.SkipRange
	}
	if item == nil {
		p.note("created channel %q of package %q", channel, p.name)
		c.Entries = []declcfg.Entry{e}
		return p.insert(p.before(c.Schema, c.Name, p.end()), declcfg.JSON.Append(nil, c))
	}
	return item.unit.append(item.ptr("/entries"), entryObject(e))
}

// entryObject returns an entry as it is written.
func entryObject(e declcfg.Entry) jsontext.Value {
	members := []member{{"name", encoded(e.Name)}}
	if e.Replaces != "" {
		members = append(members, member{"replaces", encoded(e.Replaces)})
	}
	if len(e.Skips) > 0 {
		members = append(members, member{"skips", encoded(e.Skips)})
	}
	if e.SkipRange != "" {
		members = append(members, member{"skipRange", encoded(e.SkipRange)})
	}
	return joined(members)
}

// replaced returns what a new entry of a channel replaces: what it shall, or the head. If the channel already updates
// the bundle, the entry keeps what it replaces in another channel.
func (p *pkg) replaced(c *declcfg.Channel, by *string, e declcfg.Entry) (string, error) {
	if by != nil {
		if *by == "" {
			return "", nil
		}
		return *by, p.check(Bundle, *by)
	}
	for _, other := range c.Entries {
		if other.Replaces == e.Name || slices.Contains(other.Skips, e.Name) {
			p.note("%s in channel %q already updates %s, which does not replace the head", other.Name, c.Name, e.Name)
			return e.Replaces, nil
		}
	}
	switch heads := graph.New(c.Entries).Heads(); {
	case len(heads) > 1:
		return "", fmt.Errorf("channel %q has several heads: say with --replaces which one %s replaces: %s",
			c.Name, e.Name, strings.Join(heads, ", "))
	case len(heads) == 1:
		p.note("%s replaces %s, the head of channel %q", e.Name, heads[0], c.Name)
		return heads[0], nil
	}
	return "", nil
}
