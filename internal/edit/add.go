package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/template"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Add adds a bundle to a package and a channel. In a semver template the channel is a stage (candidate, fast or
// stable): such a template has no other channels.
type Add struct {
	Bundle  *declcfg.Bundle
	Channel string
	Updates Updates

	// Reference is another reference to the image of the bundle, for example with a tag. If a semver template already
	// lists it, the image is added under that reference. "" means no other reference.
	Reference string

	// Package provides the description and the icon if the package is created with the bundle; nil for neither.
	Package *declcfg.Package

	// LikeOthers stores the manifests of the bundle in the same form as the last bundle of the package.
	LikeOthers bool
}

// Updates are the update edges of a channel entry.
type Updates struct {
	Replaces  *string // nil for the head of the channel
	Skips     []string
	SkipRange string
}

func (u Updates) isZero() bool { return u.Replaces == nil && len(u.Skips) == 0 && u.SkipRange == "" }

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
		b := *a.Bundle // several catalogs may get it
		b.Properties = slices.Clone(b.Properties)
		a.Bundle = &b
		if err := p.convert(a.Bundle); err != nil {
			return err
		}
	}
	p.placed = a.Bundle
	if err := p.addEntry(declcfg.Entry{Name: a.Bundle.Name}, a.Channel, a.Updates); err != nil {
		return err
	}
	if isThere { // an earlier edit added the bundle but not its entry
		return nil
	}
	last := p.last(declcfg.SchemaBundle, declcfg.SchemaChannel, declcfg.SchemaPackage)
	behind := p.insertionPoint(a.Bundle.Schema, a.Bundle.Name, last)
	if p.template == template.Basic {
		return p.insert(behind, p.reference(a.Bundle))
	}
	behind.unit.order = addsBundle
	return p.insert(behind, declcfg.JSON.Append(nil, a.Bundle))
}

// reference returns the object with which a basic template refers to the image of a bundle. It includes the bundle name
// if the last bundle of the template does.
func (p *pkg) reference(b *declcfg.Bundle) jsontext.Value {
	short := declcfg.Bundle{Schema: b.Schema, Image: b.Image}
	if last := p.last(declcfg.SchemaBundle); last != nil && last.Name != "" {
		short.Name = b.Name
	}
	return declcfg.JSON.Append(nil, &short)
}

// convert gives a bundle the form of the last bundle in the package that has manifests or metadata.
func (p *pkg) convert(b *declcfg.Bundle) error {
	others, _ := values[declcfg.Bundle](p)
	for _, other := range slices.Backward(others) {
		form := render.FormOf(other)
		if form == "" {
			continue
		}
		if err := (render.Changes{Form: form}).Edit(b); err != nil {
			return fmt.Errorf("%w; %q has this form: add the image or the directory of the bundle, or choose its form with "+
				"--bundle-format", err, other.Name)
		}
		return nil
	}
	return nil
}

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
		return p.insert(p.insertionPoint(c.Schema, c.Name, p.end()), declcfg.JSON.Append(nil, c))
	}
	e.Unknown = nil // such as comments of other tools about the entry in its other channel
	return item.unit.append(item.ptr(entries), declcfg.JSON.Append(nil, &e))
}

// replaced returns the name that a new entry of a channel replaces: the given name, or else the head of the channel. If
// the channel already has an update from the bundle of the entry, the entry keeps its replaces from the other channel.
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

const createHint = "--create makes it"

// create writes a new package with one channel and one bundle: in a directory to its own file, otherwise to the end of
// the catalog file.
func (t *target) create(ctx context.Context, a Add) (*plan, error) {
	if !a.Updates.isZero() {
		return nil, fmt.Errorf("the first bundle of package %q updates no other: leave out its updates", a.Bundle.Package)
	}
	file, form := t.newFile(a.Bundle.Package)
	b := a.Bundle
	p := declcfg.Package{Schema: declcfg.SchemaPackage, Name: b.Package, DefaultChannel: a.Channel}
	if a.Package != nil {
		p.Description, p.Icon = a.Package.Description, a.Package.Icon
	}
	c := declcfg.Channel{
		Schema: declcfg.SchemaChannel, Name: a.Channel, Package: b.Package, Entries: []declcfg.Entry{{Name: b.Name}},
	}
	text := form.Append(form.Append(form.Append(nil, &p), &c), b)
	note := fmt.Sprintf("created package %q with default channel %q in %s", a.Bundle.Package, a.Channel, file)
	if !t.isTree && !t.isMissing {
		u, err := atEnd(file, text, form)
		if err != nil {
			return nil, err
		}
		return t.plan(ctx, &pkg{name: a.Bundle.Package, units: []*unit{u}, notes: []string{note}, placed: a.Bundle})
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("create package %q: %s exists", a.Bundle.Package, file)
	}
	report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, render.Text(file, text))
	if err != nil {
		return nil, err
	}
	result := &Result{Notes: []string{note}, Bundle: a.Bundle, Problems: report.Problems}
	return &plan{target: t, file: file, content: text, result: result}, nil
}

