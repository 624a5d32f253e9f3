package diff

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A prose formats changes as text, one per line.
type prose struct {
	name    func(string) string // formats a name
	text    func(string) string // formats third-party text
	heading func(string) string // formats a name in the title of a section
	strong  func(string) string // emphasizes words
	arrow   string
}

// A section has the lines for one package, or for several packages with the same change.
type section struct {
	title string
	lines []string
}

// maxNames is the maximum number of names in a list; JSON has all.
const maxNames = 8

// names formats a list of names; "" if it is empty.
func (w prose) names(all []string) string {
	var written []string
	for _, n := range all {
		written = append(written, cmp.Or(w.name(n), `""`))
	}
	return abbreviated(written)
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}

// after returns the words and the text, or "" if the text is empty.
func after(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}

// abbreviated returns the first words of a list and the number of others.
func abbreviated(words []string) string {
	if more := len(words) - maxNames; more > 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(words[:maxNames], ", "), more)
	}
	return strings.Join(words, ", ")
}

// becomes formats a changed value; "" for nil.
func (w prose) becomes(v *Values) string {
	if v == nil {
		return ""
	}
	return w.change(optional(v.Before), optional(v.After))
}

func optional(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// change formats the names before and after.
func (w prose) change(before, after []string) string {
	return w.orNone(before) + " " + w.arrow + " " + w.orNone(after)
}

// orNone formats names, or returns "none".
func (w prose) orNone(names []string) string { return cmp.Or(w.names(names), "none") }

// digest matches the digest of an image reference. Its first submatch ends after twelve hex digits.
var digest = regexp.MustCompile(`(@sha256:[0-9a-f]{12})[0-9a-f]+$`)

// shortened returns two image references with short digests, or unchanged if these would be equal.
func (v *Values) shortened() *Values {
	short := &Values{digest.ReplaceAllString(v.Before, "$1"), digest.ReplaceAllString(v.After, "$1")}
	if short.Before == short.After {
		return v
	}
	return short
}

// changes formats all changes of a package in both catalogs, the most severe first.
func (w prose) changes(p Package) []string {
	lines := w.stranded(p)
	lines = append(lines, w.contents(p)...)
	lines = append(lines, w.comeAndGone(p, Removed)...)
	lines = append(lines, after("default channel: ", w.becomes(p.DefaultChannel)))
	listed := map[string]Change{}
	for _, b := range p.Bundles {
		listed[b.Name] = b.Change
	}
	for _, c := range p.Channels {
		lines = append(lines, w.channel(c, listed)...)
	}
	lines = append(lines, w.comeAndGone(p, Added)...)
	lines = append(lines, w.reroutes(p)...)
	lines = append(lines, w.deprecations(p)...)
	lines = append(lines, after("the package has another ", w.names(p.Keys)))
	lines = append(lines, w.objects(p)...)
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// all formats a package that is in only one of the catalogs.
func (w prose) all(p Package) []string {
	var channels, bundles []string
	for _, c := range p.Channels {
		channels = append(channels, c.Name)
	}
	for _, b := range p.Bundles {
		bundles = append(bundles, b.Name)
	}
	what := plural.Of(len(channels), "channel")
	if len(channels) > 0 {
		what += " (" + w.names(channels) + ")"
	}
	what += ", " + plural.Of(len(bundles), "bundle")
	if len(bundles) > 0 {
		what += ", the highest " + w.name(bundles[len(bundles)-1])
	}
	lines := []string{what}
	if p.Change == Removed { // its deprecations and objects are omitted
		return append(lines, w.stranded(p)...)
	}
	lines = append(lines, w.deprecations(p)...)
	return slices.DeleteFunc(append(lines, w.objects(p)...), func(line string) bool { return line == "" })
}

// lostPaths formats a number of stranded installs.
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

// installed formats the bundles of installs, pruned bundles last.
func (w prose) installed(i Installs) string {
	pruned := ""
	if n := len(i.Pruned); n > 0 {
		pruned = fmt.Sprintf("%s (%s)", plural.Words(n, "version that is no longer in the catalog",
			"versions that are no longer in the catalog"), w.names(i.Pruned))
	}
	return joined("; and ", w.names(i.Installed), pruned)
}

// under formats the followed channel, and the semantics if only one is affected.
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
	case Rejected:
		return "since OLM answers with an error (" + w.text(y.Error) + ")"
	case StopsEarly:
		return "since updates end at " + w.name(y.End)
	case Endless:
		return "since updates never end"
	}
	return "since no update leads on"
}

