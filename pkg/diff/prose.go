package diff

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A prose says in words what changed, each thing on a line of its own.
type prose struct {
	name    func(string) string // writes a name
	text    func(string) string // writes what somebody else wrote
	heading func(string) string // writes a name in the title of a section
	strong  func(string) string // makes words of ours stand out
	arrow   string
}

// A section is lines about one package, or about several that fare alike.
type section struct {
	title string
	lines []string
}

// maxNames is how many names of a list are written; JSON has all of them.
const maxNames = 8

// names writes a list of names, which is not empty.
func (w prose) names(all []string) string {
	var written []string
	for _, n := range all {
		written = append(written, w.name(n))
	}
	return abbreviated(written)
}

// abbreviated writes the first words of a list, and how many more there are.
func abbreviated(words []string) string {
	if more := len(words) - maxNames; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxNames], ", "), more)
	}
	return strings.Join(words, ", ")
}

// becomes writes what a value was and is.
func (w prose) becomes(v Values) string {
	return w.orNone(v.Before) + " " + w.arrow + " " + w.orNone(v.After)
}

// orNone writes names, of which none may be there, or only an empty one.
func (w prose) orNone(names ...string) string {
	if len(names) == 0 || len(names) == 1 && names[0] == "" {
		return "none"
	}
	return w.names(names)
}

// digest finds the digest of a reference to an image, of which twelve letters tell it from others.
var digest = regexp.MustCompile(`(@sha256:[0-9a-f]{12})[0-9a-f]+$`)

// shortened returns two references to images with the first letters of their digests, where these tell them apart.
func (v Values) shortened() Values {
	short := Values{digest.ReplaceAllString(v.Before, "$1"), digest.ReplaceAllString(v.After, "$1")}
	if short.Before == short.After {
		return v
	}
	return short
}

// changes tells everything about a package that is in both catalogs, the worst first.
func (w prose) changes(p Package) []string {
	lines := w.stranded(p)
	lines = append(lines, w.contents(p)...)
	lines = append(lines, w.comeAndGone(p, Removed)...)
	if p.DefaultChannel != nil {
		lines = append(lines, "default channel: "+w.becomes(*p.DefaultChannel))
	}
	isNew := map[string]bool{}
	isGone := map[string]bool{}
	for _, b := range p.Bundles {
		isNew[b.Name] = b.Change == Added
		isGone[b.Name] = b.Change == Removed
	}
	for _, c := range p.Channels {
		lines = append(lines, w.channel(c, isNew, isGone)...)
	}
	lines = append(lines, w.comeAndGone(p, Added)...)
	lines = append(lines, w.reroutes(p)...)
	lines = append(lines, w.deprecations(p)...)
	if len(p.Keys) > 0 {
		lines = append(lines, "the package has another "+w.names(p.Keys))
	}
	return append(lines, w.objects(p)...)
}

// all tells about a package that is in one of the catalogs only.
func (w prose) all(p Package) []string {
	var channels, bundles []string
	for _, c := range p.Channels {
		channels = append(channels, c.Name)
	}
	for _, b := range p.Bundles {
		bundles = append(bundles, b.Name)
	}
	what := []string{plural.Of(len(channels), "channel"), plural.Of(len(bundles), "bundle")}
	if len(channels) > 0 {
		what[0] += " (" + w.names(channels) + ")"
	}
	if len(bundles) > 0 {
		what[1] += ", the highest " + w.name(bundles[len(bundles)-1])
	}
	lines := []string{strings.Join(what, ", ")}
	if p.Change == Removed { // all that was in it is gone, which goes without saying
		return append(lines, w.stranded(p)...)
	}
	lines = append(lines, w.deprecations(p)...)
	return append(lines, w.objects(p)...)
}

// lostPaths counts stranded installs.
func lostPaths(n int) string {
	return plural.Words(n, "install loses its update path", "installs lose their update path")
}