// atEnd returns the unit that appends text as documents to a file.
func atEnd(file string, text []byte, form declcfg.Format) (*unit, error) {
	old, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		text = append([]byte("\n"), text...)
	}
	u := &unit{offset: int64(len(old))}
	u.text.file, u.text.start = file, document.Place{Line: 1, Column: 1}.After(old)
	u.bytes, u.yaml = text, form == declcfg.YAML
	return u, nil
}

// newFile returns the file and the format of a new package: YAML unless all other files are JSON.
func (t *target) newFile(pkg string) (string, declcfg.Format) {
	switch ext := filepath.Ext(t.path); {
	case t.isTree:
	case ext == ".json":
		return t.path, declcfg.JSON
	case ext == ".yaml", ext == ".yml":
		return t.path, declcfg.YAML
	}
	isOther := func(m *declcfg.Meta) bool { return filepath.Ext(m.Pos.File) != ".json" }
	if len(t.metas) > 0 && !slices.ContainsFunc(t.metas, isOther) {
		return filepath.Join(t.path, pkg, "catalog.json"), declcfg.JSON
	}
	return filepath.Join(t.path, pkg, "catalog.yaml"), declcfg.YAML
}

// Promote puts a bundle of one channel into another channel. The new entry keeps the skips of the old one, and replaces
// the head of the other channel unless Updates say otherwise. In a semver template it adds an image to another stage.
type Promote struct {
	Bundle  string
	To      string
	Updates Updates
}

func (e Promote) subject() (schema, name string) { return declcfg.SchemaBundle, e.Bundle }

func (e Promote) apply(p *pkg) error {
	if p.template == template.Semver {
		if all := p.parsed.Images(); !slices.Contains(all, e.Bundle) {
			return notFound("the template has no", image, e.Bundle, all)
		}
		return p.addToStage(e.Bundle, e.To, e.Updates)
	}
	if err := p.check(Bundle, e.Bundle); err != nil {
		return err
	}
	bundles, _ := values[declcfg.Bundle](p)
	if i := slices.IndexFunc(bundles, func(b *declcfg.Bundle) bool { return b.Name == e.Bundle }); i >= 0 {
		p.placed = bundles[i]
	}
	entry := declcfg.Entry{Name: e.Bundle}
	channels, _ := values[declcfg.Channel](p)
	for _, c := range channels {
		if i := entryOf(c, e.Bundle); i >= 0 && c.Name != e.To {
			entry = c.Entries[i]
			break
		}
	}
	return p.addEntry(entry, e.To, e.Updates)
}

// errSemver is the error for edits that a semver template does not support.
var errSemver = errors.New("a semver template lists images only: its channels, their updates and the default channel " +
	"follow from the versions")

func (p *pkg) addToStage(image, stage string, u Updates) error {
	if !u.isZero() {
		return errSemver
	}
	name := strings.ToLower(stage)
	if !slices.Contains(template.Stages(), name) {
		return fmt.Errorf("%w: want one of %q",
			nearest.NotFound("a semver template has no stage", stage, template.Stages()), template.Stages())
	}
	stage = name
	images := p.parsed.Stage(stage)
	if slices.Contains(images, image) {
		return fmt.Errorf("image %q is already in stage %q", image, stage)
	}
	u0 := p.units[0]
	if len(images) > 0 {
		return u0.append(jsontext.Pointer("/"+stage+"/bundles"), encoded(map[string]string{"image": image}))
	}
	tree, err := u0.tree()
	if err != nil {
		return err
	}
	if tree.Child(stage) != nil {
		return fmt.Errorf("stage %q is empty: remove it from the template, and add the bundle again", stage)
	}
	bundles, key := "bundles", "image"
	if last := tree.Last().Name; last != strings.ToLower(last[:1])+last[1:] { // capitalized keys are valid, too
		stage, bundles, key = capital(stage), capital(bundles), capital(key)
	}
	list := []map[string]string{{key: image}}
	return u0.set(jsontext.Pointer("/"+stage), encoded(map[string]any{bundles: list}))
}

func capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// removeImage removes an image from one stage of a semver template, or from all stages if from is "".
func (p *pkg) removeImage(name, from string) error {
	found := false
	for _, stage := range template.Stages() {
		images := p.parsed.Stage(stage)
		i := slices.Index(images, name)
		if i < 0 || from != "" && !strings.EqualFold(from, stage) {
			continue
		}
		found = true
		ptr := jsontext.Pointer("/" + stage)
		var err error
		if len(images) > 1 {
			err = p.units[0].removeElements(ptr+"/bundles", i)
		} else {
			err = p.units[0].remove(ptr)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return notFound("the template has no", image, name, p.parsed.Images())
	}
	return nil
}
