package draw

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// UpstreamOptions are the options of upstream's render-graph. The zero value draws everything.
type UpstreamOptions struct {
	Package string // only this package; "" for all
	V0      bool   // mark bundles that OLM v0 never installs, and edges that it never follows

	// MinimumEdge is the name of a bundle. Only edges from its version on are drawn, and only of the first package, in
	// the order of channel names, that has it as an entry. If no package has such an entry, all are drawn.
	MinimumEdge string

	TooLarge func(MermaidSize) // called with the size if renderers refuse the drawing; may be nil
}

// UpstreamMermaid draws a catalog like upstream's render-graph, byte for byte, with its bugs:
//
//   - Names are not escaped for Mermaid. Control characters and line breaks in them are escaped here.
//   - Versions and deprecations are looked up by bundle or channel name, without the package.
//   - Only the last deprecated package is marked.
//   - Links are marked by numbers that are wrong if there are several packages.
//
// [Mermaid] does not have these bugs. If upstream has no fixed order, elements that compare equal are sorted by name.
//
// Every bundle must have a version, and MinimumEdge must be a bundle; otherwise an error is returned and nothing is
// written. The catalog may be otherwise invalid; [CheckUpstream] finds the other objects that upstream refuses. An
// invalid skipRange is ignored.
func UpstreamMermaid(w io.Writer, x *declcfg.Index, o UpstreamOptions) error {
	u := &upstream{
		o: o, versions: map[string]*declcfg.Version{},
		packages: map[string]bool{}, channelNames: map[string]bool{}, bundles: map[string]bool{},
	}
	if err := u.read(x); err != nil {
		return err
	}
	if err := u.filter(); err != nil {
		return err
	}
	counted := &meter{Writer: w}
	out := bufio.NewWriter(counted)
	out.WriteString(`graph LR
  classDef deprecated fill:#E8960F
  classDef skipped stroke:#FF0000,stroke-width:4px
  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px
`)
	names := map[string]bool{}
	for _, c := range u.channels {
		names[c.pkg] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(out, "  %%%% package %q\n  subgraph %q\n", name, name)
		for _, c := range u.channels {
			if c.pkg == name {
				u.drawChannel(out, c)
			}
		}
		out.WriteString("  end\n")
	}
	if err := out.Flush(); err != nil { // do not iterate again after an error
		return err
	}
	u.drawStyles(out)
	err := out.Flush()
	if size := (MermaidSize{counted.characters, u.links}); size.tooLarge() && o.TooLarge != nil {
		o.TooLarge(size)
	}
	return err
}

// upstream is a catalog in the form that upstream draws.
type upstream struct {
	o        UpstreamOptions
	versions map[string]*declcfg.Version
	channels []*upstreamChannel // sorted by name, then by package
	links    int                // number of links drawn so far

	packages, channelNames, bundles map[string]bool // deprecated names
}

type upstreamChannel struct {
	pkg, name string
	entries   []declcfg.Entry
}

// Like upstream, ids are not escaped, except for line breaks and control characters.

func (c *upstreamChannel) id() string              { return legible.Name(c.pkg + "-" + c.name) }
func (c *upstreamChannel) node(name string) string { return c.id() + "-" + legible.Name(name) }

func (u *upstream) read(x *declcfg.Index) error {
	var errs []error
	for p := range x.Each() {
		for _, o := range p.Bundles {
			errs = append(errs, u.readBundle(o))
		}
		for _, o := range p.Channels {
			if o.Value != nil {
				u.channels = append(u.channels, &upstreamChannel{p.Name, o.Value.Name, o.Value.Entries})
			}
		}
		for _, o := range p.Deprecations {
			if o.Value != nil {
				for _, e := range o.Value.Entries {
					switch e.Reference.Schema {
					case declcfg.SchemaPackage:
						u.packages[p.Name] = true
					case declcfg.SchemaChannel:
						u.channelNames[e.Reference.Name] = true
					case declcfg.SchemaBundle:
						u.bundles[e.Reference.Name] = true
					}
				}
			}
		}
	}
	slices.SortStableFunc(u.channels, func(a, b *upstreamChannel) int { return cmp.Compare(a.name, b.name) })
	return errors.Join(errs...)
}

// readBundle records the version of a bundle. If several bundles have the same name, it uses the first.
func (u *upstream) readBundle(o declcfg.Indexed[declcfg.BundleSummary]) error {
	if o.Value == nil {
		return nil
	}
	if o.Value.Version == nil {
		v, err := o.Meta.Decode() // again, to get the error
		return cmp.Or(err, CheckUpstream(o.Meta, v))
	}
	if _, ok := u.versions[o.Value.Name]; !ok {
		u.versions[o.Value.Name] = o.Value.Version
	}
	return nil
}

