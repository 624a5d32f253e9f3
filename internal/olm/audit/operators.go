// Package audit lists the permissions of the operators of a cluster or a catalog, and the operators that a new
// OperatorGroup would break.
//
//	operators := audit.OfState(state)
//	check, err := audit.CheckGroup(ctx, state, added)
package audit

import (
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// An Operator is an operator with its permissions and the roles that may use its APIs.
type Operator struct {
	Catalog   string   `json:"catalog,omitempty"` // "" for an operator of a cluster
	Package   string   `json:"package,omitempty"`
	Namespace string   `json:"namespace,omitempty"` // in which it is installed; "" for an operator of a catalog
	Name      string   `json:"name"`                // of its ClusterServiceVersion
	Watches   []string `json:"watches,omitempty"`   // namespaces, if it is installed; "" is all of them
	Grants    []Grant  `json:"grants"`              // by service account
	APIs      []Access `json:"apis"`

	// AllNamespaces is true if the operator can watch all namespaces. The OperatorGroup then decides whether the
	// permissions apply to the namespaces of the group or to all.
	AllNamespaces bool `json:"allNamespaces"`

	// NotEvaluable is the reason why Grants are not known, "" if they are known.
	NotEvaluable string `json:"notEvaluable,omitempty"`
}

// A Grant is a set of permissions of a service account in a scope.
type Grant struct {
	ServiceAccount string              `json:"serviceAccount"`
	Scope          Scope               `json:"scope"`
	Rules          []rbacv1.PolicyRule `json:"rules"`
}

// A Scope is the scope of permissions.
type Scope string

// The scopes.
const (
	Namespaces Scope = "namespaces" // its own namespace and the namespaces that the operator watches
	Cluster    Scope = "cluster"    // all namespaces, and objects without a namespace
)

// An Access is an API and the default roles of Kubernetes that may use it.
type Access struct {
	Kind     string `json:"kind"`
	Version  string `json:"version"`
	Group    string `json:"group"`
	Resource string `json:"resource"`
	Opened   []Open `json:"opened"`
}

// An Open is a default role of Kubernetes and the verbs that it allows for the objects of an API in a namespace.
type Open struct {
	Role  string   `json:"role"` // admin, edit or view
	Verbs []string `json:"verbs"`
}

// Of returns the permissions of an operator. A ClusterServiceVersion of a cluster is annotated with the namespaces that
// the operator watches; for one of a catalog, these are the permissions that it would have.
func Of(csv *v1alpha1.ClusterServiceVersion) *Operator {
	var opened []Open
	for _, l := range rbac.Levels() {
		opened = append(opened, Open{l.Name, l.Verbs})
	}
	all := []Access{}
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		if plural, group, ok := strings.Cut(d.Name, "."); ok {
			all = append(all, Access{d.Kind, d.Version, group, plural, opened})
		}
	}
	for _, d := range csv.Spec.APIServiceDefinitions.Owned {
		all = append(all, Access{d.Kind, d.Version, d.Group, d.Name, opened})
	}
	o := &Operator{Namespace: csv.Namespace, Name: csv.Name, Grants: []Grant{}, APIs: all}
	o.AllNamespaces = slices.Contains(csv.Spec.InstallModes, v1alpha1.InstallMode{
		Type: v1alpha1.InstallModeTypeAllNamespaces, Supported: true,
	})
	if targets, ok := csv.Annotations[operatorsv1.OperatorGroupTargetsAnnotationKey]; ok {
		o.Watches = strings.Split(targets, ",")
	}
	accounts, err := rbac.ForOperator(csv)
	if err != nil {
		o.NotEvaluable = fmt.Sprintf("install strategy invalid: %v", err)
		return o
	}
	for _, a := range accounts {
		cluster := a.ClusterRoles
		if slices.Contains(o.Watches, corev1.NamespaceAll) {
			cluster = append(a.Lift().ClusterRoles, cluster...)
		} else {
			var rules []rbacv1.PolicyRule
			for _, r := range a.Roles {
				rules = append(rules, r.Rules...)
			}
			o.add(Grant{a.Name, Namespaces, rules})
		}
		var rules []rbacv1.PolicyRule
		for _, r := range cluster {
			rules = append(rules, r.Rules...)
		}
		o.add(Grant{a.Name, Cluster, rules})
	}
	return o
}

func (o *Operator) add(g Grant) {
	if len(g.Rules) > 0 {
		o.Grants = append(o.Grants, g)
	}
}

// OfState returns the permissions of the operators of a cluster, by namespace and name.
func OfState(state *cluster.State) []*Operator {
	var operators []*Operator
	for o := range state.ClusterServiceVersions.All() {
		if !o.Value.IsCopied() {
			operators = append(operators, Of(o.Value))
		}
	}
	return operators
}

