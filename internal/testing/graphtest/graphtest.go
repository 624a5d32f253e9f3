// Package graphtest builds packages from a few lines of text, for tests of graphs.
//
//	graph.NewPackage(graphtest.Package(t, "p", "channel stable; v2 replaces v1; v1"))
package graphtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Package reads a package from lines such as
//
//	default stable
//	channel stable
//	v3 replaces v1 skips v2,v2.1 range >=1.0.0 <3.0.0
//	bundle v2 2.0.1
//	deprecated v2
//	deprecated channel stable
//	prohibited v3
//	requires v1 olm.gvk.required
//
// A semicolon before a space also ends a line, and " #" begins a comment. An entry may begin with a dash. The package
// has a bundle for each entry and for each line with bundle. Its version is the given one or, without one, the text
// after the last v of the name, with missing numbers set to 0: v2 has the version 2.0.0. A release follows the version
// after a tilde. A prohibited bundle has the property olm.deprecated; requires gives a bundle a property of this type.
func Package(t testing.TB, name, lines string) *declcfg.PackageIndex {
	t.Helper()
	p := &declcfg.PackageIndex{Name: name}
	versions, dependencies, prohibited := map[string]string{}, map[string]string{}, map[string]bool{}
	var bundles []string // in order
	var channel *declcfg.Channel
	var deprecated []declcfg.Deprecation
	for line := range strings.SplitSeq(strings.ReplaceAll(lines, "; ", "\n"), "\n") {
		line, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " #")
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "":
		case "default":
			p.Packages = append(p.Packages, declcfg.Indexed[declcfg.Package]{Value: &declcfg.Package{DefaultChannel: rest}})
		case "channel":
			channel = &declcfg.Channel{Name: rest}
			p.Channels = append(p.Channels, declcfg.Indexed[declcfg.Channel]{Value: channel})
		case "bundle":
			bundle, version, _ := strings.Cut(rest, " ")
			bundles = append(bundles, bundle)
			versions[bundle] = version
		case "prohibited":
			prohibited[rest] = true
		case "requires":
			bundle, property, _ := strings.Cut(rest, " ")
			dependencies[bundle] = property
		case "deprecated":
			r := declcfg.Reference{Schema: declcfg.SchemaBundle, Name: rest}
			if c, ok := strings.CutPrefix(rest, "channel "); ok {
				r = declcfg.Reference{Schema: declcfg.SchemaChannel, Name: c}
			}
			deprecated = append(deprecated, declcfg.Deprecation{Reference: r})
		default:
			bundles = append(bundles, word)
			channel.Entries = append(channel.Entries, entry(t, word, rest))
		}
	}
	for i, b := range bundles {
		if !slices.Contains(bundles[:i], b) {
			o := bundle(b, versions[b])
			o.Value.Dependency, o.Value.Deprecated = dependencies[b], prohibited[b]
			p.Bundles = append(p.Bundles, o)
		}
	}
	p.Deprecations = []declcfg.Indexed[declcfg.Deprecations]{{Value: &declcfg.Deprecations{Entries: deprecated}}}
	return p
}

func bundle(name, version string) declcfg.Indexed[declcfg.BundleSummary] {
	if version == "" {
		version = name[strings.LastIndexByte(name, 'v')+1:]
		version += strings.Repeat(".0", max(0, 2-strings.Count(version, ".")))
	}
	b := &declcfg.BundleSummary{Name: name}
	version, release, _ := strings.Cut(version, "~")
	if v, err := declcfg.ParseVersion(version, release); err == nil {
		b.Version = &v
	}
	return declcfg.Indexed[declcfg.BundleSummary]{Value: b}
}

func entry(t testing.TB, name, rest string) declcfg.Entry {
	t.Helper()
	e := declcfg.Entry{Name: name}
	rest, e.SkipRange, _ = strings.Cut(rest, "range ")
	for words := strings.Fields(rest); len(words) > 1; words = words[2:] {
		switch words[0] {
		case "replaces":
			e.Replaces = words[1]
		case "skips":
			e.Skips = strings.Split(words[1], ",")
		default:
			t.Fatalf("entry %s: %q", name, rest)
		}
	}
	return e
}