// ReadUpstream is [declcfg.ReadIndex], with an error for each bundle that upstream refuses to draw: it has a property
// that cannot be decoded, or no version.
func ReadUpstream(ctx context.Context, sources ...declcfg.Source) (*declcfg.Index, error) {
	check := func(m *declcfg.Meta, v any) (struct{}, error) { return struct{}{}, CheckUpstream(m, v) }
	return declcfg.ReadIndexAnd(ctx, check, func(*declcfg.Meta, struct{}) {}, sources...)
}

// CheckUpstream returns the reason why upstream refuses to draw a decoded object, of any type, or nil.
func CheckUpstream(m *declcfg.Meta, v any) error {
	b, ok := v.(*declcfg.Bundle)
	if !ok {
		return nil
	}
	for i := range b.Properties {
		if err := b.Properties[i].Check(); err != nil {
			at := jsontext.Pointer(fmt.Sprintf("/properties/%d/value", i))
			return &declcfg.Error{Pos: m.Place(at), Err: fmt.Errorf("bundle %q: properties[%d]: %w", m.Name, i, err)}
		}
	}
	if _, err := b.Version(); err != nil {
		return &declcfg.Error{Pos: m.Pos, Err: fmt.Errorf("bundle %q: %w", m.Name, err)}
	}
	return nil
}

// version returns the version of a bundle, or 0.0.0 if the bundle is not in the catalog.
func (u *upstream) version(bundle string) *declcfg.Version {
	return cmp.Or(u.versions[bundle], &declcfg.Version{})
}

// compare orders bundles by version.
func (u *upstream) compare(a, b string) int { return u.version(a).Compare(*u.version(b)) }

// filter removes the channels and entries that the options do not select.
func (u *upstream) filter() error {
	pkgs := map[string]bool{}
	for _, c := range u.channels {
		pkgs[c.pkg] = u.o.Package == "" || c.pkg == u.o.Package
	}
	if least := u.o.MinimumEdge; least != "" {
		if _, ok := u.versions[least]; !ok {
			return nearest.NotFound("no bundle", least, slices.Collect(maps.Keys(u.versions)))
		}
		isLeast := func(e declcfg.Entry) bool { return e.Name == least }
		has := func(c *upstreamChannel) bool { return slices.ContainsFunc(c.entries, isLeast) }
		if i := slices.IndexFunc(u.channels, has); i >= 0 {
			pkg := u.channels[i].pkg
			pkgs = map[string]bool{pkg: pkgs[pkg]}
		}
	}
	u.channels = slices.DeleteFunc(u.channels, func(c *upstreamChannel) bool { return !pkgs[c.pkg] })
	if u.o.MinimumEdge == "" {
		return nil
	}
	for _, c := range u.channels {
		c.entries = u.fromMinimumEdge(c.entries)
	}
	u.channels = slices.DeleteFunc(u.channels, func(c *upstreamChannel) bool { return len(c.entries) == 0 })
	return nil
}

// fromMinimumEdge returns the entries with only the edges from the minimum edge and later versions.
func (u *upstream) fromMinimumEdge(entries []declcfg.Entry) []declcfg.Entry {
	least := u.o.MinimumEdge
	var kept []declcfg.Entry
	for _, e := range entries {
		k := declcfg.Entry{Name: e.Name}
		if e.Name == least {
			kept = append(kept, k)
			continue
		}
		if e.Replaces != "" && u.compare(e.Replaces, least) >= 0 {
			k.Replaces = e.Replaces
		}
		for _, skip := range e.Skips {
			if u.compare(skip, least) >= 0 {
				k.Skips = append(k.Skips, skip)
			}
		}
		if r, err := graph.ParseRange(e.SkipRange); err == nil && r.Contains(u.version(least).Semver) {
			k.SkipRange = e.SkipRange
		}
		if hasEdges(k) || !hasEdges(e) && u.compare(e.Name, least) >= 0 {
			kept = append(kept, k)
		}
	}
	return kept
}

func hasEdges(e declcfg.Entry) bool { return e.Replaces != "" || len(e.Skips) > 0 || e.SkipRange != "" }

// An upstreamLine is an entry, or a link to it.
type upstreamLine struct {
	entry       string
	from, label string // set for a link
	dead        bool   // OLM v0 never installs the entry, or never follows the link
}

func (l upstreamLine) isLink() bool { return l.label != "" }

