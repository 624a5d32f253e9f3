package resolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// base is the catalog of most scenarios.
const base = `
channel a stable* a.v1.0.0 a.v1.1.0<a.v1.0.0 a.v2.0.0<a.v1.1.0
channel d stable* d.v1.0.0 d.v2.0.0<d.v1.0.0
channel d beta d.v1.0.0 d.v3.0.0<d.v1.0.0
`

// A scenario is a question, written in lines:
//
//	catalog NAME [PRIORITY [NAMESPACE]]      the next lines are about that catalog; the first is c
//	channel PACKAGE NAME[*] ENTRY...         * marks the default; ENTRY is NAME[<REPLACES][~SKIPPED...]
//	range BUNDLE RANGE                       the skipRange of the entries of the bundle
//	has BUNDLE PROPERTY                      see property
//	installed NAME PROPERTY...               PROPERTY "like" is all in the catalog, "bare" is no annotation
//	sub NAME PACKAGE CHANNEL [KEY=VALUE...]  CHANNEL - is none; keys: starting, installed, current, catalog
type scenario struct {
	ns       *ClassicRequest
	catalogs []*scenarioCatalog
}

type scenarioCatalog struct {
	*Catalog
	packages []declcfg.Package
	channels []declcfg.Channel
	bundles  []*declcfg.Bundle
}

func parseScenario(t testing.TB, text string) *ClassicRequest {
	t.Helper()
	s := &scenario{ns: &ClassicRequest{Name: "ns"}}
	s.command("catalog", []string{"c"})
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			s.command(fields[0], fields[1:])
		}
	}
	for _, c := range s.catalogs {
		c.read(t)
		s.ns.Catalogs = append(s.ns.Catalogs, c.Catalog)
	}
	return s.ns
}

func (s *scenario) command(command string, args []string) {
	switch command {
	case "catalog":
		args = append(args, []string{"0", "ns"}[len(args)-1:]...)
		priority, _ := strconv.Atoi(args[1])
		if n := len(s.catalogs); n > 0 && s.catalogs[n-1].Name == args[0] {
			s.catalogs = s.catalogs[:n-1] // it is still empty
		}
		c := &Catalog{Name: args[0], Namespace: args[2], Priority: priority}
		s.catalogs = append(s.catalogs, &scenarioCatalog{Catalog: c})
	case "channel":
		s.last().channel(args[0], args[1], args[2:])
	case "range":
		s.last().edit(args[0], func(e *declcfg.Entry) { e.SkipRange = strings.Join(args[1:], " ") })
	case "has":
		b := s.last().bundle(args[0])
		b.Properties = append(b.Properties, property(strings.Join(args[1:], " ")))
	case "installed":
		s.installed(args[0], args[1:])
	case "sub":
		s.sub(args[0], args[1], args[2], args[3:])
	default:
		panic("unknown command " + command)
	}
}

func (s *scenario) last() *scenarioCatalog { return s.catalogs[len(s.catalogs)-1] }

func (c *scenarioCatalog) channel(pkg, name string, entries []string) {
	name, isDefault := strings.CutSuffix(name, "*")
	i := slices.IndexFunc(c.packages, func(p declcfg.Package) bool { return p.Name == pkg })
	if i < 0 {
		c.packages = append(c.packages, declcfg.Package{Schema: declcfg.SchemaPackage, Name: pkg})
		i = len(c.packages) - 1
	}
	if isDefault {
		c.packages[i].DefaultChannel = name
	}
	ch := declcfg.Channel{Schema: declcfg.SchemaChannel, Package: pkg, Name: name}
	for _, text := range entries {
		text, skips, _ := strings.Cut(text, "~")
		text, replaces, _ := strings.Cut(text, "<")
		e := declcfg.Entry{Name: text, Replaces: replaces}
		if skips != "" {
			e.Skips = strings.Split(skips, "~")
		}
		ch.Entries = append(ch.Entries, e)
		if c.bundle(e.Name) == nil {
			c.bundles = append(c.bundles, &declcfg.Bundle{
				Schema: declcfg.SchemaBundle, Name: e.Name, Package: pkg, Image: "q.io/x",
				Properties: []declcfg.Property{packageOf(e.Name, pkg)},
			})
		}
	}
	same := func(old declcfg.Channel) bool { return old.Package == pkg && old.Name == name }
	c.channels = append(slices.DeleteFunc(c.channels, same), ch)
}

func packageOf(bundle, pkg string) declcfg.Property {
	value := declcfg.PackageProperty{PackageName: pkg, Version: version(bundle).String()}
	p, _ := declcfg.NewProperty(declcfg.PropertyPackage, value)
	return p
}

// version returns the version in a name such as a.v1.0.0 or a.v1.
func version(name string) semver.Version {
	_, text, _ := strings.Cut(name, ".v")
	v, err := semver.ParseTolerant(text)
	if err != nil {
		panic(err)
	}
	return v
}

