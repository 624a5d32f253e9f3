package diff

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A section has the lines for one package, or for several packages with the same change.
type section struct {
	title string
	lines []string
}

// maxNames is the maximum number of names in a list; JSON has all.
const maxNames = 8

// some formats a list of names; "" if it is empty.
func some(names []string) string {
	written := report.Names(names)
	for i := range written {
		written[i] = cmp.Or(written[i], `""`)
	}
	return abbreviated(written)
}

// joined joins the parts that are not empty.
func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), separator)
}

// after returns the text after the words, or "" if the text is empty.
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
func (v *Values) becomes() string {
	if v == nil {
		return ""
	}
	return arrow(optional(v.Before), optional(v.After))
}

func optional(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// arrow formats the names before and after.
func arrow(before, after []string) string {
	return orNone(before) + " -> " + orNone(after)
}

// orNone formats a list of names; "none" if it is empty.
func orNone(names []string) string { return cmp.Or(some(names), "none") }

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
func (p *Package) changes() []string {
	lines := p.stranded()
	lines = append(lines, p.contents()...)
	lines = append(lines, p.addedOrRemoved(Removed)...)
	lines = append(lines, after("default channel: ", p.DefaultChannel.becomes()))
	listed := map[string]Change{}
	for _, b := range p.Bundles {
		listed[b.Name] = b.Change
	}
	for _, c := range p.Channels {
		lines = append(lines, c.changes(listed)...)
	}
	lines = append(lines, p.addedOrRemoved(Added)...)
	lines = append(lines, p.reroutes()...)
	lines = append(lines, p.deprecations()...)
	lines = append(lines, after("the package has another ", some(p.Keys)))
	lines = append(lines, p.objects()...)
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// all formats a package that is in only one of the catalogs.
func (p *Package) all() []string {
	var channels, bundles []string
	for _, c := range p.Channels {
		channels = append(channels, c.Name)
	}
	for _, b := range p.Bundles {
		bundles = append(bundles, b.Name)
	}
	what := plural.Of(len(channels), "channel")
	if len(channels) > 0 {
		what += " (" + some(channels) + ")"
	}
	what += ", " + plural.Of(len(bundles), "bundle")
	if len(bundles) > 0 {
		what += ", the highest " + report.Name(bundles[len(bundles)-1])
	}
	lines := []string{what}
	if p.Change == Removed { // its deprecations and objects are omitted
		return append(lines, p.stranded()...)
	}
	lines = append(lines, p.deprecations()...)
	return slices.DeleteFunc(append(lines, p.objects()...), func(line string) bool { return line == "" })
}

// lostPaths formats a number of stranded installs.
func lostPaths(n int) string {
	return plural.Words(n, "install loses its update path", "installs lose their update path")
}

func (p *Package) stranded() []string {
	var lines []string
	for _, s := range p.Stranded {
		lost := lostPaths(len(s.all()))
		if s.Reason == PackageGone {
			lines = append(lines, lost)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s%s, %s: %s", lost, s.under(), s.since(), s.installed()))
	}
	return lines
}

// installed formats the bundles of installs, pruned bundles last.
func (i *Installs) installed() string {
	pruned := ""
	if n := len(i.Pruned); n > 0 {
		pruned = fmt.Sprintf("%s (%s)", plural.Words(n, "version that is no longer in the catalog",
			"versions that are no longer in the catalog"), some(i.Pruned))
	}
	return joined("; and ", some(i.Installed), pruned)
}

// under formats the channel of installs, and the version of OLM if only one is affected.
func (i *Installs) under() string {
	text := ""
	if i.Channel != "" {
		text = " in channel " + report.Name(i.Channel)
	}
	return text + i.byOne()
}

// byOne formats the version of OLM if only one is affected.
func (i *Installs) byOne() string {
	if len(i.Semantics) == 1 {
		return " by " + i.Semantics[0].Title() + " only"
	}
	return ""
}

func (y *Why) since() string {
	switch y.Reason {
	case ChannelGone:
		return "since the channel is gone"
	case Refused:
		return "since OLM refuses the channel (" + y.Error + ")"
	case Rejected:
		return "since OLM answers with an error (" + y.Error + ")"
	case StopsEarly:
		return "since updates end at " + report.Name(y.End)
	case Endless:
		return "since updates never end"
	}
	return "since no update leads on"
}

// contents formats the changed published bundles; bundles with the same changes share a line.
func (p *Package) contents() []string {
	changed := p.bundles(func(b Bundle) bool { return b.Change == Changed && b.Form == nil })
	images := len(p.bundles(func(b Bundle) bool { return b.Change == Changed && b.Image != nil }))
	var alike grouped[string, string]
	for _, b := range changed {
		alike.add(b.content(images <= maxNames), b.Name)
	}
	var lines []string
	for what, names := range alike.all() {
		n := plural.Of(len(names), "published bundle")
		lines = append(lines, fmt.Sprintf("%s changed, %s: %s", n, some(names), what))
	}
	return lines
}

// content formats what changed in a published bundle, the names of its images only if withImages is set.
func (b *Bundle) content(withImages bool) string {
	image := ""
	switch {
	case b.Image != nil && withImages:
		image = "image " + b.Image.shortened().becomes()
	case b.Image != nil:
		image = "image"
	}
	return joined("; ", image, after("properties ", some(b.Properties)), some(b.Keys))
}

// addedOrRemoved formats the added or removed bundles.
func (p *Package) addedOrRemoved(change Change) []string {
	var names []string
	for _, b := range p.bundles(func(b Bundle) bool { return b.Change == change }) {
		names = append(names, b.Name)
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("%s %s: %s", plural.Of(len(names), "bundle"), change, some(names))}
}

// changes formats the changes of a channel. Entries whose bundles are in listed are only counted, since other lines
// have their names.
func (c *Channel) changes(listed map[string]Change) []string {
	label := "channel " + report.Name(c.Name)
	heads := Heads{}
	if c.Heads != nil {
		heads = *c.Heads
	}
	if c.Change != Changed { // it is in only one of the catalogs
		return []string{fmt.Sprintf("%s %s, with %s, head %s", label, c.Change, entries(len(c.Added)+len(c.Removed)),
			orNone(slices.Concat(heads.Before, heads.After)))}
	}
	head := ""
	if c.Heads != nil {
		head = "head " + arrow(heads.Before, heads.After)
	}
	lines := []string{after(label+": ", joined("; ",
		head,
		entryChanges(c.Added, Added, "not new to the catalog", listed),
		entryChanges(c.Removed, Removed, "still in the catalog", listed),
		after("another ", some(c.Keys))))}
	for _, e := range c.Edges {
		others := ""
		if e.Others {
			others = "other keys"
		}
		lines = append(lines, label+": "+report.Name(e.Entry)+": "+joined("; ",
			after("replaces ", e.Replaces.becomes()),
			after("skips also ", some(e.SkipsAdded)),
			after("skips no longer ", some(e.SkipsRemoved)),
			after("skipRange ", e.SkipRange.becomes()),
			others))
	}
	return lines
}

func entries(n int) string { return plural.Words(n, "entry", "entries") }

// entryChanges formats the number of entries, and the names of entries that listed does not have with this change.
func entryChanges(names []string, change Change, others string, listed map[string]Change) string {
	if len(names) == 0 {
		return ""
	}
	text := fmt.Sprintf("%s %s", entries(len(names)), change)
	unlisted := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return listed[n] == change })
	if len(unlisted) > 0 {
		text += fmt.Sprintf(" (%s: %s)", others, some(unlisted))
	}
	return text
}

func (p *Package) reroutes() []string {
	var lines []string
	for _, r := range p.Reroutes {
		past := ""
		if len(r.PassedOver) > 1 { // others than the next update before
			past = ", past " + some(r.PassedOver)
		}
		next := r.under() + ": " + r.Next.becomes()
		lines = append(lines, "next update"+next+", for "+r.installed()+past)
	}
	return lines
}

func (p *Package) deprecations() []string {
	var lines []string
	for _, d := range p.Deprecations {
		what := "the package"
		if d.Schema != declcfg.SchemaPackage {
			what = strings.TrimPrefix(d.Schema, "olm.") + " " + report.Name(d.Name)
		}
		switch d.Change {
		case Added:
			lines = append(lines, what+" is deprecated now: "+strings.TrimSpace(d.Message.After))
		case Removed:
			lines = append(lines, what+" is no longer deprecated")
		default:
			lines = append(lines, what+" is still deprecated, "+d.changes())
		}
	}
	return append(lines, after("the deprecations have another ", some(p.DeprecationKeys)))
}

// changes formats the changes of a deprecation in both catalogs.
func (d *Deprecation) changes() string {
	words := "in other words: " + d.Message.After
	switch {
	case d.Message.Before == d.Message.After:
		return "with other keys"
	case d.Others:
		return "with other keys and " + words
	}
	return words
}

func (p *Package) objects() []string {
	var lines []string
	for _, o := range p.Objects {
		what := joined(", ", "object of schema "+report.Name(o.Schema), some(optional(o.Name)))
		lines = append(lines, fmt.Sprintf("%s: %s", what, o.Change))
	}
	return lines
}