// lines yields the entries, the highest version first, each before the links to it. Entries without a bundle, as in
// templates, keep their order.
func (u *upstream) lines(c *upstreamChannel) iter.Seq[upstreamLine] {
	sorted := slices.Clone(c.entries)
	slices.SortStableFunc(sorted, func(a, b declcfg.Entry) int {
		if u.versions[a.Name] == nil && u.versions[b.Name] == nil {
			return 0
		}
		return cmp.Or(u.compare(b.Name, a.Name), cmp.Compare(a.Name, b.Name))
	})
	ascending := make([]int, len(c.entries)) // the indexes of entries, the lowest version first
	for i := range ascending {
		ascending[i] = i
	}
	slices.SortFunc(ascending, func(i, j int) int { return u.compare(c.entries[i].Name, c.entries[j].Name) })
	return func(yield func(upstreamLine) bool) {
		skipped := map[string]bool{}
		for _, e := range sorted {
			if !yield(upstreamLine{entry: e.Name, dead: skipped[e.Name]}) {
				return
			}
			for _, skip := range e.Skips {
				if !yield(upstreamLine{e.Name, skip, "skip", skipped[skip]}) {
					return
				}
				skipped[skip] = true
			}
			label := strconv.Quote("skipRange(" + e.SkipRange + ")")
			for _, i := range u.inSkipRange(e.SkipRange, c.entries, ascending) {
				if !yield(upstreamLine{e.Name, c.entries[i].Name, label, skipped[e.Name]}) {
					return
				}
			}
			if e.Replaces != "" && !yield(upstreamLine{e.Name, e.Replaces, "replace", skipped[e.Name]}) {
				return
			}
		}
	}
}

// inSkipRange returns the sorted indexes of the entries whose version is in a skipRange.
func (u *upstream) inSkipRange(skipRange string, entries []declcfg.Entry, ascending []int) []int {
	r, err := graph.ParseRange(skipRange)
	if err != nil { // also for ""
		return nil
	}
	var found []int
	version := func(i int) *declcfg.Version { return u.version(entries[ascending[i]].Name) }
	for i, j := range r.Indexes(len(ascending), version) {
		found = append(found, ascending[i:j]...)
	}
	slices.Sort(found)
	return found
}

func (u *upstream) drawChannel(out *bufio.Writer, c *upstreamChannel) {
	fmt.Fprintf(out, "    %%%% channel %q\n    subgraph %s[%q]\n", c.name, c.id(), c.name)
	nodes := map[string]string{} // cached with labels, since most lines repeat them
	node := func(name string) string {
		if nodes[name] == "" {
			nodes[name] = c.node(name) + "[" + strconv.Quote(name) + "]"
		}
		return nodes[name]
	}
	for l := range u.lines(c) {
		text := node(l.entry)
		if l.isLink() {
			text = node(l.from) + "-- " + l.label + " --> " + text
			u.links++
		}
		if _, err := out.WriteString("      " + text + "\n"); err != nil {
			return // Flush returns the same error
		}
	}
	out.WriteString("    end\n")
}

// drawStyles marks deprecated objects, and entries and links that OLM v0 ignores.
func (u *upstream) drawStyles(out *bufio.Writer) {
	var pkg string
	for _, c := range u.channels {
		if u.packages[c.pkg] {
			pkg = c.pkg
		}
	}
	if pkg != "" {
		fmt.Fprintf(out, "style %s fill:#989695\n", legible.Name(pkg))
	}
	for _, c := range u.channels {
		if u.channelNames[c.name] {
			fmt.Fprintf(out, "style %s fill:#DCD0FF\n", c.id())
		}
	}
	classes, dead := u.classes()
	for _, class := range []string{"deprecated", "deprecatedskipped", "skipped"} {
		if ids := slices.Sorted(maps.Keys(classes[class])); len(ids) > 0 {
			fmt.Fprintf(out, "class %s %s\n", strings.Join(ids, ","), class)
		}
	}
	if len(dead) > 0 {
		fmt.Fprintf(out, "linkStyle %s stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;\n", strings.Join(dead, ","))
	}
}

// classes returns the node ids by class, and the numbers of dead links. As in upstream, links are numbered in the order
// of channel names, although they are drawn by package.
func (u *upstream) classes() (classes map[string]map[string]bool, dead []string) {
	classes = map[string]map[string]bool{"deprecated": {}, "deprecatedskipped": {}, "skipped": {}}
	links := 0
	for _, c := range u.channels {
		for l := range u.lines(c) {
			if l.isLink() {
				if l.dead && u.o.V0 {
					dead = append(dead, strconv.Itoa(links))
				}
				links++
				continue
			}
			if class := u.class(l); class != "" {
				classes[class][c.node(l.entry)] = true
			}
		}
	}
	return classes, dead
}

// class returns the class of the node of an entry, or "".
func (u *upstream) class(l upstreamLine) string {
	class := ""
	if u.bundles[l.entry] {
		class = "deprecated"
	}
	if l.dead && u.o.V0 {
		class += "skipped"
	}
	return class
}
