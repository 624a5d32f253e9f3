package resolve

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/blang/semver/v4"
	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A V1Request asks OLM v1 which bundle a ClusterExtension gets.
type V1Request struct {
	Name          string
	Package       string
	Version       string                // a range, see [graph.Constraint]; "" for any version
	Channels      []string              // to use bundles and edges of; none means all, and bundles in no channel
	Selector      *metav1.LabelSelector // selects catalogs by label; nil for all catalogs
	SelfCertified bool                  // upgradeConstraintPolicy: SelfCertified, which ignores edges
	Installed     *InstalledBundle      // nil for none
	Pos           declcfg.Pos

	// SingleOwnNamespace is OLM's feature gate SingleOwnNamespaceInstallSupport, which is off by default: OLM then
	// refuses bundles without the install mode AllNamespaces, whatever the configuration. Namespace is the namespace of
	// the operator; "" if it is not known. If it is known, the bundle must support Config, the inline configuration;
	// nil for none.
	Namespace          string
	Config             jsontext.Value
	SingleOwnNamespace bool

	Releases bool // OLM's feature gate BundleReleaseSupport, which is off by default: see [graph.V1Options]

	// Target is the platform of the cluster, whose OLM v1 may not accept webhooks; zero if it is not known.
	Target platform.Platform
}

// An InstalledBundle is the installed bundle of a ClusterExtension. It may be missing from all catalogs.
type InstalledBundle struct {
	Name    string `json:"name"`
	Version string `json:"version"`          // "" if unknown; then no skipRange contains it
	Release string `json:"release,omitzero"` // unless the version has it as build metadata
	Image   string `json:"image,omitzero"`   // "" if unknown
}

// A V1Result is the answer of OLM v1.
type V1Result struct {
	Extension string    `json:"extension"`
	Outcome   Outcome   `json:"outcome"`          // Resolved, Kept or Failed
	Choice    *V1Choice `json:"choice,omitzero"`  // nil if OLM reports an error or keeps the installed bundle
	Message   string    `json:"message,omitzero"` // the error in OLM's words, even if OLM keeps the installed bundle

	Catalogs   []V1Catalog `json:"catalogs"`   // in the order of the request
	Conditions []Condition `json:"conditions"` // of the ClusterExtension, after the choice is rolled out

	Pos declcfg.Pos `json:"-"` // of the request
}

// Kept is the outcome if OLM v1 has no catalog to choose from, and keeps the installed bundle.
const Kept Outcome = "kept"

// A V1Choice is the bundle that is installed.
type V1Choice struct {
	Catalog  string   `json:"catalog"`
	Package  string   `json:"package"`
	Channels []string `json:"channels"` // the selected channels that have the bundle
	Bundle   string   `json:"bundle"`
	Version  string   `json:"version"`
	Image    string   `json:"image"`

	// By is the edge to the bundle; "" for a new installation. With [graph.Same], it may be the installed bundle
	// itself, which then stays.
	By         graph.Edge `json:"by,omitzero"`
	Deprecated bool       `json:"deprecated,omitzero"`

	version *declcfg.Version
}

// Resolve resolves the ClusterExtension. It does not check whether a cluster accepts its fields: see [V1Request.Admit].
//
// The deprecations are from the chosen catalog.
func (e *V1Request) Resolve(catalogs []*Catalog) *V1Result {
	r := &v1Resolver{V1Request: e, answer: &V1Result{Extension: e.Name, Outcome: Resolved, Pos: e.Pos}}
	best, err := r.resolve(catalogs)
	if err == nil {
		err = r.checkBundle(best.Catalog, best.steps[0].To)
	}
	if err != nil {
		r.answer.Message, r.answer.Outcome = err.Error(), Failed
		// OLM compares versions as strings, so a range always differs from the installed version.
		if r.Installed != nil && r.matching == 0 && (r.Version == "" || r.Version == r.Installed.Version) {
			r.answer.Outcome = Kept
		}
	} else {
		r.answer.Choice = best.choice()
	}
	r.setConditions(best, err)
	return r.answer
}

// A v1Resolver answers one request.
type v1Resolver struct {
	*V1Request
	version      *graph.Constraint
	installed    *graph.Bundle        // nil for none
	installedErr error                // the error of parsing its version
	matching     int                  // number of catalogs that match the selector
	candidates   []*catalogCandidates // by catalog, without catalogs that have none
	answer       *V1Result
}

