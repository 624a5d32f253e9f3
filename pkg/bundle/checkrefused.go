package bundle

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/internal/place"
)

// checkOperator asks whether an API server creates the objects that OLM makes from the ClusterServiceVersion: the
// Deployments, their Services, the service accounts and the roles. Names that contain a hash are valid.
func (c *checker) checkOperator() {
	strategy, err := operator.Strategy(c.csv)
	if err != nil {
		return
	}
	const at = "/spec/install/spec"
	for i := range strategy.DeploymentSpecs {
		c.checkDeployment(place.Item(at+"/deployments", i), &strategy.DeploymentSpecs[i])
	}
	for i := range strategy.ClusterPermissions {
		c.checkPermissions(place.Item(at+"/clusterPermissions", i), &strategy.ClusterPermissions[i], clusterRoleErrors)
	}
	for i := range strategy.Permissions {
		c.checkPermissions(place.Item(at+"/permissions", i), &strategy.Permissions[i], roleErrors)
	}
}

// checkDeployment checks a Deployment with the certificate that OLM mounts, and the name of its Service.
func (c *checker) checkDeployment(ptr jsontext.Pointer, spec *v1alpha1.StrategyDeploymentSpec) {
	d := operator.Deployment(c.csv, spec)
	for _, e := range admission.Create(d) {
		if d.Spec.Selector == nil && e.Field == "spec.template.metadata.labels" {
			continue // a consequence of the missing selector
		}
		at := fieldPointer(e.Field)
		switch {
		case strings.HasPrefix(e.Field, "metadata.labels"):
			at = "/label"
		case strings.HasPrefix(e.Field, "metadata."):
			at = at[len("/metadata"):]
		}
		c.reportCSV(ruleRefused, ptr+at, "%s", fieldMessage(e))
	}
	ports := operator.ServicePorts(c.csv, spec.Name)
	if len(ports) == 0 || spec.Name == "" {
		return
	}
	v1 := serviceErrors(operator.ServiceNameV1(spec.Name), operator.ServicePortsV1(c.csv, spec.Name))
	for _, e := range serviceErrors(operator.ServiceName(spec.Name), ports) {
		if slices.ContainsFunc(v1, func(other *field.Error) bool { return other.Field == e.Field }) {
			c.reportCSV(ruleRefused, ptr+"/name", "its Service: %w", e)
		} else {
			c.reportCSV(ruleRefusedOLM, ptr+"/name", "OLM Classic cannot create its Service: %w", e)
		}
	}
}

// serviceErrors returns the errors about the name of a Service and the names of its ports, which are their numbers.
// Other errors about ports are reported at the webhook.
func serviceErrors(name string, ports []corev1.ServicePort) field.ErrorList {
	errs := admission.Create(operator.Service(name, ports))
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		return !strings.HasSuffix(e.Field, ".name")
	})
}

// checkPermissions checks the service account and the role of permissions. OLM v1 takes the default account if there is
// no name, and makes only a ClusterRole of permissions in all namespaces.
func (c *checker) checkPermissions(
	ptr jsontext.Pointer, p *v1alpha1.StrategyDeploymentPermissions, check func([]rbacv1.PolicyRule) field.ErrorList,
) {
	account := &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: rbacv1.ServiceAccountKind},
		ObjectMeta: metav1.ObjectMeta{Name: p.ServiceAccountName},
	}
	for _, e := range admission.Create(account) {
		if p.ServiceAccountName == "" {
			c.reportCSV(ruleRefusedOLM, ptr,
				"OLM Classic cannot create the service account: serviceAccountName: %s", fieldMessage(e))
		} else {
			c.reportCSV(ruleRefused, ptr+"/serviceAccountName", "%s", fieldMessage(e))
		}
	}
	all := v1alpha1.InstallMode{Type: v1alpha1.InstallModeTypeAllNamespaces, Supported: true}
	lifted := clusterRoleErrors(p.Rules)
	for _, e := range check(p.Rules) {
		inBoth := slices.ContainsFunc(lifted, func(other *field.Error) bool { return other.Error() == e.Error() })
		if inBoth || !slices.Contains(c.csv.Spec.InstallModes, all) {
			c.reportCSV(ruleRefused, ptr+fieldPointer(e.Field), "%s", fieldMessage(e))
		} else {
			c.reportCSV(ruleRefusedOLM, ptr+fieldPointer(e.Field),
				"OLM Classic cannot create the Role: %s", fieldMessage(e))
		}
	}
}

func roleErrors(rules []rbacv1.PolicyRule) field.ErrorList {
	role, _ := operator.Role(metav1.ObjectMeta{Name: "role"}, rules, nil)
	return admission.Create(role)
}

func clusterRoleErrors(rules []rbacv1.PolicyRule) field.ErrorList {
	role, _ := operator.ClusterRole(metav1.ObjectMeta{Name: "role"}, rules, nil)
	return admission.Create(role)
}
