package diagnose

import (
	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// The kinds of the objects that findings are about.
const (
	kindSubscription  = v1alpha1.SubscriptionKind
	kindCSV           = v1alpha1.ClusterServiceVersionKind
	kindCatalogSource = v1alpha1.CatalogSourceKind
	kindPlan          = v1alpha1.InstallPlanKind
	kindExtension     = "ClusterExtension"
	kindCatalog       = "ClusterCatalog"
	kindNamespace     = "Namespace"
	kindDeployment    = "Deployment"
	kindPod           = "Pod"
	kindJob           = "Job"
	kindEvent         = "Event"
	kindReplicaSet    = "ReplicaSet"
	kindService       = "Service"
)

// Rules are the causes that a Finding names. Of equally severe ones, the first are the worst: they affect the most.
var Rules = []*problem.Rule{
	ruleOLM, ruleAPIService, ruleCatalogSpec, ruleCatalogDown, ruleGroup, ruleGroupAccount, ruleOperatorFailed,
	ruleOperatorGroup, ruleAPIConflict, rulePlan, ruleRequirements, ruleUnpack, ruleCatalogMissing, ruleOrphan,
	ruleDuplicate, ruleResolution, ruleOperatorMissing, ruleClusterCatalog, ruleExtension, ruleNamespace,
	ruleNotUpgradeable, ruleOperatorWaits, ruleApproval, ruleUnresolved, ruleStale, rulePredicted, ruleHeldBack,
	ruleCatalogUpdate, rulePlatform, ruleCatalogDigest, ruleCatalogPoll,
}

var (
	ruleOLM = &problem.Rule{Name: "olm-down", Severity: problem.Error,
		Summary: "the Deployments of OLM are available"}
	ruleAPIService = &problem.Rule{Name: "apiservice-unavailable", Severity: problem.Error,
		Summary: "the server of every APIService answers"}
	ruleCatalogSpec = &problem.Rule{Name: "catalog-invalid", Severity: problem.Error,
		Summary: "OLM accepts the spec of a CatalogSource"}
	ruleCatalogDown = &problem.Rule{Name: "catalog-down", Severity: problem.Error,
		Summary: "OLM is connected to every CatalogSource"}
	ruleGroup = &problem.Rule{Name: "operatorgroup-count", Severity: problem.Error,
		Summary: "a namespace with operators has one OperatorGroup"}
	ruleGroupAccount = &problem.Rule{Name: "operatorgroup-account", Severity: problem.Error,
		Summary: "the ServiceAccount of an OperatorGroup exists"}
	ruleOperatorFailed = &problem.Rule{Name: "operator-failed", Severity: problem.Error,
		Summary: "the Deployments of an operator are available"}
	ruleOperatorGroup = &problem.Rule{Name: "operatorgroup-unsupported", Severity: problem.Error,
		Summary: "an operator supports the target namespaces of its OperatorGroup"}
	ruleAPIConflict = &problem.Rule{Name: "api-conflict", Severity: problem.Error,
		Summary: "one operator provides an API in a namespace"}
	rulePlan = &problem.Rule{Name: "installplan-failed", Severity: problem.Error,
		Summary: "InstallPlans succeed"}
	ruleRequirements = &problem.Rule{Name: "operator-requirements", Severity: problem.Error,
		Summary: "the requirements of an operator are met"}
	ruleUnpack = &problem.Rule{Name: "bundle-unpack", Severity: problem.Error,
		Summary: "the images of bundles can be unpacked"}
	ruleCatalogMissing = &problem.Rule{Name: "catalog-missing", Severity: problem.Error,
		Summary: "the CatalogSource of a Subscription exists, in its namespace or the global one"}
	ruleOrphan = &problem.Rule{Name: "operator-without-subscription", Severity: problem.Error,
		Summary: "an installed operator that keeps others from being installed has a Subscription"}
	ruleDuplicate = &problem.Rule{Name: "subscription-duplicate", Severity: problem.Error,
		Summary: "a namespace has one Subscription for a package"}
	ruleResolution = &problem.Rule{Name: "resolution-failed", Severity: problem.Error,
		Summary: "OLM finds bundles for all Subscriptions of a namespace"}
	ruleOperatorMissing = &problem.Rule{Name: "operator-missing", Severity: problem.Error,
		Summary: "the installed ClusterServiceVersion of a Subscription exists"}
	ruleClusterCatalog = &problem.Rule{Name: "clustercatalog-not-serving", Severity: problem.Error,
		Summary: "ClusterCatalogs are served"}
	ruleExtension = &problem.Rule{Name: "extension-failed", Severity: problem.Error,
		Summary: "OLM v1 installs the bundle of every ClusterExtension"}
	ruleNamespace = &problem.Rule{Name: "namespace-terminating", Severity: problem.Warning,
		Summary: "deleted namespaces go away"}
	ruleNotUpgradeable = &problem.Rule{Name: "operator-not-upgradeable", Severity: problem.Warning,
		Summary: "the OperatorCondition of an operator allows its update"}
	ruleOperatorWaits = &problem.Rule{Name: "operator-waits", Severity: problem.Warning,
		Summary: "ClusterServiceVersions reach the phase Succeeded"}
	ruleApproval = &problem.Rule{Name: "approval-pending", Severity: problem.Warning,
		Summary: "InstallPlans are approved"}
	ruleUnresolved = &problem.Rule{Name: "subscription-unresolved", Severity: problem.Warning,
		Summary: "OLM has chosen a bundle for every Subscription"}
	ruleStale = &problem.Rule{Name: "resolution-outdated", Severity: problem.Warning,
		Summary: "the last error of OLM is about objects that exist"}
	rulePredicted = &problem.Rule{Name: "predicted", Severity: problem.Warning,
		Summary: "OLM can finish what it does next"}
	ruleHeldBack = &problem.Rule{Name: "update-held-back", Severity: problem.Warning,
		Summary: "OLM installs the newest bundle of the channel"}
	ruleCatalogUpdate = &problem.Rule{Name: "catalog-update", Severity: problem.Warning,
		Summary: "the pod with the new image of a catalog starts"}
	rulePlatform = &problem.Rule{Name: "platform-blocked", Severity: problem.Warning,
		Summary: "the installed operators allow an update of OpenShift"}
	ruleCatalogDigest = &problem.Rule{Name: "catalog-digest", Severity: problem.Info,
		Summary: "a polled image of a catalog has a tag"}
	ruleCatalogPoll = &problem.Rule{Name: "catalog-interval", Severity: problem.Info,
		Summary: "the polling interval of a catalog is valid"}
)