// OfCatalog returns the permissions that the operators of a catalog would have, by package. It uses the head of the
// default channel, or all bundles of a package without an olm.package, such as a bundle that was rendered alone. The
// sources of the catalog must still be open.
func OfCatalog(c *resolve.Catalog) []*Operator {
	var operators []*Operator
	for _, p := range c.Index.Packages() {
		for _, b := range headOrAll(p) {
			if b.Value == nil {
				continue // it could not be read
			}
			o, _ := OfBundle(b.Meta)
			o.Catalog, o.Package, o.Name = c.Name, p.Name, b.Value.Name
			operators = append(operators, o)
		}
	}
	return operators
}

// OfBundle returns the permissions that the operator of a bundle would have, and the image of the bundle. They are not
// evaluable for a bundle with olm.csv.metadata in place of its manifests. The source of the bundle must still be open.
func OfBundle(bundle *declcfg.Meta) (o *Operator, image string) {
	m, err := install.ReadManifests(bundle)
	switch {
	case err != nil:
		return &Operator{Grants: []Grant{}, APIs: []Access{}, NotEvaluable: err.Error()}, ""
	case m.CSV == nil:
		return &Operator{Grants: []Grant{}, APIs: []Access{}, NotEvaluable: "the bundle has no ClusterServiceVersion"}, ""
	}
	m.CSV.Namespace, m.CSV.Annotations = "", nil // they are not from a cluster
	o = Of(m.CSV)
	if m.Partial {
		o.NotEvaluable = "the catalog lacks the manifests of the bundle, which contain the permissions"
	}
	return o, m.Image
}

// headOrAll returns the bundle at the head of the default channel, nil if there is none. Without an olm.package, it
// returns all bundles.
func headOrAll(p *declcfg.PackageIndex) []declcfg.Indexed[declcfg.BundleSummary] {
	if len(p.Packages) == 0 {
		return p.Bundles
	}
	for _, c := range p.Channels {
		if c.Value.Name != p.Packages[0].Value.DefaultChannel {
			continue
		}
		heads := graph.New(c.Value.Entries).Heads()
		for i, b := range p.Bundles {
			if len(heads) > 0 && b.Value != nil && b.Value.Name == heads[0] {
				return p.Bundles[i : i+1]
			}
		}
	}
	return nil
}

// ReportOf returns a report about operators.
func ReportOf(operators []*Operator) *report.Report {
	r := &report.Report{}
	for _, o := range operators {
		r.Heading(2, o.title())
		if o.NotEvaluable != "" {
			r.Item(1, "permissions are not evaluable offline:")
			r.Item(2, "%s", o.NotEvaluable)
		}
		for _, g := range o.Grants {
			r.Item(1, "service account %s, %s:", report.Name(g.ServiceAccount), o.scope(g.Scope))
			for _, rule := range g.Rules {
				r.Item(2, "%s", RuleText(rule))
			}
		}
		if len(o.APIs) == 0 {
			continue
		}
		var to []string
		for _, open := range o.APIs[0].Opened { // all APIs have the same
			to = append(to, open.Role+" ("+verbs(open.Verbs)+")")
		}
		r.Item(1, "opened to %s:", strings.Join(to, ", "))
		for _, a := range o.APIs {
			r.Item(2, "%s", report.Name(a.Kind+"."+a.Version+"."+a.Group))
		}
	}
	return r
}

func (o *Operator) title() string {
	switch {
	case o.Catalog != "":
		return report.Name(o.Name) + " of package " + report.Name(o.Package) + " in catalog " + report.Name(o.Catalog)
	case o.Namespace != "":
		return report.Name(o.Name) + " in namespace " + report.Name(o.Namespace)
	}
	return report.Name(o.Name)
}

func (o *Operator) scope(s Scope) string {
	switch {
	case s == Cluster:
		return "in the whole cluster"
	case o.Namespace != "":
		others := slices.DeleteFunc(slices.Clone(o.Watches), func(n string) bool { return n == o.Namespace })
		return "in " + report.List(append([]string{o.Namespace}, others...))
	case o.AllNamespaces:
		return "in the namespaces that it watches, which may be all"
	}
	return "in the namespaces that it watches"
}

func verbs(verbs []string) string {
	if slices.Contains(verbs, rbacv1.VerbAll) {
		return "everything"
	}
	return report.List(verbs)
}

// objects returns the resources or URLs of a rule: pods, deployments.apps named x, /metrics.
func objects(r rbacv1.PolicyRule) string {
	if len(r.NonResourceURLs) > 0 {
		return report.List(r.NonResourceURLs)
	}
	var resources []string
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			if group != "" {
				resource += "." + group
			}
			resources = append(resources, resource)
		}
	}
	text := report.List(resources)
	if len(r.ResourceNames) > 0 {
		text += " named " + report.List(r.ResourceNames)
	}
	return text
}

// RuleText returns a rule as text of a report, such as: get, list: pods, deployments.apps.
func RuleText(r rbacv1.PolicyRule) string { return verbs(r.Verbs) + ": " + objects(r) }