// resolve returns the candidates of the chosen catalog. If the error is about the best candidate, it returns both.
func (r *v1Resolver) resolve(catalogs []*Catalog) (*catalogCandidates, error) {
	var err error
	selector := labels.Everything()
	if r.Selector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(r.Selector); err != nil {
			return nil, fmt.Errorf("desired catalog selector is invalid: %w", err)
		}
	}
	if r.Version != "" {
		if r.version, err = graph.ParseConstraint(r.Version); err != nil {
			return nil, fmt.Errorf("desired %w", err)
		}
	}
	r.parseInstalled()
	if err := r.walkCatalogs(catalogs, selector); err != nil {
		return nil, fmt.Errorf("error walking catalogs: %w", err)
	}
	best, err := r.choose()
	if err != nil {
		return nil, err
	}
	return best, checkResolved(best.steps[0].To)
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
	if _, words := semver.Parse(r.Installed.Version); words != nil {
		err = words // OLM's
	}
	if err != nil {
		r.installedErr = fmt.Errorf("error finding upgrade edges: failed to get version and release of installed bundle: %w",
			err)
		return
	}
	if !r.Releases && len(v.Release) > 0 {
		// OLM reads the release of an installed bundle with the gate off, too.
		v.Semver.Build, v.Release = strings.Split(v.Release.String(), "."), nil
	}
	r.installed.Version = &v
}

