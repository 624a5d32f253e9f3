package diagnose

import (
	"sync"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// The kinds of the objects that findings are about.
const (
	kindSubscription  = v1alpha1.SubscriptionKind
	kindCSV           = v1alpha1.ClusterServiceVersionKind
	kindCatalogSource = v1alpha1.CatalogSourceKind
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

// Rules returns the causes that a Finding names. Their levels are fixed, and they have no examples.
var Rules = sync.OnceValue(func() *problem.Rules {
	return problem.NewRules("", nil, &problem.Group{Title: "Causes", Rules: causes})
})

// causes are all causes. Of equally severe ones, the first are the worst: they affect the most.
var causes = []*problem.Rule{
	ruleOLM, ruleAPIService, ruleCatalogSpec, ruleCatalogDown, ruleGroup, ruleGroupAccount, ruleOperatorFailed,
	ruleOperatorGroup, ruleAPIConflict, rulePlan, ruleRequirements, ruleUnpack, ruleCatalogMissing, ruleOrphan,
	ruleDuplicate, ruleResolution, ruleOperatorMissing, ruleClusterCatalog, ruleExtension, ruleNamespace,
	ruleNotUpgradeable, ruleOperatorWaits, ruleApproval, ruleUnresolved, ruleStale, rulePredicted, ruleHeldBack,
	ruleCatalogUpdate, rulePlatform, ruleCatalogDigest, ruleCatalogPoll,
}

var (
	ruleOLM = &problem.Rule{Name: "olm-down", Severity: problem.Error,
		Summary: "the Deployments of OLM are available",
		Reason: "A controller of OLM that does not run reconciles nothing: all objects of its kinds keep the " +
			"state they have."}
	ruleAPIService = &problem.Rule{Name: "apiservice-unavailable", Severity: problem.Error,
		Summary: "the server of every APIService answers",
		Reason:  "Namespaces cannot be deleted and many clients fail while the API server cannot list all its APIs."}
	ruleCatalogSpec = &problem.Rule{Name: "catalog-invalid", Severity: problem.Error,
		Summary: "OLM accepts the spec of a CatalogSource",
		Reason:  "OLM runs no pod for it, and resolves nothing in the namespaces that see it."}
	ruleCatalogDown = &problem.Rule{Name: "catalog-down", Severity: problem.Error,
		Summary: "OLM is connected to every CatalogSource",
		Reason: "OLM Classic resolves nothing in a namespace as long as one of the CatalogSources that it " +
			"sees cannot be read."}
	ruleGroup = &problem.Rule{Name: "operatorgroup-count", Severity: problem.Error,
		Summary: "a namespace with operators has one OperatorGroup",
		Reason:  "OLM installs nothing in a namespace with no OperatorGroup or with several."}
	ruleGroupAccount = &problem.Rule{Name: "operatorgroup-account", Severity: problem.Error,
		Summary: "the ServiceAccount of an OperatorGroup exists",
		Reason:  "InstallPlans of the namespace fail, because OLM creates their objects as this ServiceAccount."}
	ruleOperatorFailed = &problem.Rule{Name: "operator-failed", Severity: problem.Error,
		Summary: "the Deployments of an operator are available",
		Reason: "Nobody reconciles its custom resources, and OLM starts no update of a failed operator unless the " +
			"OperatorGroup allows it."}
	ruleOperatorGroup = &problem.Rule{Name: "operatorgroup-unsupported", Severity: problem.Error,
		Summary: "an operator supports the target namespaces of its OperatorGroup",
		Reason:  "OLM refuses to run an operator for namespaces that its installModes exclude."}
	ruleAPIConflict = &problem.Rule{Name: "api-conflict", Severity: problem.Error,
		Summary: "one operator provides an API in a namespace",
		Reason:  "OLM refuses to run a second operator for an API where another one provides it."}
	rulePlan = &problem.Rule{Name: "installplan-failed", Severity: problem.Error,
		Summary: "InstallPlans succeed",
		Reason: "The namespace is not resolved again: nothing in it is installed or updated until the InstallPlan " +
			"is gone."}
	ruleRequirements = &problem.Rule{Name: "operator-requirements", Severity: problem.Error,
		Summary: "the requirements of an operator are met",
		Reason:  "OLM does not start an operator before the definitions, APIs and permissions that it requires exist."}
	ruleUnpack = &problem.Rule{Name: "bundle-unpack", Severity: problem.Error,
		Summary: "the images of bundles can be unpacked",
		Reason:  "OLM installs the bundles of a namespace together: one that cannot be unpacked stops all of them."}
	ruleCatalogMissing = &problem.Rule{Name: "catalog-missing", Severity: problem.Error,
		Summary: "the CatalogSource of a Subscription exists, in its namespace or the global one",
		Reason:  "OLM looks only at the CatalogSources of the namespace itself and of the global one."}
	ruleOrphan = &problem.Rule{Name: "operator-without-subscription", Severity: problem.Error,
		Summary: "an installed operator that keeps others from being installed has a Subscription",
		Reason:  "OLM resolves nothing for a package whose installed operator no Subscription refers to."}
	ruleDuplicate = &problem.Rule{Name: "subscription-duplicate", Severity: problem.Error,
		Summary: "a namespace has one Subscription for a package",
		Reason:  "OLM cannot tell which of the Subscriptions an operator belongs to, and resolves neither."}
	ruleResolution = &problem.Rule{Name: "resolution-failed", Severity: problem.Error,
		Summary: "OLM finds bundles for all Subscriptions of a namespace",
		Reason:  "One Subscription that cannot be resolved stops all installations and updates of its namespace."}
	ruleOperatorMissing = &problem.Rule{Name: "operator-missing", Severity: problem.Error,
		Summary: "the installed ClusterServiceVersion of a Subscription exists",
		Reason:  "OLM takes the operator for installed, and does not install it again."}
	ruleClusterCatalog = &problem.Rule{Name: "clustercatalog-not-serving", Severity: problem.Error,
		Summary: "ClusterCatalogs are served",
		Reason:  "OLM v1 resolves nothing while a ClusterCatalog that it selects is not served."}
	ruleExtension = &problem.Rule{Name: "extension-failed", Severity: problem.Error,
		Summary: "OLM v1 installs the bundle of every ClusterExtension",
		Reason:  "The ClusterExtension keeps the installed bundle, if there is one."}
	ruleNamespace = &problem.Rule{Name: "namespace-terminating", Severity: problem.Warning,
		Summary: "a deleted namespace disappears",
		Reason:  "Its name cannot be used again, and what is installed in it stays half deleted."}
	ruleNotUpgradeable = &problem.Rule{Name: "operator-not-upgradeable", Severity: problem.Warning,
		Summary: "the OperatorCondition of an operator allows its update",
		Reason: "The operator asks OLM to wait: the InstallPlan of its update is executed, but the new version " +
			"does not start."}
	ruleOperatorWaits = &problem.Rule{Name: "operator-waits", Severity: problem.Warning,
		Summary: "ClusterServiceVersions reach the phase Succeeded",
		Reason:  "Updates of the operator wait until it is ready."}
	ruleApproval = &problem.Rule{Name: "approval-pending", Severity: problem.Warning,
		Summary: "InstallPlans are approved",
		Reason: "With installPlanApproval Manual, an administrator approves each InstallPlan. All of the namespace " +
			"waits for it."}
	ruleUnresolved = &problem.Rule{Name: "subscription-unresolved", Severity: problem.Warning,
		Summary: "OLM has chosen a bundle for every Subscription",
		Reason:  "OLM has not looked at it yet, or cannot."}
	ruleStale = &problem.Rule{Name: "resolution-outdated", Severity: problem.Warning,
		Summary: "the last error of OLM is about objects that exist",
		Reason:  "The condition is about an earlier state, and OLM has not resolved the namespace since."}
	rulePredicted = &problem.Rule{Name: "predicted", Severity: problem.Warning,
		Summary: "OLM can finish what it does next",
		Reason:  "The contents of the catalogs show that the next action of OLM will not succeed."}
	ruleHeldBack = &problem.Rule{Name: "update-held-back", Severity: problem.Warning,
		Summary: "OLM installs the newest bundle of the channel",
		Reason:  "The Subscription stays at an older bundle although the catalog has a newer one."}
	ruleCatalogUpdate = &problem.Rule{Name: "catalog-update", Severity: problem.Warning,
		Summary: "the pod with the new image of a catalog starts",
		Reason:  "OLM keeps the old image, so that new versions of operators are not seen."}
	rulePlatform = &problem.Rule{Name: "openshift-blocked", Severity: problem.Warning,
		Summary: "the installed operators allow an update of OpenShift",
		Reason:  "The cluster-version operator does not update OpenShift to the next minor version."}
	ruleCatalogDigest = &problem.Rule{Name: "catalog-digest", Severity: problem.Info,
		Summary: "a polled image of a catalog has a tag",
		Reason:  "The image of a digest never changes: polling it costs requests and finds nothing."}
	ruleCatalogPoll = &problem.Rule{Name: "catalog-interval", Severity: problem.Info,
		Summary: "the polling interval of a catalog is valid",
		Reason:  "OLM polls with its default interval instead."}
)
