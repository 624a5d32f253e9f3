package resolve

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An Extension is a question to OLM v1: which bundle does a ClusterExtension get?
type Extension struct {
	Name          string
	Package       string
	Version       string                // a range, see [graph.Constraint]; "" for any version
	Channels      []string              // whose bundles and edges are used; none for all, and bundles in no channel
	Selector      *metav1.LabelSelector // of the labels of catalogs; nil for all
	SelfCertified bool                  // upgradeConstraintPolicy: SelfCertified, which ignores edges
	Installed     *InstalledBundle      // nil for none
	Pos           declcfg.Pos

	// Namespace is the namespace of the operator. If it is known, the bundle must support Config, the inline
	// configuration: nil for none. SingleOwnNamespace is the feature gate SingleOwnNamespaceInstallSupport of OLM, which
	// is off by default: bundles without the install mode AllNamespaces are refused, whatever the configuration says.
	Namespace          string
	Config             jsontext.Value
	SingleOwnNamespace bool
}

// An InstalledBundle is the bundle of a ClusterExtension. It need not be in a catalog.
type InstalledBundle struct {
	Name    string `json:"name"`
	Version string `json:"version"`          // "" if it is not known; no skipRange contains it then
	Release string `json:"release,omitzero"` // where the version does not have it as build metadata
	Image   string `json:"image,omitzero"`   // "" if it is not known
}

// V1 is the answer of OLM v1 about an [Extension].
type V1 struct {
	Extension string    `json:"extension"`
	Outcome   Outcome   `json:"outcome"`          // Resolved, Kept or Failed
	Choice    *V1Choice `json:"choice,omitzero"`  // nil for an error and where OLM keeps what is installed
	Message   string    `json:"message,omitzero"` // the error as OLM writes it, even where it keeps what is installed

	Catalogs   []V1Catalog `json:"catalogs"`   // in the order of the question
	Conditions []Condition `json:"conditions"` // of the ClusterExtension, once the choice is rolled out

	Pos declcfg.Pos `json:"-"` // of the Extension
}

// Kept is the outcome of OLM v1 where no catalog is left to choose from, and it keeps what is installed.
const Kept Outcome = "kept"

// A V1Choice is the bundle that is installed.
type V1Choice struct {
	Catalog  string   `json:"catalog"`
	Package  string   `json:"package"`
	Channels []string `json:"channels"` // the selected ones that have the bundle
	Bundle   string   `json:"bundle"`
	Version  string   `json:"version"`
	Image    string   `json:"image"`

	// By is the edge that leads to it; "" for a new installation. The [graph.Same] version may be the bundle itself, which
	// then stays.
	By         graph.Edge `json:"by,omitzero"`
	Deprecated bool       `json:"deprecated,omitzero"`

	version *declcfg.Version
}

// V1 resolves the ClusterExtension. It does not check that a cluster accepts its fields: see [Extension.Admit].
//
// Releases count as with the feature gate BundleReleaseSupport: build metadata is a release where a bundle states none.
// The deprecations are those of the chosen catalog.
func (e *Extension) V1(catalogs []*Catalog) *V1 {
	r := &v1Resolver{Extension: e, answer: &V1{Extension: e.Name, Outcome: Resolved, Pos: e.Pos}}
	best, err := r.resolve(catalogs)
	if err == nil {
		err = r.checkBundle(best)
	}
	if err != nil {
		r.answer.Message = err.Error()
		r.answer.Outcome = Failed
		if r.keepsInstalled() {
			r.answer.Outcome = Kept
		}
	} else {
		r.answer.Choice = best.choice()
	}
	r.setConditions(best, err)
	return r.answer
}

// A v1Resolver answers one question.
type v1Resolver struct {
	*Extension
	version      *graph.Constraint
	installed    *graph.Bundle // nil for none
	installedErr error         // why its version cannot be read
	matching     int           // number of catalogs that the selector matches
	offers       []*offer      // of the catalogs that have a candidate
	answer       *V1
}

// resolve returns the offer with the best candidate. With an error that is about this candidate, it returns both.
func (r *v1Resolver) resolve(catalogs []*Catalog) (*offer, error) {
	selector, err := r.selector()
	if err != nil {
		return nil, fmt.Errorf("desired catalog selector is invalid: %w", err)
	}
	if r.Version != "" {
		if r.version, err = graph.ParseConstraint(r.Version); err != nil {
			return nil, fmt.Errorf("desired %w", err)
		}
	}
	r.parseInstalled()
	if err := r.walk(catalogs, selector); err != nil {
		return nil, fmt.Errorf("error walking catalogs: %w", err)
	}
	best, err := r.choose()
	if err != nil {
		return nil, err
	}
	b := best.steps[0].To
	if b.Version == nil {
		return best, fmt.Errorf("error getting resolved bundle version for bundle %q: no package property found in bundle %q",
			b.Name, b.Name)
	}
	return best, b.Refusal()
}

