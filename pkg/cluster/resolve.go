package cluster

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/pkg/resolve"
)

// Options are what the objects of a cluster do not say.
type Options struct {
	// Catalogs are the contents of the CatalogSource of a namespace and name or, without a namespace, of the
	// ClusterCatalog and of all CatalogSources of a name. What the State does not have is added to it: without a
	// namespace, a ClusterCatalog and a global CatalogSource.
	Catalogs []*resolve.Catalog

	// Priorities replace those of catalogs, which are named by NAMESPACE/NAME or NAME, as Catalogs are.
	Priorities map[string]int

	// Down are the names of catalogs that the cluster cannot read, as in Priorities.
	Down []string

	// Global is the namespace whose CatalogSources all namespaces see; "" means openshift-marketplace if it has any, or
	// else olm.
	Global string

	// SingleOwnNamespace is the feature gate SingleOwnNamespaceInstallSupport of OLM v1, which is off by default.
	SingleOwnNamespace bool
}

// A Question is a State with its catalogs: what do both versions of OLM do next?
type Question struct {
	*State
	catalogSources  []*resolve.Catalog
	named           map[types.NamespacedName]*resolve.Catalog // of catalogSources
	clusterCatalogs []*resolve.Catalog
	global          string
	globalFound     bool // by the catalogs in it

	singleOwnNamespace bool // see Options

	// Assumed are sentences about what neither the State nor the Options say.
	Assumed []string
}

// Waiting is the outcome where OLM does not resolve since it has not yet finished what it resolved before.
const Waiting resolve.Outcome = "waiting"

// Question adds the catalogs. The error is a [NoCatalogError] about a name in opts.
func (s *State) Question(opts Options) (*Question, error) {
	q := &Question{State: s, global: opts.Global, singleOwnNamespace: opts.SingleOwnNamespace}
	if q.global == "" {
		q.findGlobal(opts.Catalogs)
	}
	q.addCatalogs(opts.Catalogs)
	for _, name := range slices.Sorted(maps.Keys(opts.Priorities)) {
		if err := q.change(name, func(c *resolve.Catalog) { c.Priority = opts.Priorities[name] }); err != nil {
			return q, err
		}
	}
	for _, name := range opts.Down {
		if err := q.change(name, q.disconnect); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q *Question) assume(format string, args ...any) {
	q.Assumed = append(q.Assumed, fmt.Sprintf(format, args...))
}

// AssumeV1 adds what is assumed of the ClusterCatalogs.
func (q *Question) AssumeV1() {
	for _, c := range q.clusterCatalogs {
		if c.Failure != nil && q.ClusterExtensions.Len() > 0 {
			q.assume("ClusterCatalog %q is not being served: %s", c.Name, missing(c))
		}
	}
}

// missing says why the cluster cannot read a catalog.
func missing(c *resolve.Catalog) string {
	if c.Index != nil {
		return "it is assumed to be down"
	}
	return "its contents are not given"
}

// V1 yields what OLM v1 is asked about each ClusterExtension, by name, and what it answers.
func (q *Question) V1() iter.Seq2[*resolve.Extension, *resolve.V1] {
	q.AssumeV1()
	return func(yield func(*resolve.Extension, *resolve.V1) bool) {
		for o := range q.ClusterExtensions.All() {
			if !yield(q.Extension(o)) {
				return
			}
		}
	}
}

// Extension returns what OLM v1 is asked about a ClusterExtension, and what it answers.
func (q *Question) Extension(o Object[*Extension]) (*resolve.Extension, *resolve.V1) {
	e := o.Value.Question()
	e.Pos, e.SingleOwnNamespace = o.Pos, q.singleOwnNamespace
	if answer := o.Value.rollingOut(e); answer != nil {
		return e, answer
	}
	return e, e.V1(q.clusterCatalogs)
}

// rollingOut returns the answer to e if a bundle is being rolled out, nil if not.
func (e *Extension) rollingOut(q *resolve.Extension) *resolve.V1 {
	isRollingOut := func(c metav1.Condition) bool { return c.Type == "Progressing" && c.Reason == "RollingOut" }
	if !slices.ContainsFunc(e.Status.Conditions, isRollingOut) {
		return nil
	}
	answer := &resolve.V1{Extension: q.Name, Outcome: Waiting, Message: "a bundle is being rolled out", Pos: q.Pos}
	for _, c := range e.Status.Conditions {
		answer.Conditions = append(answer.Conditions, resolve.Condition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message,
		})
	}
	return answer
}