func (c *scenarioCatalog) bundle(name string) *declcfg.Bundle {
	i := slices.IndexFunc(c.bundles, func(b *declcfg.Bundle) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return c.bundles[i]
}

func (c *scenarioCatalog) edit(name string, edit func(*declcfg.Entry)) {
	for _, ch := range c.channels {
		for i := range ch.Entries {
			if ch.Entries[i].Name == name {
				edit(&ch.Entries[i])
			}
		}
	}
}

func (s *scenario) installed(name string, properties []string) {
	in := Installed{
		Name: name, Version: version(name), Properties: []Property{},
		Pos: declcfg.Pos{File: "state.yaml", Line: len(s.ns.Installed) + 1},
	}
	for _, text := range properties {
		switch text {
		case "bare":
			in.Properties = nil
		case "like":
			for _, p := range s.last().bundle(name).Properties {
				in.Properties = append(in.Properties, Property{p, len(in.Properties)})
			}
		default:
			in.Properties = append(in.Properties, Property{property(text), len(in.Properties)})
		}
	}
	s.ns.Installed = append(s.ns.Installed, in)
}

func (s *scenario) sub(name, pkg, channel string, options []string) {
	sub := Subscription{
		Name: name, Package: pkg, Channel: strings.Trim(channel, "-"), Catalog: "c", CatalogNamespace: "ns",
		Pos: declcfg.Pos{File: "subs.yaml", Line: len(s.ns.Subscriptions) + 1},
	}
	for _, option := range options {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "starting":
			sub.StartingCSV = value
		case "installed":
			sub.InstalledCSV = value
			sub.CurrentCSV = cmp.Or(sub.CurrentCSV, value)
		case "current":
			sub.CurrentCSV = value
		case "catalog":
			if sub.Catalog = value; value == "" {
				sub.CatalogNamespace = ""
			}
		}
	}
	s.ns.Subscriptions = append(s.ns.Subscriptions, sub)
}

// property parses a property: gvk=K, requires-gvk=K, package=d:RANGE, label=l, requires-label=l, deprecated, a
// constraint in JSON, or TYPE=JSON.
func property(text string) declcfg.Property {
	key, value, _ := strings.Cut(text, "=")
	gvk := declcfg.GVK{Group: "g.io", Version: "v1", Kind: value}
	var p declcfg.Property
	switch {
	case strings.HasPrefix(text, "{"):
		p = declcfg.Property{Type: declcfg.PropertyConstraint, Value: []byte(text)}
	case key == "gvk":
		p, _ = declcfg.NewProperty(declcfg.PropertyGVK, gvk)
	case key == "requires-gvk":
		p, _ = declcfg.NewProperty(declcfg.PropertyGVKRequired, gvk)
	case key == "package":
		name, versions, _ := strings.Cut(value, ":")
		required := declcfg.PackageRequired{PackageName: name, VersionRange: versions}
		p, _ = declcfg.NewProperty(declcfg.PropertyPackageRequired, required)
	case key == "label":
		p, _ = declcfg.NewProperty(propertyLabel, label{value})
	case key == "requires-label":
		p, _ = declcfg.NewProperty("olm.label.required", label{value})
	case key == "deprecated":
		p = declcfg.Property{Type: declcfg.PropertyDeprecated, Value: []byte("{}")}
	default:
		p = declcfg.Property{Type: key, Value: []byte(value)}
	}
	return p
}

// read writes the catalog to files and reads them.
func (c *scenarioCatalog) read(t testing.TB) {
	t.Helper()
	var text []byte
	add := func(v any) {
		object, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, object...), '\n')
	}
	for _, p := range c.packages {
		p.DefaultChannel = cmp.Or(p.DefaultChannel, "none")
		add(p)
	}
	for _, ch := range c.channels {
		add(ch)
	}
	for _, b := range c.bundles {
		add(b)
	}
	read, err := ReadCatalog(t.Context(), declcfg.Source{Name: c.Name, FS: fstest.MapFS{"catalog.json": {Data: text}}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	read.Name, read.Namespace, read.Priority = c.Name, c.Namespace, c.Priority
	c.Catalog = read
}

// outcome formats an answer like the reference.
func outcome(a *ClassicResult) string {
	if a.Outcome != Resolved {
		return a.Message
	}
	var words []string
	for _, c := range slices.Concat(a.Install, a.Unchanged) {
		word := strings.Join([]string{c.Catalog, c.Package, c.Channel, c.Bundle}, "/")
		if c.Replaces != "" {
			word += fmt.Sprintf("(replaces %s)", c.Replaces)
		}
		words = append(words, word)
	}
	return cmp.Or(strings.Join(words, " + "), "nothing")
}
