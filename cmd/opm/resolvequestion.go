package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// A resolveQuestion is what the flags of resolve ask.
type resolveQuestion struct {
	*resolveFlags
	namespace resolve.Namespace
	extension resolve.Extension
	catalogs  []*resolve.Catalog
	assumed   []string // what neither the flags nor the catalogs say
}

func (f *resolveFlags) question(catalogs []*resolve.Catalog) (*resolveQuestion, error) {
	const own = "ns"
	q := &resolveQuestion{resolveFlags: f, catalogs: catalogs}
	q.namespace = resolve.Namespace{Name: own, Catalogs: catalogs}
	for i, c := range catalogs {
		c.Namespace, c.Name = cmp.Or(c.Namespace, own), cmp.Or(c.Name, defaultCatalogName(i))
		global := &q.namespace.Global
		if c.Namespace != own && *global != "" && c.Namespace != *global {
			return nil, usageError{fmt.Errorf("catalogs are in the namespaces %q and %q: want %q and one other",
				*global, c.Namespace, own)}
		}
		if c.Namespace != own {
			*global = c.Namespace
		}
	}
	q.extension = resolve.Extension{Name: f.pkg, Package: f.pkg, Version: f.version, Channels: optional(f.channel)}
	s := resolve.Subscription{
		Name: "sub", Package: f.pkg, Channel: f.channel, StartingCSV: f.starting,
		Catalog: catalogs[0].Name, CatalogNamespace: catalogs[0].Namespace,
	}
	if in, ok := q.install(); ok {
		s.InstalledCSV, s.CurrentCSV = in.Name, in.Name
		q.extension.Installed = q.installedBundle(in)
	}
	q.namespace.Subscriptions = []resolve.Subscription{s}
	return q, nil
}

// install adds what is installed and returns the bundle that the Subscription has installed: the first of the package,
// or else the first that no catalog has.
func (q *resolveQuestion) install() (of resolve.Installed, ok bool) {
	unknown := -1
	for _, name := range q.installed {
		in, pkg := q.find(name)
		if pkg == "" {
			in = q.unknown(name)
			if unknown < 0 {
				unknown = len(q.namespace.Installed)
			}
		}
		q.namespace.Installed = append(q.namespace.Installed, in)
		switch {
		case pkg == q.pkg && !ok:
			of, ok = in, true
		case pkg != "":
			q.assume("%s is installed without a Subscription, so OLM Classic does not update it", name)
		}
	}
	if !ok && unknown >= 0 {
		return q.namespace.Installed[unknown], true
	}
	return of, ok
}

// find returns the operator that a bundle of a catalog is, and its package: the one asked for if that has it.
func (q *resolveQuestion) find(name string) (in resolve.Installed, pkg string) {
	for _, c := range q.catalogs {
		if in, ok := c.Operator(q.pkg, name); ok {
			return in, q.pkg
		}
	}
	for _, c := range q.catalogs {
		for _, p := range c.Index.Packages() {
			if in, ok := c.Operator(p.Name, name); ok {
				return in, p.Name
			}
		}
	}
	return in, ""
}

// installedBundle returns what OLM v1 knows of an installed operator of the package.
func (q *resolveQuestion) installedBundle(in resolve.Installed) *resolve.InstalledBundle {
	for _, c := range q.catalogs {
		if b := c.InstalledBundle(q.pkg, in.Name); b != nil {
			return b
		}
	}
	return &resolve.InstalledBundle{Name: in.Name, Version: in.Version.String()}
}

var versionInName = regexp.MustCompile(`[.-]v?([0-9]+\.[0-9]+\.[0-9]+.*)$`)

// unknown returns an operator that no catalog has: of the package, with the version that its name ends in.
func (q *resolveQuestion) unknown(name string) resolve.Installed {
	in := resolve.Installed{Name: name}
	if m := versionInName.FindStringSubmatch(name); m != nil {
		if v, err := declcfg.ParseVersion(m[1], ""); err == nil {
			in.Version = v.Semver
		}
	}
	q.assume("no catalog has %s: it is of package %s, version %s, and has no dependencies", name, q.pkg, in.Version)
	p, _ := declcfg.NewProperty(declcfg.PropertyPackage, // texts can be encoded
		declcfg.PackageProperty{PackageName: q.pkg, Version: in.Version.String()})
	in.Properties = []resolve.Property{{Property: p}}
	return in
}