// contents formats the changed published bundles; bundles with the same changes share a line.
func (w prose) contents(p Package) []string {
	changed := p.bundles(func(b Bundle) bool { return b.Change == Changed && b.Form == nil })
	images := len(p.bundles(func(b Bundle) bool { return b.Change == Changed && b.Image != nil }))
	var alike grouped[string, string]
	for _, b := range changed {
		image := ""
		switch {
		case b.Image != nil && images <= maxNames:
			image = "image " + w.becomes(b.Image.shortened())
		case b.Image != nil:
			image = "image"
		}
		alike.add(joined("; ", image, after("properties ", w.names(b.Properties)), w.names(b.Keys)), b.Name)
	}
	var lines []string
	for what, names := range alike.all() {
		n := plural.Of(len(names), "published bundle")
		lines = append(lines, fmt.Sprintf("%s changed, %s: %s", n, w.names(names), what))
	}
	return lines
}

// comeAndGone formats the added or removed bundles.
func (w prose) comeAndGone(p Package, change Change) []string {
	var names []string
	for _, b := range p.bundles(func(b Bundle) bool { return b.Change == change }) {
		names = append(names, b.Name)
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s %s: %s", plural.Of(len(names), "bundle"), change, w.names(names))}
}

// channel formats the changes of a channel. Entries whose bundles are in listed are only counted, since other lines
// have their names.
func (w prose) channel(c Channel, listed map[string]Change) []string {
	label := "channel " + w.name(c.Name)
	heads := Heads{}
	if c.Heads != nil {
		heads = *c.Heads
	}
	if c.Change != Changed { // it is in only one of the catalogs
		return []string{fmt.Sprintf("%s %s, with %s, head %s", label, c.Change, entries(len(c.Added)+len(c.Removed)),
			w.orNone(slices.Concat(heads.Before, heads.After)))}
	}
	head := ""
	if c.Heads != nil {
		head = "head " + w.change(heads.Before, heads.After)
	}
	lines := []string{after(label+": ", joined("; ",
		head,
		w.entries(c.Added, Added, "not new to the catalog", listed),
		w.entries(c.Removed, Removed, "still in the catalog", listed),
		after("another ", w.names(c.Keys))))}
	for _, e := range c.Edges {
		others := ""
		if e.Others {
			others = "other keys"
		}
		lines = append(lines, label+": "+w.name(e.Entry)+": "+joined("; ",
			after("replaces ", w.becomes(e.Replaces)),
			after("skips also ", w.names(e.SkipsAdded)),
			after("skips no longer ", w.names(e.SkipsRemoved)),
			after("skipRange ", w.becomes(e.SkipRange)),
			others))
	}
	return lines
}

func entries(n int) string { return plural.Words(n, "entry", "entries") }

// entries formats the number of entries, and the names of entries that listed does not have with this change.
func (w prose) entries(names []string, change Change, others string, listed map[string]Change) string {
	if len(names) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s", entries(len(names)), change)
	unlisted := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return listed[n] == change })
	if len(unlisted) > 0 {
		text += fmt.Sprintf(" (%s: %s)", others, w.names(unlisted))
	}
	return text
}

func (w prose) reroutes(p Package) []string {
	var lines []string
	for _, r := range p.Reroutes {
		past := ""
		if len(r.PassedOver) > 1 { // others than the next update before
			past = ", past " + w.names(r.PassedOver)
		}
		lines = append(lines, fmt.Sprintf("next update%s: %s, for %s%s", w.under(r.Installs), w.becomes(&r.Next),
			w.installed(r.Installs), past))
	}
	return lines
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
			lines = append(lines, what+" is no longer deprecated")
		default:
			lines = append(lines, what+" is still deprecated, "+w.deprecation(d))
		}
	}
	return append(lines, after("the deprecations have another ", w.names(p.DeprecationKeys)))
}

// deprecation formats the changes of a deprecation in both catalogs.
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
		what := joined(", ", "object of schema "+w.name(o.Schema), w.names(optional(o.Name)))
		lines = append(lines, fmt.Sprintf("%s: %s", what, o.Change))
	}
	return lines
}