// Dense returns lines for [Package]: a channel of n bundles. Each bundle replaces the previous one, skips every third
// of the last thirty, and has up to a hundred earlier ones in its skipRange.
func Dense(n int) string {
	var lines strings.Builder
	lines.WriteString("default stable\nchannel stable\n")
	for i := range n {
		fmt.Fprintf(&lines, "p.v1.%d.0", i)
		if i > 0 {
			fmt.Fprintf(&lines, " replaces p.v1.%d.0", i-1)
		}
		var skips []string
		for j := max(0, i-30); j < i-1; j++ {
			if j%3 == 1 {
				skips = append(skips, fmt.Sprintf("p.v1.%d.0", j))
			}
		}
		if len(skips) > 0 {
			fmt.Fprintf(&lines, " skips %s", strings.Join(skips, ","))
		}
		fmt.Fprintf(&lines, " range >=1.%d.0 <1.%d.0\n", i/100*100, i)
	}
	return lines.String()
}

// OneChannel returns the package p with the channel c, and a bundle for each of its entries. The bundle of entry i has
// the version 1.i.0.
func OneChannel(entries []declcfg.Entry) *declcfg.PackageIndex {
	p := &declcfg.PackageIndex{
		Name:     "p",
		Channels: []declcfg.Indexed[declcfg.Channel]{{Value: &declcfg.Channel{Name: "c", Entries: entries}}},
	}
	for i, e := range entries {
		p.Bundles = append(p.Bundles, bundle(e.Name, fmt.Sprintf("1.%d.0", i)))
	}
	return p
}

// Replacing returns n entries, each of which replaces the previous one. There are no other edges.
func Replacing(n int) []declcfg.Entry {
	entries := Chain(n)
	for i := range entries {
		entries[i].SkipRange = ""
	}
	return entries
}

// Chain returns n entries, each of which replaces the previous one and has all previous ones in its skipRange.
func Chain(n int) []declcfg.Entry {
	entries := make([]declcfg.Entry, n)
	for i := range entries {
		entries[i] = declcfg.Entry{Name: fmt.Sprintf("p.v1.%d.0", i), SkipRange: fmt.Sprintf(">=1.0.0 <1.%d.0", i)}
		if i > 0 {
			entries[i].Replaces = entries[i-1].Name
		}
	}
	return entries
}

// Matrix returns the entries of [Chain], each of which also skips all previous ones.
func Matrix(n int) []declcfg.Entry {
	entries := Chain(n)
	for i := range entries {
		for _, older := range entries[:i] {
			entries[i].Skips = append(entries[i].Skips, older.Name)
		}
	}
	return entries
}

// Random returns lines for [Package]: up to two channels, c0 and c1, of up to ten entries with random edges. A bundle
// has the version in its name, or the version of another bundle.
func Random(r *rand.Rand) string {
	var text strings.Builder
	n := 1 + r.IntN(10)
	name := func() string { return fmt.Sprintf("v%d", r.IntN(n+2)) } // some are virtual
	for channel := range 1 + r.IntN(2) {
		fmt.Fprintf(&text, "channel c%d\n", channel)
		for i := range n {
			if r.IntN(8) == 0 {
				continue
			}
			fmt.Fprintf(&text, "v%d", i)
			switch r.IntN(4) {
			case 0:
				fmt.Fprintf(&text, " replaces %s", name())
			case 1, 2: // to get more chains
				fmt.Fprintf(&text, " replaces v%d", i-1)
			}
			if r.IntN(3) == 0 {
				fmt.Fprintf(&text, " skips %s,%s", name(), name())
			}
			if r.IntN(3) == 0 {
				from := r.IntN(n)
				fmt.Fprintf(&text, " range >=%d.0.0 <%d.0.0", from, from+r.IntN(n))
			}
			text.WriteByte('\n')
		}
	}
	if r.IntN(3) == 0 {
		fmt.Fprintf(&text, "deprecated v%d\n", r.IntN(n))
	}
	if r.IntN(4) == 0 {
		fmt.Fprintf(&text, "bundle v%d 2.0.0+%d\n", r.IntN(n), r.IntN(2))
	}
	if r.IntN(4) == 0 {
		fmt.Fprintf(&text, "prohibited v%d\n", r.IntN(n))
	}
	if r.IntN(4) == 0 {
		fmt.Fprintf(&text, "requires v%d olm.constraint\n", r.IntN(n))
	}
	return text.String()
}
