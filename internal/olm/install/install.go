// Package install predicts what OLM Classic and OLM v1 do next in a cluster, given its objects and its catalogs.
//
//	r, err := install.NewRequest(state, install.Options{Catalogs: catalogs})
//	namespaces, err := r.Classic(ctx, resolve.Options{})
package install

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/shell"
)

// Options are settings of a cluster that its objects do not contain.
type Options struct {
	// Catalogs are the contents of catalogs. One with a namespace is for the CatalogSource of that namespace and name;
	// one without is for the ClusterCatalog and all CatalogSources of its name. A catalog that is missing from the
	// State is added to it: without a namespace, as a ClusterCatalog and a global CatalogSource.
	Catalogs []*resolve.Catalog

	// Contents are the contents of the catalogs of [Contents], after they were read; nil if only the given Catalogs are
	// read.
	Contents []*Content

	// Priorities replace the priorities of catalogs, by name: NAMESPACE/NAME or NAME, with the meaning of Catalogs.
	Priorities map[string]int

	// Down are the names of catalogs that the cluster cannot read, in the form of Priorities.
	Down []string

	// Global is the namespace whose CatalogSources are visible in all namespaces. "" means openshift-marketplace if it
	// has any CatalogSource, and olm otherwise.
	Global string

	// SingleOwnNamespace is the feature gate SingleOwnNamespaceInstallSupport of OLM v1, which is off by default.
	SingleOwnNamespace bool

	Releases bool // the feature gate BundleReleaseSupport of OLM v1, which is off by default

	// Target is the platform of the cluster, whose OLM v1 may not accept webhooks; zero if it is not known.
	Target platform.Platform
}

// A Request asks both versions of OLM for their next step, given a State and its catalogs.
type Request struct {
	*cluster.State
	catalogSources  []*resolve.Catalog
	named           map[types.NamespacedName]*resolve.Catalog // of catalogSources
	clusterCatalogs []*resolve.Catalog
	global          string
	globalAssumed   bool // the options do not name the global namespace

	singleOwnNamespace bool              // see Options
	releases           bool              // see Options
	platform           platform.Platform // see Options
	contents           []*Content        // see Options

	// Assumed are sentences about facts that are neither in the State nor in the Options.
	Assumed []string
}

// Waiting is the outcome if OLM does not resolve because an earlier resolution is not installed yet.
const Waiting resolve.Outcome = "waiting"