// selector returns which catalogs are selected; without requirements it is all of them.
func (r *v1Resolver) selector() (labels.Selector, error) {
	if r.Selector == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(r.Selector)
}

func (r *v1Resolver) parseInstalled() {
	if r.Installed == nil {
		return
	}
	r.installed = &graph.Bundle{Name: r.Installed.Name}
	if r.Installed.Version == "" {
		return
	}
	v, err := declcfg.ParseVersion(r.Installed.Version, r.Installed.Release)
	if err != nil {
		r.installedErr = fmt.Errorf("error finding upgrade edges: parsing installed bundle %q: %w", r.Installed.Name, err)
		return
	}
	r.installed.Version = &v
}

// walk finds the candidates in all catalogs.
func (r *v1Resolver) walk(catalogs []*Catalog, selector labels.Selector) error {
	r.answer.Catalogs = make([]V1Catalog, len(catalogs))
	for i, c := range catalogs {
		result := &r.answer.Catalogs[i]
		result.Name, result.Priority = c.Name, c.Priority
		if !selector.Matches(c.v1Labels()) {
			result.Why = "its labels do not match the selector"
			continue
		}
		r.matching++
		if c.Unavailable {
			result.Why = "its availabilityMode is Unavailable"
			continue
		}
		if c.Failure != nil {
			return fmt.Errorf("error getting package %q from catalog %q: %w", r.Package, c.Name, c.Failure)
		}
		x := c.Index.Package(r.Package)
		if x == nil {
			result.Why = fmt.Sprintf("it has no package %q", r.Package)
			continue
		}
		if r.installedErr != nil && !r.SelfCertified {
			return r.installedErr
		}
		o := r.offer(c, graph.NewPackage(x))
		o.result = result
		result.set(o)
		if len(o.steps) > 0 {
			r.offers = append(r.offers, o)
		}
	}
	return nil
}

// nameLabel is the label that a cluster gives each ClusterCatalog: its name.
const nameLabel = "olm.operatorframework.io/metadata.name"

// v1Labels returns the labels of a ClusterCatalog.
func (c *Catalog) v1Labels() labels.Set {
	return labels.Merge(labels.Set{nameLabel: c.Name}, c.Labels)
}

// choose returns the offer of the catalog with the highest priority, of those whose best candidate is not deprecated if
// there are any.
func (r *v1Resolver) choose() (*offer, error) {
	kept := r.offers
	if i := slices.IndexFunc(kept, func(o *offer) bool { return !o.deprecated() }); i >= 0 {
		kept = drop(kept, (*offer).deprecated, func(o *offer) string {
			return fmt.Sprintf("%s, the best that it has, is deprecated, and catalog %s has one that is not",
				o.steps[0].To.Name, r.offers[i].Name)
		})
	}
	if len(kept) == 0 {
		return nil, r.unresolved(nil)
	}
	first := slices.MaxFunc(kept, func(a, b *offer) int { return cmp.Compare(a.Priority, b.Priority) })
	top := drop(kept, func(o *offer) bool { return o.Priority < first.Priority }, func(o *offer) string {
		return fmt.Sprintf("its priority, %d, is lower than the %d of catalog %s", o.Priority, first.Priority, first.Name)
	})
	if len(top) == 1 {
		return top[0], nil
	}
	for _, o := range top {
		o.result.Why = fmt.Sprintf("it is not the only catalog of priority %d with the package", o.Priority)
	}
	return nil, r.unresolved(kept)
}

// drop returns the offers without those that are unfit, whose catalogs get the reason.
func drop(offers []*offer, unfit func(*offer) bool, why func(*offer) string) []*offer {
	var kept []*offer
	for _, o := range offers {
		if unfit(o) {
			o.result.Why = why(o)
		} else {
			kept = append(kept, o)
		}
	}
	return kept
}

// unresolved returns the error that names the catalogs among which OLM does not choose.
func (r *v1Resolver) unresolved(among []*offer) error {
	e := &graph.UnresolvedError{Package: r.Package, Version: r.Version, Channels: r.Channels}
	if r.Installed != nil {
		e.Installed = r.Installed.Version
	}
	for _, o := range among {
		e.Catalogs = append(e.Catalogs, o.Name)
	}
	slices.Sort(e.Catalogs)
	return e
}

// keepsInstalled reports whether OLM keeps what is installed although it cannot resolve it: it is asked for no other
// version, and has no catalogs to ask any more. It compares texts, so that a range is always another version.
func (r *v1Resolver) keepsInstalled() bool {
	return r.Installed != nil && r.matching == 0 && (r.Version == "" || r.Version == r.Installed.Version)
}
