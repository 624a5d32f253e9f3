package kube

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind is a kind of objects to list.
type kind struct {
	group    string
	versions []string // the first one that the cluster serves is read
	resource string
	kind     string
	scope    scope
	selector string   // labels
	partial  bool     // only the metadata
	of       []string // the commands that need it
	contents []string // the commands that need it only to read the contents of catalogs
}

// A scope says in which namespaces a kind is listed.
type scope int

const (
	clustered    scope = iota // the objects have no namespace
	everywhere                // in all namespaces, or those of the options
	cataloged                 // as everywhere, and in the namespaces of the catalogs of Subscriptions
	operated                  // in the namespaces of operators, CatalogSources and Subscriptions
	installed                 // in the namespaces of operators and Subscriptions
	fromContents              // in the namespaces of CatalogSources that serve ConfigMaps
)

func (k kind) groupKind() schema.GroupKind { return schema.GroupKind{Group: k.group, Kind: k.kind} }

// groupResource returns RESOURCE.GROUP.
func (k kind) groupResource() string {
	return schema.GroupResource{Group: k.group, Resource: k.resource}.String()
}

// The commands.
const (
	resolve      = "resolve"
	simulate     = "simulate"
	permissions  = "permissions"
	checkUpdates = "check-updates"
	plan         = "plan"
	serve        = "serve"
	diagnose     = "diagnose"
)

// Sets of commands.
var (
	resolution = []string{resolve, simulate, diagnose}
	simulation = []string{simulate, diagnose}
)

// The groups of kinds.
const (
	classic   = "operators.coreos.com"
	olmV1     = "olm.operatorframework.io"
	rbac      = "rbac.authorization.k8s.io"
	admission = "admissionregistration.k8s.io"
	config    = "config.openshift.io"
)

// labelCopied is the label of copies of ClusterServiceVersions.
const labelCopied = "olm.copiedFrom"

var (
	v1 = []string{"v1"}
	// v1alpha1 is the version of most kinds of OLM Classic.
	v1alpha1 = []string{"v1alpha1"}
)