func (q *resolveQuestion) assume(format string, args ...any) {
	q.assumed = append(q.assumed, fmt.Sprintf(format, args...))
}

// hint warns of names that no catalog has, since OLM does not say which there are.
func (q *resolveQuestion) hint(w io.Writer) {
	var packages, channels, bundles []string
	for _, c := range q.catalogs {
		for _, p := range c.Index.Packages() {
			packages = append(packages, p.Name)
		}
		if p := c.Index.Package(q.pkg); p != nil {
			for _, ch := range p.Channels {
				channels = append(channels, ch.Meta.Name)
			}
			for _, b := range p.Bundles {
				bundles = append(bundles, b.Meta.Name)
			}
		}
	}
	warn := func(kind, name string, among []string) {
		if name != "" && len(among) > 0 && !slices.Contains(among, name) {
			fmt.Fprintf(w, "opm: warning: no %s %q%s\n", kind, name, nearest.Hint(name, among))
		}
	}
	warn("package", q.pkg, packages)
	warn("channel", q.channel, channels)
	warn("bundle", q.starting, bundles)
}

// answer asks the versions of OLM that the flags name.
func (q *resolveQuestion) answer(ctx context.Context) (*resolution, error) {
	r := &resolution{Assumed: q.assumed}
	if q.olm != olmV1 {
		answers, loop, err := q.classic(ctx)
		if err != nil {
			return nil, err
		}
		explanation, err := q.namespace.Explain(ctx, answers[0], q.options())
		if err != nil {
			return nil, err
		}
		r.Classic = &classicResolution{Classic: *answers[0], Explanation: explanation, Loop: loop}
		for _, a := range answers[1:] {
			r.Classic.Path = append(r.Classic.Path, resolveStep{a.Outcome, a.Install, a.Message})
		}
	}
	if q.olm != olmClassic {
		r.V1 = q.v1()
	}
	return r, nil
}

func (q *resolveQuestion) classic(ctx context.Context) (answers []*resolve.Classic, loop bool, err error) {
	if q.path {
		return q.namespace.Path(ctx, q.options())
	}
	answer, err := q.namespace.Classic(ctx, q.options())
	return []*resolve.Classic{answer}, false, err
}

func (q *resolveQuestion) options() resolve.Options { return resolve.Options{Timeout: q.timeout} }

// v1 returns the answer of OLM v1. A ClusterExtension that the cluster does not accept is an error.
func (q *resolveQuestion) v1() *v1Resolution {
	if err := q.extension.Admit().ToAggregate(); err != nil {
		return &v1Resolution{resolveStep: resolveStep{resolve.Failed, []resolve.Choice{}, err.Error()}}
	}
	answers, loop := []*resolve.V1{}, false
	if q.path {
		answers, loop = q.extension.Path(q.catalogs)
	} else {
		answers = append(answers, q.extension.V1(q.catalogs))
	}
	r := &v1Resolution{Loop: loop, Catalogs: answers[0].Catalogs, first: answers[0]}
	e := &q.extension
	for i, a := range answers {
		step := v1Step(e, a)
		if i == 0 {
			r.resolveStep = step
		} else {
			r.Path = append(r.Path, step)
		}
		if e.Changes(a) {
			e = e.Next(a)
		}
	}
	return r
}

func v1Step(e *resolve.Extension, a *resolve.V1) resolveStep {
	step := resolveStep{a.Outcome, []resolve.Choice{}, a.Message}
	if e.Changes(a) {
		c := resolve.Choice{Catalog: a.Choice.Catalog, Package: a.Choice.Package, Bundle: a.Choice.Bundle}
		c.Channel = cmp.Or(append(slices.Clone(a.Choice.Channels), "")[0])
		if e.Installed != nil {
			c.Replaces = e.Installed.Name
		}
		step.Install = append(step.Install, c)
	}
	return step
}