func (w prose) stranded(p Package) []string {
	var lines []string
	for _, s := range p.Stranded {
		lost := lostPaths(len(s.all()))
		if s.Reason == PackageGone {
			lines = append(lines, lost)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s%s, %s: %s", lost, w.under(s.Installs), w.why(s.Why), w.installed(s.Installs)))
	}
	return lines
}

// installed names the bundles of installs, those last that users may have though the catalog has them no more.
func (w prose) installed(i Installs) string {
	if len(i.Pruned) == 0 {
		return w.names(i.Installed)
	}
	what := plural.Words(len(i.Pruned), "version that is not in the catalog any more",
		"versions that are not in the catalog any more")
	pruned := fmt.Sprintf("%s (%s)", what, w.names(i.Pruned))
	if len(i.Installed) == 0 {
		return pruned
	}
	return w.names(i.Installed) + "; and " + pruned
}

// under tells which channel is followed, and the semantics where they do not agree.
func (w prose) under(i Installs) string {
	text := ""
	if i.Channel != "" {
		text = " in channel " + w.name(i.Channel)
	}
	if len(i.Semantics) == 1 {
		text += " by " + semanticsNames[i.Semantics[0]] + " only"
	}
	return text
}

var semanticsNames = map[graph.Semantics]string{graph.Classic: "OLM Classic", graph.V1: "OLM v1"}

func (w prose) why(y Why) string {
	switch y.Reason {
	case ChannelGone:
		return "since the channel is gone"
	case Refused:
		return "since OLM refuses the channel (" + w.text(y.Error) + ")"
	case StopsEarly:
		return "since updates end at " + w.name(y.End)
	case Endless:
		return "since updates never end"
	}
	return "since no update leads on"
}

// contents tells which published bundles changed. Those in which the same did are told about together.
func (w prose) contents(p Package) []string {
	changed := p.bundles(func(b Bundle) bool { return b.Change == Changed && b.Form == nil })
	images := len(p.bundles(func(b Bundle) bool { return b.Change == Changed && b.Image != nil }))
	names := map[string][]string{}
	var order []string
	for _, b := range changed {
		what := w.content(b, images <= maxNames)
		if names[what] == nil {
			order = append(order, what)
		}
		names[what] = append(names[what], b.Name)
	}
	var lines []string
	for _, what := range order {
		lines = append(lines, fmt.Sprintf("%s changed, %s: %s", plural.Of(len(names[what]), "published bundle"),
			w.names(names[what]), what))
	}
	return lines
}

// content tells what changed in a bundle. The images themselves are told on demand.
func (w prose) content(b Bundle, images bool) string {
	var what []string
	switch {
	case b.Image != nil && images:
		what = append(what, "image "+w.becomes(b.Image.shortened()))
	case b.Image != nil:
		what = append(what, "image")
	}
	if len(b.Properties) > 0 {
		what = append(what, "properties "+w.names(b.Properties))
	}
	if len(b.Keys) > 0 {
		what = append(what, w.names(b.Keys))
	}
	return strings.Join(what, "; ")
}

// comeAndGone tells which bundles were added or removed.
func (w prose) comeAndGone(p Package, change Change) []string {
	var names []string
	for _, b := range p.Bundles {
		if b.Change == change {
			names = append(names, b.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s %s: %s", plural.Of(len(names), "bundle"), change, w.names(names))}
}

// channel tells about a channel. Entries that are told about as bundles are only counted.
func (w prose) channel(c Channel, isNew, isGone map[string]bool) []string {
	label := "channel " + w.name(c.Name)
	switch c.Change {
	case Added:
		return []string{fmt.Sprintf("%s added, with %s, head %s", label, entries(len(c.Added)), w.head(c))}
	case Removed:
		return []string{fmt.Sprintf("%s removed, with %s, head %s", label, entries(len(c.Removed)), w.head(c))}
	}
	var what []string
	if c.Heads != nil {
		what = append(what, fmt.Sprintf("head %s %s %s", w.orNone(c.Heads.Before...), w.arrow, w.orNone(c.Heads.After...)))
	}
	what = append(what, w.entries(c.Added, "added", "not new to the catalog", isNew)...)
	what = append(what, w.entries(c.Removed, "removed", "still in the catalog", isGone)...)
	if len(c.Keys) > 0 {
		what = append(what, "another "+w.names(c.Keys))
	}
	var lines []string
	if len(what) > 0 {
		lines = append(lines, label+": "+strings.Join(what, "; "))
	}
	for _, e := range c.Edges {
		lines = append(lines, label+": "+w.edges(e))
	}
	return lines
}

// head names the head of a channel that is in one of the catalogs only.
func (w prose) head(c Channel) string {
	if c.Heads == nil {
		return w.orNone()
	}
	return w.orNone(append(c.Heads.Before, c.Heads.After...)...)
}

func entries(n int) string { return plural.Words(n, "entry", "entries") }

// entries counts entries, and names those that are not told about elsewhere.
func (w prose) entries(names []string, change, others string, told map[string]bool) []string {
	if len(names) == 0 {
		return nil
	}
	text := entries(len(names)) + " " + change
	untold := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return told[n] })
	if len(untold) > 0 {
		text += fmt.Sprintf(" (%s: %s)", others, w.names(untold))
	}
	return []string{text}
}

func (w prose) edges(e Edges) string {
	var what []string
	if e.Replaces != nil {
		what = append(what, "replaces "+w.becomes(*e.Replaces))
	}
	if len(e.SkipsAdded) > 0 {
		what = append(what, "skips also "+w.names(e.SkipsAdded))
	}
	if len(e.SkipsRemoved) > 0 {
		what = append(what, "skips no longer "+w.names(e.SkipsRemoved))
	}
	if e.SkipRange != nil {
		what = append(what, "skipRange "+w.becomes(*e.SkipRange))
	}
	if e.Others {
		what = append(what, "other keys")
	}
	return w.name(e.Entry) + ": " + strings.Join(what, "; ")
}

func (w prose) reroutes(p Package) []string {
	var lines []string
	for _, r := range p.Reroutes {
		lines = append(lines, fmt.Sprintf("next update%s: %s, for %s%s", w.under(r.Installs), w.becomes(r.Next),
			w.installed(r.Installs), w.past(r)))
	}
	return lines
}

// past tells what is passed over besides the next update before, which goes without saying.
func (w prose) past(r Reroute) string {
	if len(r.PassedOver) < 2 {
		return ""
	}
	return ", past " + w.names(r.PassedOver)
}

func (w prose) deprecations(p Package) []string {
	var lines []string
	for _, d := range p.Deprecations {
		what := "the package"
		if d.Schema != declcfg.SchemaPackage {
			what = strings.TrimPrefix(d.Schema, "olm.") + " " + w.name(d.Name)
		}
		switch d.Change {
		case Added:
			lines = append(lines, what+" is deprecated now: "+w.text(d.Message.After))
		case Removed:
			lines = append(lines, what+" is not deprecated any more")
		default:
			lines = append(lines, what+" is still deprecated, "+w.deprecation(d))
		}
	}
	if len(p.DeprecationKeys) > 0 {
		lines = append(lines, "the deprecations have another "+w.names(p.DeprecationKeys))
	}
	return lines
}

// deprecation tells what is another in one that is in both catalogs.
func (w prose) deprecation(d Deprecation) string {
	words := "in other words: " + w.text(d.Message.After)
	switch {
	case d.Message.Before == d.Message.After:
		return "with other keys"
	case d.Others:
		return "with other keys and " + words
	}
	return words
}

func (w prose) objects(p Package) []string {
	var lines []string
	for _, o := range p.Objects {
		line := "object of schema " + w.name(o.Schema)
		if o.Name != "" {
			line += ", " + w.name(o.Name)
		}
		lines = append(lines, line+": "+string(o.Change))
	}
	return lines
}
