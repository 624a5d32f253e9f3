package filter

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An Entry is a catalog that a [Config] mirrors. A config may have several entries of one catalog, whose names in the
// mirror differ.
type Entry struct {
	operator
	set *imageSet
	at  jsontext.Pointer
}

// Entries returns the catalogs that the config mirrors, in its order.
func (c *Config) Entries() []*Entry {
	var entries []*Entry
	for _, set := range c.sets {
		for i, o := range set.Mirror.Operators {
			o.Catalog = withoutTransport(o.Catalog)
			entries = append(entries, &Entry{o, set, place.Item("/mirror/operators", i)})
		}
	}
	return entries
}

// withoutTransport returns a reference of oc-mirror to a catalog as a reference of opm: without docker://, and without
// the slashes of oci://.
func withoutTransport(catalog string) string {
	if path, ok := strings.CutPrefix(catalog, "oci://"); ok {
		return "oci:" + path
	}
	return reference.WithoutTransport(catalog)
}

// EntriesOf returns the entries of a catalog, at least one, in the order of the config. The only entry of a config
// applies to any name, so that it can be used for a copy of the catalog.
func (c *Config) EntriesOf(catalog string) ([]*Entry, error) {
	all := c.Entries()
	switch len(all) {
	case 0:
		return nil, c.sets[0].noCatalog()
	case 1:
		return all, nil
	}
	var found []*Entry
	var names []string
	for _, e := range all {
		if e.Catalog == withoutTransport(catalog) {
			found = append(found, e)
		}
		if !slices.Contains(names, e.Catalog) {
			names = append(names, e.Catalog)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%s mirrors no catalog %q%s: choose one with --config-catalog: %s",
			c.file, catalog, nearest.Hint(catalog, names), strings.Join(names, ", "))
	}
	return found, nil
}

// EntryOf returns the only entry of a catalog, or the entry at a position as [Entry.Pos] prints it.
func (c *Config) EntryOf(catalog string) (*Entry, error) {
	for _, e := range c.Entries() {
		if e.Pos().String() == catalog {
			return e, nil
		}
	}
	found, err := c.EntriesOf(catalog)
	if err != nil {
		return nil, err
	}
	if len(found) == 1 {
		return found[0], nil
	}
	var places []string
	for _, e := range found {
		places = append(places, e.Pos().String())
	}
	return nil, fmt.Errorf("%s mirrors catalog %q %d times: choose one with --config-catalog: %s", c.file, catalog,
		len(found), strings.Join(places, ", "))
}

// Pos returns the position of the catalog in the config.
func (e *Entry) Pos() declcfg.Pos { return e.set.file.Pos(e.at + "/catalog")[0] }

// Located adds to an error the position of the value of a key of the entry. It returns nil for nil.
func (e *Entry) Located(key string, err error) error { return located(e.set.file, e.at, key, err) }

// Selection returns the selection of the entry, and whether the config also mirrors dependencies.
func (e *Entry) Selection() (s Selection, dependencies bool) {
	c := e.set
	s.blocks = c.blocks
	if e.Full {
		s.Rule = All
	}
	for j, p := range e.Packages {
		at := place.Item(e.at+"/packages", j)
		want := Package{Name: p.Name, DefaultChannel: p.DefaultChannel, Rule: c.rule(p.bounds)}
		want.at = func(ptr jsontext.Pointer, err error) error { return c.file.Errorf(at+ptr, "%w", err) }
		for k, ch := range p.Channels {
			ptr := place.Item("/channels", k)
			want.Channels = append(want.Channels, Channel{Name: ch.Name, Rule: c.rule(ch.bounds), ptr: ptr})
		}
		s.Packages = append(s.Packages, want)
	}
	return s, c.APIVersion == apiV1 && !e.SkipDependencies && !e.SkipDeps
}

// rule returns the rule for the bounds, or nil if there are none.
func (c *imageSet) rule(b bounds) Rule {
	switch {
	case b == (bounds{}):
		return nil
	case c.APIVersion == apiV1:
		// With a maximum, oc-mirror v1 keeps the versions within the bounds, including pre-releases. Without one, it
		// keeps the minimum and all updates from it to the head. The versions are valid.
		least, highest := mustParse(b.MinVersion), mustParse(b.MaxVersion)
		switch {
		case b.MaxVersion != "":
			return &between{b, least, highest}
		case b.MinVersion != "":
			return &upFrom{least.String(), func(bundle *graph.Bundle) bool {
				return bundle.Version != nil && bundle.Version.Semver.Equals(least)
			}}
		}
		return &upFrom{b.MinBundle, func(bundle *graph.Bundle) bool { return bundle.Name == b.MinBundle }}
	}
	var parts []string
	if b.MinVersion != "" {
		parts = append(parts, ">="+b.MinVersion)
	}
	if b.MaxVersion != "" {
		parts = append(parts, "<="+b.MaxVersion)
	}
	versions, err := graph.ParseConstraint(strings.Join(parts, " "))
	if err != nil {
		panic(err) // unreachable: the versions were checked
	}
	return InRange(versions)
}

// Target returns the name of the catalog in the mirror, as PATH, PATH:TAG or :TAG, or "" for the name of the catalog
// itself.
func (e *Entry) Target() string {
	target := e.TargetCatalog
	if target == "" && e.TargetName != "" { // instead of the last component
		_, repo, _ := strings.Cut(e.Catalog, "/")
		target = path.Join(path.Dir(repo), e.TargetName)
	}
	if e.TargetTag != "" {
		target += ":" + e.TargetTag
	}
	return target
}

// Blocks reports whether the config of the entry blocks an image.
func (e *Entry) Blocks(image string) bool { return e.set.blocks(image) }
