package resolve

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/installmode"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// SetupOptions describe the package that a [Setup] installs or updates.
type SetupOptions struct {
	Package     string
	Channel     string   // "" for any
	Version     string   // version range in the ClusterExtension
	StartingCSV string   // of the Subscription
	Installed   []string // bundles, of the package or others

	// Watch is the namespace that the operator watches, by the configuration of the ClusterExtension. The operator is in
	// the namespace of the Subscription. With "", there is no configuration, and the namespace of the operator is not
	// known.
	Watch string

	SingleOwnNamespace, Releases bool // the feature gates of OLM v1, see [V1Request]

	Target platform.Platform // of the cluster, see [V1Request]
}

// A Setup is a cluster with catalogs, a Subscription and a ClusterExtension, both for one package.
type Setup struct {
	Classic  ClassicRequest
	V1       V1Request
	Catalogs []*Catalog
	Assumed  []string // facts that neither the options nor the catalogs state

	opts SetupOptions
}

// setupNamespace is the namespace of the Subscription, and of catalogs without one.
const setupNamespace = "ns"

// NewSetup returns a Setup. It names catalogs without a name cat, cat2, and so on. The Subscription uses the first
// catalog. It is an error if catalogs are in more than one namespace besides the Subscription's.
func NewSetup(opts SetupOptions, catalogs []*Catalog) (*Setup, error) {
	s := &Setup{Catalogs: catalogs, opts: opts}
	s.Classic = ClassicRequest{Name: setupNamespace, Catalogs: catalogs}
	for i, c := range catalogs {
		name := "cat"
		if i > 0 {
			name = fmt.Sprintf("cat%d", i+1)
		}
		c.Namespace, c.Name = cmp.Or(c.Namespace, setupNamespace), cmp.Or(c.Name, name)
		global := &s.Classic.Global
		if c.Namespace != setupNamespace && *global != "" && c.Namespace != *global {
			return nil, fmt.Errorf("catalogs are in the namespaces %q and %q: want %q and one other",
				*global, c.Namespace, setupNamespace)
		}
		if c.Namespace != setupNamespace {
			*global = c.Namespace
		}
	}
	s.V1 = V1Request{
		Name: opts.Package, Package: opts.Package, Version: opts.Version, SingleOwnNamespace: opts.SingleOwnNamespace,
		Releases: opts.Releases, Target: opts.Target,
	}
	if opts.Watch != "" {
		s.V1.Namespace, s.V1.Config = setupNamespace, installmode.ConfigOf(opts.Watch)
	}
	if opts.Channel != "" {
		s.V1.Channels = []string{opts.Channel}
	}
	sub := Subscription{
		Name: "sub", Package: opts.Package, Channel: opts.Channel, StartingCSV: opts.StartingCSV,
		Catalog: catalogs[0].Name, CatalogNamespace: catalogs[0].Namespace,
	}
	if in, ok := s.install(); ok {
		sub.InstalledCSV, sub.CurrentCSV = in.Name, in.Name
		s.V1.Installed = &InstalledBundle{Name: in.Name, Version: in.Version.String()}
		for _, c := range catalogs {
			if b := c.InstalledBundle(opts.Package, in.Name, opts.Releases); b != nil {
				s.V1.Installed = b
				break
			}
		}
	}
	s.Classic.Subscriptions = []Subscription{sub}
	return s, nil
}

// install adds the installed operators and returns the operator of the Subscription: the first of the package, or else
// the first that is in no catalog.
func (s *Setup) install() (of Installed, ok bool) {
	unknown := -1
	for _, name := range s.opts.Installed {
		in, pkg := s.find(name)
		if pkg == "" {
			in = s.unknown(name)
			if unknown < 0 {
				unknown = len(s.Classic.Installed)
			}
		}
		s.Classic.Installed = append(s.Classic.Installed, in)
		switch {
		case pkg == s.opts.Package && !ok:
			of, ok = in, true
		case pkg != "":
			s.assume("%s is installed without a Subscription, so OLM Classic does not update it", name)
		}
	}
	if !ok && unknown >= 0 {
		return s.Classic.Installed[unknown], true
	}
	return of, ok
}

// find returns the operator for a bundle of a catalog, and its package. The package of the options comes first, ""
// means that no catalog has the bundle.
func (s *Setup) find(name string) (in Installed, pkg string) {
	for _, c := range s.Catalogs {
		if in, ok := c.Operator(s.opts.Package, name); ok {
			return in, s.opts.Package
		}
	}
	for _, c := range s.Catalogs {
		for _, p := range c.Index.Packages() {
			if in, ok := c.Operator(p.Name, name); ok {
				return in, p.Name
			}
		}
	}
	return in, ""
}

var versionInName = regexp.MustCompile(`[.-]v?([0-9]+\.[0-9]+\.[0-9]+.*)$`)

// unknown returns an operator that is in no catalog. It has the package of the options, and the version at the end of
// its name.
func (s *Setup) unknown(name string) Installed {
	in, hint := Installed{Name: name}, ""
	if m := versionInName.FindStringSubmatch(name); m != nil {
		if v, err := declcfg.ParseVersion(m[1], ""); err == nil {
			in.Version = v.Semver
		}
	} else {
		hint = nearest.Hint(name, s.bundles())
	}
	pkg := s.opts.Package
	s.assume("no catalog has %s%s: it is of package %s, version %s, and has no dependencies", name,
		hint, pkg, in.Version)
	p, _ := declcfg.NewProperty(declcfg.PropertyPackage, // strings can always be encoded
		declcfg.PackageProperty{PackageName: pkg, Version: in.Version.String()})
	in.Properties = []Property{{Property: p}}
	return in
}

// bundles returns the names of the bundles of the package of the options.
func (s *Setup) bundles() (names []string) {
	for _, c := range s.Catalogs {
		if p := c.Index.Package(s.opts.Package); p != nil {
			for _, b := range p.Bundles {
				names = append(names, b.Meta.Name)
			}
		}
	}
	return names
}

func (s *Setup) assume(format string, args ...any) {
	s.Assumed = append(s.Assumed, fmt.Sprintf(format, args...))
}

// UnknownNames returns a sentence for each name of the options that is in no catalog, with the most similar name. OLM
// itself does not say which names exist.
func (s *Setup) UnknownNames() []string {
	var packages, channels []string
	for _, c := range s.Catalogs {
		for _, p := range c.Index.Packages() {
			packages = append(packages, p.Name)
		}
		if p := c.Index.Package(s.opts.Package); p != nil {
			for _, ch := range p.Channels {
				channels = append(channels, ch.Meta.Name)
			}
		}
	}
	var sentences []string
	add := func(kind, name string, among []string) {
		if name != "" && len(among) > 0 && !slices.Contains(among, name) {
			sentences = append(sentences, fmt.Sprintf("no %s %q%s", kind, name, nearest.Hint(name, among)))
		}
	}
	add("package", s.opts.Package, packages)
	add("channel", s.opts.Channel, channels)
	add("bundle", s.opts.StartingCSV, s.bundles())
	return sentences
}

// SplitCatalogName splits an argument [[NAMESPACE/]NAME=]CATALOG. The text before = is a part of the path unless it is
// a valid name.
func SplitCatalogName(arg string) (namespace, name, ref string) {
	name, ref, ok := strings.Cut(arg, "=")
	if before, after, both := strings.Cut(name, "/"); both {
		namespace, name = before, after
		ok = ok && k8sname.Label(namespace) == nil
	}
	if !ok || k8sname.Subdomain(name) != nil {
		return "", "", arg
	}
	return namespace, name, ref
}
