package draw

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// packageOf reads a package from lines such as
//
//	default stable
//	channel stable
//	p.v3.0.0 replaces p.v1.0.0 skips p.v2.0.0,p.v2.1.0 range >=1.0.0 <3.0.0
//	bundle p.v0.9.0
//	deprecated p.v2.0.0
//	deprecated channel stable
//
// An entry may have a dash before it. What stands as an entry or behind bundle is in the catalog, with the version behind the last v of its name.
func packageOf(t testing.TB, name, lines string) *graph.Package {
	t.Helper()
	x := &declcfg.PackageIndex{Name: name}
	var channel *declcfg.Channel
	var deprecated []declcfg.Deprecation
	deprecate := func(schema, name string) {
		deprecated = append(deprecated, declcfg.Deprecation{Reference: declcfg.Reference{Schema: schema, Name: name}})
	}
	bundle := func(name string) {
		b := &declcfg.BundleSummary{Name: name}
		if v, err := declcfg.ParseVersion(name[strings.LastIndex(name, "v")+1:], ""); err == nil {
			b.Version = &v
		}
		x.Bundles = append(x.Bundles, declcfg.Indexed[declcfg.BundleSummary]{Value: b})
	}
	for line := range strings.Lines(lines) {
		word, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "- "), " ")
		switch word {
		case "":
		case "default":
			x.Packages = append(x.Packages, declcfg.Indexed[declcfg.Package]{Value: &declcfg.Package{DefaultChannel: rest}})
		case "channel":
			channel = &declcfg.Channel{Name: rest}
			x.Channels = append(x.Channels, declcfg.Indexed[declcfg.Channel]{Value: channel})
		case "bundle":
			bundle(rest)
		case "deprecated":
			if c, ok := strings.CutPrefix(rest, "channel "); ok {
				deprecate(declcfg.SchemaChannel, c)
			} else {
				deprecate(declcfg.SchemaBundle, rest)
			}
		default:
			bundle(word)
			channel.Entries = append(channel.Entries, entryOf(t, word, rest))
		}
	}
	x.Deprecations = []declcfg.Indexed[declcfg.Deprecations]{{Value: &declcfg.Deprecations{Entries: deprecated}}}
	return graph.NewPackage(x)
}

func entryOf(t testing.TB, name, rest string) declcfg.Entry {
	t.Helper()
	e := declcfg.Entry{Name: name}
	rest, e.SkipRange, _ = strings.Cut(rest, "range ")
	words := strings.Fields(rest)
	for len(words) > 1 {
		switch words[0] {
		case "replaces":
			e.Replaces = words[1]
		case "skips":
			e.Skips = strings.Split(words[1], ",")
		default:
			t.Fatalf("entry %s: %q", name, rest)
		}
		words = words[2:]
	}
	return e
}

// chainOf returns a package with a channel of n bundles, each of which replaces the one before, skips every third of the
// last thirty, and has the last hundred in its skipRange.
func chainOf(t testing.TB, n int) *graph.Package {
	t.Helper()
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
	return packageOf(t, "p", lines.String())
}

func svgOf(t testing.TB, o graph.DrawOptions, packages ...*graph.Package) string {
	t.Helper()
	var b strings.Builder
	if err := SVG(&b, packages, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// textsOf returns the texts of all elements of that name. It fails where the document is not well-formed.
func textsOf(t testing.TB, document, element string) []string {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(document))
	var texts []string
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			open = append(open, token.Name.Local)
			if token.Name.Local == element {
				texts = append(texts, "")
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] == element {
				texts[len(texts)-1] += string(token)
			}
		}
	}
}
