package platform

import (
	"slices"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// releases are the known releases of OpenShift, in order. Earlier releases read the same metadata as the first one,
// later releases the same as the last one.
//
// Sources: the release notes of OpenShift Container Platform (versions of Kubernetes, availability of OLM v1) and its
// documentation of catalogs (form of metadata). Kubernetes 1.35 of OpenShift 4.22 is an assumption: so far, each
// release of OpenShift had the next minor version of Kubernetes.
var releases = []Platform{
	{Version{4, 12}, Version{1, 25}, declcfg.PropertyBundleObject, OLMv1Absent},
	{Version{4, 13}, Version{1, 26}, declcfg.PropertyBundleObject, OLMv1Absent},
	{Version{4, 14}, Version{1, 27}, declcfg.PropertyBundleObject, OLMv1Preview},
	{Version{4, 15}, Version{1, 28}, declcfg.PropertyBundleObject, OLMv1Preview},
	{Version{4, 16}, Version{1, 29}, declcfg.PropertyBundleObject, OLMv1Preview},
	{Version{4, 17}, Version{1, 30}, declcfg.PropertyCSVMetadata, OLMv1Preview},
	{Version{4, 18}, Version{1, 31}, declcfg.PropertyCSVMetadata, OLMv1Available},
	{Version{4, 19}, Version{1, 32}, declcfg.PropertyCSVMetadata, OLMv1Available},
	{Version{4, 20}, Version{1, 33}, declcfg.PropertyCSVMetadata, OLMv1Available},
	{Version{4, 21}, Version{1, 34}, declcfg.PropertyCSVMetadata, OLMv1Available},
	{Version{4, 22}, Version{1, 35}, declcfg.PropertyCSVMetadata, OLMv1Available},
}

// webhooksV1 is the first release of OpenShift whose OLM v1 installs bundles with webhooks. In 4.20 it is a technology
// preview.
//
// Source: the documentation of OpenShift 4.20 and 4.21, Extensions, supported extensions.
var webhooksV1 = Version{4, 21}

// A reader says which OLM reads a property or a schema.
type reader struct {
	first     Version // the first release of OpenShift whose OLM reads it; zero for all
	openShift bool    // OLM reads it on OpenShift only
	classic   bool    // OLM v1 does not read it
	gate      string  // feature gate of OLM v1 without which no OLM reads it, off by default
}

// readers has the types of properties, the schemas and the other parts of bundles that not every OLM reads.
//
// Sources: the release notes of OpenShift 4.9 (olm.maxOpenShiftVersion),
// https://github.com/grokspawn/deprecated-catalog-content (olm.deprecations), and the code of OLM Classic and OLM v1 of
// August 2026 (the others).
var readers = map[string]reader{
	declcfg.PropertyMaxOpenShiftVersion: {first: Version{4, 9}, openShift: true},
	declcfg.SchemaDeprecations:          {first: Version{4, 15}},
	declcfg.PropertyDeprecated:          {classic: true},
	"olm.label.required":                {classic: true},
	BundleRelease:                       {gate: "BundleReleaseSupport"},
}

// An api is an API version with the kinds of it that were removed.
type api struct {
	version string
	kinds   []string
}

// workloads are the kinds that moved to apps/v1.
var workloads = []string{"DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"}

// removals are the APIs that versions of Kubernetes removed. They have kinds, because an API version may return later
// with other kinds.
//
// Source: https://kubernetes.io/docs/reference/using-api/deprecation-guide/
var removals = []struct {
	kubernetes Version
	apis       []api
}{
	{Version{1, 16}, []api{
		{"apps/v1beta1", workloads},
		{"apps/v1beta2", workloads},
		{"extensions/v1beta1", slices.Concat(workloads, []string{"NetworkPolicy", "PodSecurityPolicy"})},
	}},
	{Version{1, 22}, []api{
		{"admissionregistration.k8s.io/v1beta1", []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}},
		{"apiextensions.k8s.io/v1beta1", []string{"CustomResourceDefinition"}},
		{"apiregistration.k8s.io/v1beta1", []string{"APIService"}},
		{"certificates.k8s.io/v1beta1", []string{"CertificateSigningRequest"}},
		{"coordination.k8s.io/v1beta1", []string{"Lease"}},
		{"extensions/v1beta1", []string{"Ingress"}},
		{"networking.k8s.io/v1beta1", []string{"Ingress", "IngressClass"}},
		{"rbac.authorization.k8s.io/v1alpha1", []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}},
		{"rbac.authorization.k8s.io/v1beta1", []string{"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}},
		{"scheduling.k8s.io/v1beta1", []string{"PriorityClass"}},
		{"storage.k8s.io/v1beta1", []string{"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"}},
	}},
	{Version{1, 25}, []api{
		{"autoscaling/v2beta1", []string{"HorizontalPodAutoscaler"}},
		{"batch/v1beta1", []string{"CronJob"}},
		{"discovery.k8s.io/v1beta1", []string{"EndpointSlice"}},
		{"events.k8s.io/v1beta1", []string{"Event"}},
		{"node.k8s.io/v1beta1", []string{"RuntimeClass"}},
		{"policy/v1beta1", []string{"PodDisruptionBudget", "PodSecurityPolicy"}},
	}},
	{Version{1, 26}, []api{
		{"autoscaling/v2beta2", []string{"HorizontalPodAutoscaler"}},
		{"flowcontrol.apiserver.k8s.io/v1beta1", []string{"FlowSchema", "PriorityLevelConfiguration"}},
	}},
	{Version{1, 27}, []api{
		{"storage.k8s.io/v1beta1", []string{"CSIStorageCapacity"}},
	}},
	{Version{1, 29}, []api{
		{"flowcontrol.apiserver.k8s.io/v1beta2", []string{"FlowSchema", "PriorityLevelConfiguration"}},
	}},
	{Version{1, 32}, []api{
		{"flowcontrol.apiserver.k8s.io/v1beta3", []string{"FlowSchema", "PriorityLevelConfiguration"}},
	}},
}