// kinds are the kinds to read for each command, in the order of reading: a kind whose scope depends on objects comes
// after the kinds of these objects. [ReaderRules] uses the table, too. Custom resources are not in it; see
// noteDefinition.
var kinds = []kind{
	{group: "", versions: v1, resource: "namespaces", kind: "Namespace", of: resolution},
	{
		group: classic, versions: v1alpha1, resource: "subscriptions", kind: "Subscription", scope: everywhere,
		of: append([]string{plan, permissions}, resolution...),
	},
	{
		group: classic, versions: v1alpha1, resource: "catalogsources", kind: "CatalogSource", scope: cataloged,
		of: append([]string{serve}, resolution...),
	},
	{
		group: classic, versions: v1alpha1, resource: "clusterserviceversions", kind: "ClusterServiceVersion",
		scope: everywhere, selector: "!" + labelCopied,
		of: append([]string{plan, permissions, checkUpdates}, resolution...),
	},
	{
		group: classic, versions: v1alpha1, resource: "clusterserviceversions", kind: "ClusterServiceVersion",
		scope: everywhere, selector: labelCopied, partial: true, of: resolution,
	},
	{group: classic, versions: v1alpha1, resource: "installplans", kind: "InstallPlan", scope: everywhere, of: resolution},
	{group: classic, versions: v1, resource: "operatorgroups", kind: "OperatorGroup", scope: everywhere, of: resolution},
	{
		group: classic, versions: []string{"v2", "v1"}, resource: "operatorconditions", kind: "OperatorCondition",
		scope: everywhere, of: resolution,
	},
	{group: classic, versions: v1, resource: "olmconfigs", kind: "OLMConfig", of: resolution},
	{group: classic, versions: v1, resource: "operators", kind: "Operator", of: simulation},
	{group: olmV1, versions: v1, resource: "clustercatalogs", kind: "ClusterCatalog", of: resolution},
	{
		group: olmV1, versions: v1, resource: "clusterextensions", kind: "ClusterExtension",
		of: append([]string{plan, permissions, checkUpdates}, resolution...),
	},
	{
		group: "apiextensions.k8s.io", versions: v1, resource: "customresourcedefinitions",
		kind: "CustomResourceDefinition", of: append([]string{checkUpdates}, simulation...),
	},
	{group: "apiregistration.k8s.io", versions: v1, resource: "apiservices", kind: "APIService", of: simulation},
	{group: "", versions: v1, resource: "serviceaccounts", kind: "ServiceAccount", scope: everywhere, of: simulation},
	{group: "apps", versions: v1, resource: "deployments", kind: "Deployment", scope: everywhere, of: simulation},
	{group: rbac, versions: v1, resource: "roles", kind: "Role", scope: everywhere, of: simulation},
	{group: rbac, versions: v1, resource: "rolebindings", kind: "RoleBinding", scope: everywhere, of: simulation},
	{group: rbac, versions: v1, resource: "clusterroles", kind: "ClusterRole", of: simulation},
	{group: rbac, versions: v1, resource: "clusterrolebindings", kind: "ClusterRoleBinding", of: simulation},
	{
		group: admission, versions: v1, resource: "mutatingwebhookconfigurations", kind: "MutatingWebhookConfiguration",
		of: simulation,
	},
	{
		group: admission, versions: v1, resource: "validatingwebhookconfigurations",
		kind: "ValidatingWebhookConfiguration", of: simulation,
	},
	{group: "scheduling.k8s.io", versions: v1, resource: "priorityclasses", kind: "PriorityClass", of: simulation},
	{group: config, versions: v1, resource: "clusterversions", kind: "ClusterVersion", of: simulation},
	{group: config, versions: v1, resource: "proxies", kind: "Proxy", of: simulation},
	{group: "", versions: v1, resource: "services", kind: "Service", scope: operated, of: simulation},
	{group: "", versions: v1, resource: "secrets", kind: "Secret", scope: operated, partial: true, of: simulation},
	{
		group: "", versions: v1, resource: "pods", kind: "Pod", scope: cataloged, selector: "olm.catalogSource",
		of: []string{simulate},
	},
	{group: "", versions: v1, resource: "pods", kind: "Pod", scope: operated, of: []string{diagnose}},
	{
		group: "", versions: v1, resource: "pods", kind: "Pod", scope: cataloged, selector: "olm.catalogSource",
		contents: []string{resolve},
	},
	{
		group: config, versions: v1, resource: "imagedigestmirrorsets", kind: "ImageDigestMirrorSet", contents: resolution,
	},
	{group: config, versions: v1, resource: "imagetagmirrorsets", kind: "ImageTagMirrorSet", contents: resolution},
	{
		group: "operator.openshift.io", versions: []string{"v1alpha1"}, resource: "imagecontentsourcepolicies",
		kind: "ImageContentSourcePolicy", contents: resolution,
	},
	{
		group: "", versions: v1, resource: "configmaps", kind: "ConfigMap", scope: fromContents, partial: true,
		of: []string{resolve, simulate},
	},
	{ // those of bundles, whose data may be immutable
		group: "", versions: v1, resource: "configmaps", kind: "ConfigMap", scope: installed, of: []string{simulate},
	},
	{
		group: "", versions: v1, resource: "configmaps", kind: "ConfigMap", scope: operated, partial: true,
		of: []string{diagnose},
	},
	{
		group: "policy", versions: v1, resource: "poddisruptionbudgets", kind: "PodDisruptionBudget", scope: installed,
		of: []string{simulate},
	},
	{group: "batch", versions: v1, resource: "jobs", kind: "Job", scope: operated, of: []string{diagnose}},
	{group: "", versions: v1, resource: "events", kind: "Event", scope: operated, of: []string{diagnose}},
}

// readsCustomResources are the commands that need the custom resources of operators.
var readsCustomResources = []string{checkUpdates, simulate}