// NewRequest adds the catalogs to a State. The error is a [NoCatalogError] about a name in opts.
func NewRequest(s *cluster.State, opts Options) (*Request, error) {
	r := &Request{
		State: s, global: opts.Global, singleOwnNamespace: opts.SingleOwnNamespace, releases: opts.Releases,
	}
	r.platform, r.contents = opts.Target, opts.Contents
	for _, gap := range s.Gaps() {
		r.assume("objects that were not read do not exist: %s", gap)
	}
	if r.global == "" {
		r.globalAssumed = true
		// OLM takes the global namespace from a command-line argument, so only the catalogs can hint at it.
		for _, name := range globalNamespaces {
			isGiven := func(c *resolve.Catalog) bool { return c.Namespace == name }
			_, isRead := slices.BinarySearch(r.CatalogSources.Namespaces(), name)
			r.global = name
			if isRead || slices.ContainsFunc(opts.Catalogs, isGiven) {
				break
			}
		}
	}
	r.addCatalogs(opts.Catalogs)
	for _, name := range slices.Sorted(maps.Keys(opts.Priorities)) {
		if err := r.change(name, func(c *resolve.Catalog) { c.Priority = opts.Priorities[name] }); err != nil {
			return r, err
		}
	}
	for _, name := range opts.Down {
		if err := r.change(name, r.disconnect); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (r *Request) assume(format string, args ...any) {
	r.Assumed = append(r.Assumed, fmt.Sprintf(format, args...))
}

// AssumeV1 records the assumptions about the ClusterCatalogs.
func (r *Request) AssumeV1() {
	for _, c := range r.clusterCatalogs {
		if c.Failure != nil && r.ClusterExtensions.Len() > 0 {
			r.assume("ClusterCatalog %q is not being served: %s", c.Name, r.missing(c))
		}
	}
}

// missing returns the reason why the cluster cannot read a catalog. If its contents are not given, it has the flag that
// gives those of the image in the State.
func (r *Request) missing(c *resolve.Catalog) string {
	if c.Index != nil {
		return "it is assumed to be down"
	}
	name, image := c.Name, r.imageOf(c)
	for _, content := range r.contents {
		if content.matches(c) && content.Error != "" {
			return "its contents could not be read"
		}
	}
	if image == "" {
		return "its contents are not given"
	}
	for _, other := range slices.Concat(r.catalogSources, r.clusterCatalogs) {
		if other.Name == c.Name && c.Namespace != "" && r.imageOf(other) != image {
			name = c.Namespace + "/" + c.Name // the name alone is also the other catalog
		}
	}
	return "its contents are not given; " + shell.Quote("--catalog="+name+"="+image) + " reads them"
}

// imageOf returns the image of a catalog in the State, or "".
func (r *Request) imageOf(c *resolve.Catalog) string {
	if c.Namespace == "" {
		o, _ := r.ClusterCatalogs.Get("", c.Name)
		if o.Value == nil {
			return ""
		}
		return o.Value.Spec.Source.Image.Ref
	}
	o, _ := r.CatalogSources.Get(c.Namespace, c.Name)
	if o.Value == nil {
		return ""
	}
	return o.Value.Spec.Image
}

// V1 yields the request of each ClusterExtension to OLM v1, and the result, by name.
func (r *Request) V1() iter.Seq2[*resolve.V1Request, *resolve.V1Result] {
	r.AssumeV1()
	return func(yield func(*resolve.V1Request, *resolve.V1Result) bool) {
		for o := range r.ClusterExtensions.All() {
			if !yield(r.Extension(o)) {
				return
			}
		}
	}
}

// Extension returns the request of a ClusterExtension to OLM v1, and the result.
func (r *Request) Extension(o cluster.Object[*cluster.Extension]) (*resolve.V1Request, *resolve.V1Result) {
	e := o.Value.Request()
	e.Pos, e.SingleOwnNamespace, e.Releases = o.Pos, r.singleOwnNamespace, r.releases
	e.Target = r.platform
	isRollingOut := func(c metav1.Condition) bool { return c.Type == "Progressing" && c.Reason == "RollingOut" }
	if !slices.ContainsFunc(o.Value.Status.Conditions, isRollingOut) {
		return e, e.Resolve(r.clusterCatalogs)
	}
	answer := &resolve.V1Result{Extension: e.Name, Outcome: Waiting, Message: "a bundle is being rolled out", Pos: e.Pos}
	for _, c := range o.Value.Status.Conditions {
		answer.Conditions = append(answer.Conditions, resolve.Condition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
		})
	}
	return e, answer
}

// globalNamespaces are the default namespaces of the global catalogs, in OpenShift and elsewhere.
var globalNamespaces = []string{"openshift-marketplace", "olm"}

// addCatalogs sets the catalogs of the request, the catalogs of the State first.
func (r *Request) addCatalogs(given []*resolve.Catalog) {
	used := map[*resolve.Catalog]bool{}
	// contents returns a catalog with its given contents. The cluster cannot read a catalog without contents.
	contents := func(namespace, name string) *resolve.Catalog {
		for _, as := range []string{namespace, ""} {
			for _, g := range given {
				if g.Namespace == as && g.Name == name {
					used[g] = true
					return g.As(namespace, name)
				}
			}
		}
		c := &resolve.Catalog{Namespace: namespace, Name: name}
		for _, content := range r.contents {
			if content.matches(c) && content.Catalog != nil {
				return content.Catalog.As(namespace, name)
			}
		}
		markUnreadable(c)
		return c
	}
	for o := range r.CatalogSources.All() {
		c := contents(o.Value.Namespace, o.Value.Name)
		c.Priority = o.Value.Spec.Priority
		r.catalogSources = append(r.catalogSources, c)
	}
	for o := range r.ClusterCatalogs.All() {
		c := contents("", o.Value.Name)
		c.Priority, c.Labels = int(o.Value.Spec.Priority), o.Value.Labels
		c.Unavailable = o.Value.Spec.AvailabilityMode == cluster.Unavailable
		r.clusterCatalogs = append(r.clusterCatalogs, c)
	}
	for _, g := range given {
		if !used[g] {
			r.addCatalog(g)
		}
	}
	r.named = make(map[types.NamespacedName]*resolve.Catalog, len(r.catalogSources))
	for _, c := range slices.Backward(r.catalogSources) { // the first of several equal names wins
		r.named[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c
	}
}

// addCatalog adds a catalog that is missing from the State.
func (r *Request) addCatalog(c *resolve.Catalog) {
	var names []string
	for _, known := range slices.Concat(r.catalogSources, r.clusterCatalogs) {
		names = append(names, known.Name)
	}
	hint := ""
	if near := nearest.Within(min(2, len(c.Name)/4), c.Name, names); near != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", near)
	}
	if c.Namespace != "" {
		r.assume("the cluster also has CatalogSource %s/%s, of priority 0%s", c.Namespace, c.Name, hint)
		r.catalogSources = append(r.catalogSources, c.As(c.Namespace, c.Name))
		return
	}
	r.assume("the cluster also has ClusterCatalog %s and CatalogSource %s/%[1]s, of priority 0%[3]s",
		c.Name, r.global, hint)
	r.clusterCatalogs = append(r.clusterCatalogs, c.As("", c.Name))
	r.catalogSources = append(r.catalogSources, c.As(r.global, c.Name))
}

// A NoCatalogError is the error about a name that no catalog has.
type NoCatalogError struct {
	Name string
	Hint string // a similar name to suggest, or ""
}

func (e *NoCatalogError) Error() string { return fmt.Sprintf("no catalog %q%s", e.Name, e.Hint) }

// change applies a function to the catalogs with a name.
func (r *Request) change(name string, to func(*resolve.Catalog)) error {
	var names []string
	found := false
	for _, c := range slices.Concat(r.catalogSources, r.clusterCatalogs) {
		qualified := c.Namespace + "/" + c.Name
		if c.Name == name || qualified == name {
			to(c)
			found = true
		}
		names = append(names, c.Name, qualified)
	}
	if !found {
		return &NoCatalogError{name, nearest.Hint(name, names)}
	}
	return nil
}

// markUnreadable marks a catalog as unreadable for the cluster.
func markUnreadable(c *resolve.Catalog) {
	c.Failure = fmt.Errorf("no registry client established for catalogsource %s/%s", c.Namespace, c.Name)
	if c.Namespace == "" {
		c.Failure = fmt.Errorf("catalog %q is not being served", c.Name)
	}
}

// disconnect marks a catalog as unreadable because its server does not answer. OLM keeps its client of a server that it
// does not run itself.
func (r *Request) disconnect(c *resolve.Catalog) {
	markUnreadable(c)
	o, ok := r.CatalogSources.Get(c.Namespace, c.Name)
	if ok && o.Value.Spec.Image == "" && o.Value.Spec.Address != "" {
		c.Failure = fmt.Errorf("failed to list bundles: rpc error: code = Unavailable desc = connection error: desc = "+
			`"transport: Error while dialing: dial tcp %s: connect: connection refused"`, o.Value.Spec.Address)
	}
}

// target returns a CatalogSource by name, nil if it does not exist.
func (r *Request) target(namespace, name string) *resolve.Catalog {
	return r.named[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Reads reports whether the cluster can read a CatalogSource.
func (r *Request) Reads(namespace, name string) bool {
	c := r.target(namespace, name)
	return c != nil && c.Failure == nil
}

// Sees reports whether OLM Classic resolves a namespace from the CatalogSources of another: its own and the global one.
func (r *Request) Sees(namespace, catalogs string) bool {
	return catalogs == namespace || catalogs == r.global && !r.excludesGlobal(namespace)
}

// Unread returns the CatalogSources, as NAMESPACE/NAME, from which OLM Classic resolves a namespace and whose contents
// are not given. With any of them, the result for the namespace is not known.
func (r *Request) Unread(namespace string) []string {
	var names []string
	for _, c := range r.catalogSources {
		if c.Index == nil && r.Sees(namespace, c.Namespace) {
			names = append(names, c.Namespace+"/"+c.Name)
		}
	}
	return names
}

// UnreadV1 returns the ClusterCatalogs whose contents are not given.
func (r *Request) UnreadV1() []string {
	var names []string
	for _, c := range r.clusterCatalogs {
		if c.Index == nil && !c.Unavailable {
			names = append(names, c.Name)
		}
	}
	return names
}

// Global returns the namespace whose CatalogSources are visible in all namespaces.
func (r *Request) Global() string { return r.global }

// DisconnectInvalid makes the CatalogSources unreadable for which OLM has no client, because their spec is invalid or
// their ConfigMap is missing. It records the reasons as assumptions.
func (r *Request) DisconnectInvalid() {
	for o := range r.CatalogSources.All() {
		err := catalogsource.Check(o.Value)
		if _, missing := r.ConfigMap(o.Value); missing {
			err = fmt.Errorf("ConfigMap %q does not exist", o.Value.Spec.ConfigMap)
		}
		if err == nil {
			continue
		}
		c := r.target(o.Value.Namespace, o.Value.Name)
		if c.Failure == nil {
			r.assume("CatalogSource %s/%s cannot be read: %v", c.Namespace, c.Name, err)
		}
		markUnreadable(c)
	}
}

var configMapKind = schema.GroupKind{Kind: "ConfigMap"}

// ConfigMap returns the ConfigMap of a CatalogSource, nil if the State does not have it. In that case it is known to be
// missing only if the State has other ConfigMaps of the namespace.
func (r *Request) ConfigMap(c *v1alpha1.CatalogSource) (found *cluster.Other, missing bool) {
	if !catalogsource.FromConfigMap(c) {
		return nil, false
	}
	all := r.Other(configMapKind)
	if o, ok := all.Get(c.Namespace, c.Spec.ConfigMap); ok {
		return o.Value, false
	}
	return nil, all.LenIn(c.Namespace) > 0 || r.Has(configMapKind)
}