// walkCatalogs finds the candidates in all catalogs.
func (r *v1Resolver) walkCatalogs(catalogs []*Catalog, selector labels.Selector) error {
	r.answer.Catalogs = make([]V1Catalog, len(catalogs))
	for i, c := range catalogs {
		result := &r.answer.Catalogs[i]
		result.Name, result.Priority = c.Name, c.Priority
		if !selector.Matches(labels.Merge(labels.Set{nameLabel: c.Name}, c.Labels)) {
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
		o := r.findCandidates(c, graph.NewPackage(x))
		o.result = result
		result.setCandidates(o)
		if len(o.steps) > 0 {
			r.candidates = append(r.candidates, o)
		}
	}
	return nil
}

// nameLabel is the label with the name of the catalog, which a cluster sets on each ClusterCatalog.
const nameLabel = "olm.operatorframework.io/metadata.name"

// choose returns the candidates of the catalog with the highest priority. If there are catalogs whose best candidate is
// not deprecated, it considers only these.
func (r *v1Resolver) choose() (*catalogCandidates, error) {
	kept := r.candidates
	if i := slices.IndexFunc(kept, func(o *catalogCandidates) bool { return !o.deprecated() }); i >= 0 {
		kept = reject(kept, (*catalogCandidates).deprecated, func(o *catalogCandidates) string {
			return fmt.Sprintf("%s, the best that it has, is deprecated, and catalog %s has one that is not",
				o.steps[0].To.Name, r.candidates[i].Name)
		})
	}
	if len(kept) == 0 {
		return nil, r.unresolved(nil)
	}
	first := slices.MaxFunc(kept, func(a, b *catalogCandidates) int { return cmp.Compare(a.Priority, b.Priority) })
	isLower := func(o *catalogCandidates) bool { return o.Priority < first.Priority }
	top := reject(kept, isLower, func(o *catalogCandidates) string {
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

// reject removes the unfit catalogs, and sets the reason in their results.
func reject(
	all []*catalogCandidates, unfit func(*catalogCandidates) bool, why func(*catalogCandidates) string,
) []*catalogCandidates {
	var kept []*catalogCandidates
	for _, o := range all {
		if unfit(o) {
			o.result.Why = why(o)
		} else {
			kept = append(kept, o)
		}
	}
	return kept
}

// unresolved returns the error if no catalog has a candidate, or the error about the catalogs between which OLM cannot
// choose.
func (r *v1Resolver) unresolved(among []*catalogCandidates) error {
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

// maxOthers is the maximum number of bundles per catalog that are listed as non-candidates.
const maxOthers = 5

// WriteText writes at most limit lines of an explanation of the answer for people, as [Explanation.WriteText] does: why
// catalogs are not chosen, and why newer bundles are not candidates.
func (a *V1Result) WriteText(w io.Writer, limit int, hint string) error {
	t := &textWriter{}
	for i := range a.Catalogs {
		c := &a.Catalogs[i]
		if c.Why != "" {
			t.line(0, "not catalog %s: %s", c.Name, c.Why)
		}
		if c.found == nil || c.Why != "" && len(c.Candidates) > 0 {
			continue
		}
		others := c.newer()
		for _, o := range others[:min(len(others), maxOthers)] {
			t.line(1, "not %s: %s", o.Bundle, o.Why)
		}
		if more := len(others) - maxOthers; more > 0 {
			t.line(1, "nor %s", plural.Of(more, "older bundle"))
		}
	}
	return t.write(w, limit, hint)
}

// Behind reports whether OLM does not choose a bundle, or does not choose a newer one of the chosen catalog.
func (a *V1Result) Behind() bool {
	for i := range a.Catalogs {
		if c := &a.Catalogs[i]; c.Why == "" && len(c.Candidates) > 0 {
			return a.Outcome != Resolved || len(c.newer()) > 0
		}
	}
	return true
}

// newer returns the non-candidates with a higher version than the first candidate, or all of them if there is none.
func (c *V1Catalog) newer() []V1Candidate {
	others := c.Others()
	if len(c.Candidates) == 0 {
		return others
	}
	first := c.found.steps[0].To.Version
	for i, o := range others { // sorted from the highest version
		b := c.found.pkg.Bundle(o.Bundle)
		if b.Version == nil || first != nil && b.Version.Compare(*first) <= 0 {
			return others[:i]
		}
	}
	return others
}

// The limits of a ClusterExtension.
const (
	maxVersionRange = 64 // characters
	maxChannels     = 256
)

// Admit returns the errors with which a cluster rejects the ClusterExtension, each at its field. A cluster rejects some
// ranges that OLM could resolve, such as "1.0 - 2.0", and accepts some that OLM cannot; it accepts an invalid selector.
func (e *V1Request) Admit() field.ErrorList {
	var errs field.ErrorList
	catalog := field.NewPath("spec", "source", "catalog")
	if err := k8sname.Subdomain(e.Package); err != nil {
		errs = append(errs, field.Invalid(catalog.Child("packageName"), e.Package, err.Error()))
	}
	version := catalog.Child("version")
	if utf8.RuneCountInString(e.Version) > maxVersionRange {
		errs = append(errs, field.TooLong(version, e.Version, maxVersionRange))
	}
	if e.Version != "" && !versionRange().MatchString(e.Version) {
		errs = append(errs, field.Invalid(version, e.Version, "invalid version expression"))
	}
	channels := catalog.Child("channels")
	if len(e.Channels) > maxChannels {
		errs = append(errs, field.TooMany(channels, len(e.Channels), maxChannels))
	}
	for i, c := range e.Channels {
		if err := k8sname.Subdomain(c); err != nil {
			errs = append(errs, field.Invalid(channels.Index(i), c, err.Error()))
		}
	}
	return errs
}

// versionRange matches the version ranges that the CustomResourceDefinition accepts. It reproduces the original
// pattern, in which a bracket is misplaced: * can be the wildcard of the major version and the patch in the first
// comparator, and of the minor version in the others, elsewhere it is "*]"; and | may be a wildcard like x.
var versionRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` +
		`\s*` + comparator(`[xX|*]`, `[xX]|\*\]`, `[xX*]`) +
		`(?:(?:\s+|,\s*|\s*\|\|\s*)` + comparator(`[xX]|\*\]`, `[xX*]`, `[xX]|\*\]`) + `)*$`)
})

// comparator returns the pattern of a comparator, given the wildcards for the parts of its version.
func comparator(major, minor, patch string) string {
	const (
		operator    = `(?:!=|>=?|=>|<=?|=<|~>?|\^|=)?`
		number      = `0|[1-9]\d*`
		identifiers = `[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`
	)
	return strings.Join([]string{
		operator, `\s*v?(?:`, number, `|`, major, `)(?:\.(?:`, number, `|`, minor, `))?(?:\.(?:`, number, `|`, patch, `))?`,
		`(?:-`, identifiers, `)?(?:\+`, identifiers, `)?\s*`,
	}, "")
}
