package cluster

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// globalNamespaces are those of the global catalogs in OpenShift and elsewhere, as they are installed.
var globalNamespaces = []string{"openshift-marketplace", "olm"}

// findGlobal sets the namespace of the global catalogs. It is an argument of a program in the cluster, so that only the
// catalogs can hint at it.
func (q *Question) findGlobal(given []*resolve.Catalog) {
	for _, name := range globalNamespaces {
		q.global = name
		isGiven := func(c *resolve.Catalog) bool { return c.Namespace == name }
		_, isRead := slices.BinarySearch(q.CatalogSources.Namespaces(), name)
		if isRead || slices.ContainsFunc(given, isGiven) {
			q.globalFound = true
			return
		}
	}
}

// addCatalogs sets the catalogs of the question, those of the State first.
func (q *Question) addCatalogs(given []*resolve.Catalog) {
	used := map[*resolve.Catalog]bool{}
	// contents returns the catalog of a name with what is given for it. Without that, the cluster cannot read it.
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
		unread(c)
		return c
	}
	for o := range q.CatalogSources.All() {
		c := contents(o.Value.Namespace, o.Value.Name)
		c.Priority = o.Value.Spec.Priority
		q.catalogSources = append(q.catalogSources, c)
	}
	for o := range q.ClusterCatalogs.All() {
		c := contents("", o.Value.Name)
		c.Priority, c.Labels = int(o.Value.Spec.Priority), o.Value.Labels
		c.Unavailable = o.Value.Spec.AvailabilityMode == unavailable
		q.clusterCatalogs = append(q.clusterCatalogs, c)
	}
	for _, g := range given {
		if !used[g] {
			q.addCatalog(g)
		}
	}
	q.named = make(map[types.NamespacedName]*resolve.Catalog, len(q.catalogSources))
	for _, c := range slices.Backward(q.catalogSources) { // the first of a name counts
		q.named[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = c
	}
}

// typo returns a hint with the catalog of the State that has nearly a name, "" for none.
func (q *Question) typo(name string) string {
	var names []string
	for _, c := range slices.Concat(q.catalogSources, q.clusterCatalogs) {
		names = append(names, c.Name)
	}
	if near := nearest.Within(min(2, len(name)/4), name, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// addCatalog adds a catalog that the State does not have.
func (q *Question) addCatalog(c *resolve.Catalog) {
	hint := q.typo(c.Name)
	if c.Namespace != "" {
		q.assume("the cluster also has CatalogSource %s/%s, of priority 0%s", c.Namespace, c.Name, hint)
		q.catalogSources = append(q.catalogSources, c.As(c.Namespace, c.Name))
		return
	}
	q.assume("the cluster also has ClusterCatalog %s and CatalogSource %s/%[1]s, of priority 0%[3]s",
		c.Name, q.global, hint)
	q.clusterCatalogs = append(q.clusterCatalogs, c.As("", c.Name))
	q.catalogSources = append(q.catalogSources, c.As(q.global, c.Name))
}

// A NoCatalogError is about a name that no catalog has.
type NoCatalogError struct {
	Name string
	Hint string // what else may be meant, or ""
}

func (e *NoCatalogError) Error() string { return fmt.Sprintf("no catalog %q%s", e.Name, e.Hint) }

// change changes the catalogs of a name.
func (q *Question) change(name string, to func(*resolve.Catalog)) error {
	var names []string
	found := false
	for _, c := range slices.Concat(q.catalogSources, q.clusterCatalogs) {
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

// unread makes a catalog one that the cluster cannot read.
func unread(c *resolve.Catalog) {
	c.Failure = fmt.Errorf("no registry client established for catalogsource %s/%s", c.Namespace, c.Name)
	if c.Namespace == "" {
		c.Failure = fmt.Errorf("catalog %q is not being served", c.Name)
	}
}

// disconnect makes a catalog one whose server does not answer. OLM has a client for it if it does not run the server.
func (q *Question) disconnect(c *resolve.Catalog) {
	unread(c)
	o, ok := q.CatalogSources.Get(c.Namespace, c.Name)
	if ok && o.Value.Spec.Image == "" && o.Value.Spec.Address != "" {
		c.Failure = fmt.Errorf("failed to list bundles: rpc error: code = Unavailable desc = connection error: desc = "+
			`"transport: Error while dialing: dial tcp %s: connect: connection refused"`, o.Value.Spec.Address)
	}
}

// target returns the CatalogSource of a name, nil if there is none.
func (q *Question) target(namespace, name string) *resolve.Catalog {
	return q.named[types.NamespacedName{Namespace: namespace, Name: name}]
}

// Reads reports whether the cluster can read a CatalogSource.
func (q *Question) Reads(namespace, name string) bool {
	c := q.target(namespace, name)
	return c != nil && c.Failure == nil
}

// Disconnect makes a CatalogSource one that the cluster cannot read.
func (q *Question) Disconnect(namespace, name string) {
	if c := q.target(namespace, name); c != nil {
		unread(c)
	}
}
