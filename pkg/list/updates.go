package list

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An Update is a row of [Updates]: the updates of an installed bundle that follows a channel.
type Update struct{ graph.Outlook }

// UpdateOptions say which updates are listed. The zero value lists those of every bundle in every channel.
type UpdateOptions struct {
	Channel string          // only this channel, which every package must have
	From    string          // only of the bundle of this name, or of this version, which need not exist
	V1      graph.V1Options // options of OLM v1; Channels is ignored
	Paths   bool            // set the paths
	Refused func(error)     // called for channels that OLM Classic rejects; may be nil
}

// Updates lists the updates of installed bundles, by package and channel. The packages need not be valid.
func Updates(of []*declcfg.PackageIndex, o UpdateOptions) ([]Update, error) {
	var all []Update
	for _, x := range of {
		if x.Name == "" { // objects without a package
			continue
		}
		p := withVersions(x, o.From)
		channels, err := channelsOf(p, o.Channel)
		if err != nil {
			return nil, err
		}
		from := ""
		if o.From != "" {
			b, err := findBundle(p, o.From)
			if err != nil {
				return nil, err
			}
			from = b.Name
		}
		for _, c := range channels {
			outlooks, err := p.Outlooks(c, o.V1, o.Paths)
			if err != nil && o.Refused != nil {
				o.Refused(fmt.Errorf("package %q: OLM Classic updates nothing: %w", p.Name, err))
			}
			for _, outlook := range outlooks {
				if from == "" || outlook.Installed == from {
					all = append(all, Update{outlook})
				}
			}
		}
	}
	return all, nil
}

// withVersions returns the graph of a package, with a virtual bundle for each text that is an unknown version.
func withVersions(x *declcfg.PackageIndex, texts ...string) *graph.Package {
	p := graph.NewPackage(x)
	var installed []declcfg.BundleSummary
	for _, text := range texts {
		if v, err := declcfg.ParseVersion(text, ""); err == nil && len(p.Find(text)) == 0 {
			installed = append(installed, declcfg.BundleSummary{Name: text, Version: &v})
		}
	}
	if installed == nil {
		return p
	}
	return graph.NewPackage(x, installed...)
}

// channelsOf returns the channel of that name; all for "".
func channelsOf(p *graph.Package, name string) ([]*graph.Channel, error) {
	if name == "" {
		return p.Channels, nil
	}
	if c := p.Channel(name); c != nil {
		return []*graph.Channel{c}, nil
	}
	var names []string
	for _, c := range p.Channels {
		names = append(names, c.Name)
	}
	return nil, notFound(fmt.Sprintf("package %q has no channel", p.Name), name, names)
}

// findBundle returns the bundle of that name or version.
func findBundle(p *graph.Package, text string) (*graph.Bundle, error) {
	found := p.Find(text)
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("package %q has several bundles of version %s, name one: %s", p.Name, text,
			strings.Join(namesOf(found), ", "))
	}
	return nil, notFound(fmt.Sprintf("package %q has no bundle", p.Name), text, namesOf(p.Bundles))
}

func namesOf(bundles []*graph.Bundle) []string {
	var names []string
	for _, b := range bundles {
		names = append(names, b.Name)
	}
	return names
}

func (u Update) title() string { return u.Installed }

func (Update) layout() layout {
	return layout{columns: []string{
		"PACKAGE", "CHANNEL", "INSTALLED", "VERSION", "CLASSIC", "HOPS", "V1", "HOPS", "DIFFERS",
	}}
}

func (u Update) cells(bool) []string {
	return []string{
		u.Package, u.Channel, u.Installed, u.Version,
		u.Classic.Next, hops(u.Classic), u.V1.Next, hops(u.V1), yesNo(u.Differs),
	}
}

func hops(f graph.Fate) string {
	if f.Loop {
		return "endless"
	}
	return strconv.Itoa(f.Hops)
}

// WritePaths writes every update of each row under both semantics. The rows must be listed with Paths.
func WritePaths(w io.Writer, rows []Update) error {
	var text strings.Builder
	for _, u := range rows {
		fmt.Fprintf(&text, "package %s, channel %s, %s:\n", legible.Name(u.Package), legible.Name(u.Channel),
			legible.Name(u.Installed))
		writePath(&text, graph.Classic, u.Classic)
		writePath(&text, graph.V1, u.V1)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writePath(text *strings.Builder, name graph.Semantics, f graph.Fate) {
	path := legible.Name(strings.Join(f.Path, " -> "))
	switch {
	case path == "":
		path = "stays"
	case f.Loop:
		path += ", and so on for ever"
	}
	fmt.Fprintf(text, "  %-8s%s\n", name, path)
}

// Explain explains for each channel of a package, or that of o, why the bundle From is or is not updated to the bundle
// to next, by OLM Classic and by OLM v1. Both are names or versions.
func Explain(x *declcfg.PackageIndex, o UpdateOptions, to string) ([]*graph.Explanation, error) {
	p := withVersions(x, o.From, to)
	channels, errChannel := channelsOf(p, o.Channel)
	a, errFrom := findBundle(p, o.From)
	b, errTo := findBundle(p, to)
	if err := errors.Join(errChannel, errFrom, errTo); err != nil {
		return nil, err
	}
	var all []*graph.Explanation
	for _, c := range channels {
		o.V1.Channels = []*graph.Channel{c}
		all = append(all, p.ExplainClassic(c, a, b), p.ExplainV1(o.V1, a, b))
	}
	return all, nil
}

// WriteExplanations writes explanations as [Text] or [JSON].
func WriteExplanations(w io.Writer, all []*graph.Explanation, f Format) error {
	if f == JSON {
		return writeJSON(w, all)
	}
	var text strings.Builder
	for i, e := range all {
		if i > 0 {
			text.WriteByte('\n')
		}
		for line := range strings.Lines(e.String()) {
			text.WriteString(legible.Name(strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}
