package updatecheck

import (
	"embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the reasons why OLM Classic or OLM v1 refuses an update, and why an update cannot be checked. OLM v1
// compares CustomResourceDefinitions with crdify; its rules have the names of crdify's checks. It compares each version
// before and after the update, and after the update each served version with the later ones.
//
// The tests check that the bad example of a rule breaks only this rule, and the good one none. Examples are changes to
// the files in example.txtar: each line replaces the line with the same key. Lines that begin with apiVersion
// replace the whole file, and a file without lines is removed.
var Rules = sync.OnceValue(func() *problem.Rules {
	return problem.NewRules(example, ruleFiles, classicRules, v1Rules, serverRules, unknownRules)
})

//go:embed example.txtar
var example string

//go:embed rules/*.txtar
var ruleFiles embed.FS

var classicRules = &problem.Group{Title: "OLM Classic", Rules: []*problem.Rule{
	ruleClassicVersions, ruleClassicStoredVersion, ruleClassicResource,
}}

var (
	ruleClassicVersions = &problem.Rule{Name: "classic-versions", Severity: problem.Error,
		Summary: "an updated CustomResourceDefinition has a version",
		Reason:  "OLM Classic finds nothing to install."}
	ruleClassicStoredVersion = &problem.Rule{Name: "classic-stored-version", Severity: problem.Error,
		Summary: "an update keeps the stored versions of a CustomResourceDefinition",
		Reason: "Custom resources may be stored in that version, and would be lost. Without the objects of a cluster " +
			"(--state), the stored version is the one that the bundle to update from has."}
	ruleClassicResource = &problem.Rule{Name: "classic-resource", Severity: problem.Error,
		Summary: "the custom resources of a cluster are valid in the schemas of an update",
		Reason: "OLM Classic does not continue with the InstallPlan. A conversion webhook makes it a warning. OLM does not " +
			"evaluate CEL rules: Kubernetes does, when a custom resource is next written."}
)

// The rules about changes that crdify finds are looked up by the names of its checks.
var v1Rules = &problem.Group{Title: "OLM v1", Rules: []*problem.Rule{
	{Name: "v1-scope", Severity: problem.Error,
		Summary: "the scope of a CustomResourceDefinition does not change",
		Reason:  "Kubernetes refuses the change, and the names of custom resources would mean something else."},
	{Name: "v1-stored-version-removal", Severity: problem.Error,
		Summary: "an update keeps the stored versions of a CustomResourceDefinition",
		Reason: "Custom resources may be stored in that version. Without the objects of a cluster (--state), the stored " +
			"version is the one that the bundle to update from has."},
	ruleV1ExistingFieldRemoval,
	{Name: "v1-default", Severity: problem.Error,
		Summary: "defaults are neither added nor changed nor removed",
		Reason:  "Custom resources without the field get another value, without being changed by anyone."},
	{Name: "v1-enum", Severity: problem.Error,
		Summary: "values that an enum allows are not removed, and there is no new enum",
		Reason:  "Custom resources with another value are no longer valid."},
	{Name: "v1-maximum", Severity: problem.Error,
		Summary: "a maximum is neither introduced nor decreased",
		Reason:  "Custom resources with a larger number are no longer valid."},
	{Name: "v1-max-items", Severity: problem.Error,
		Summary: "maxItems is neither introduced nor decreased",
		Reason:  "Custom resources with a longer list are no longer valid."},
	{Name: "v1-max-length", Severity: problem.Error,
		Summary: "maxLength is neither introduced nor decreased",
		Reason:  "Custom resources with a longer value are no longer valid."},
	{Name: "v1-max-properties", Severity: problem.Error,
		Summary: "maxProperties is neither introduced nor decreased",
		Reason:  "Custom resources with a larger object are no longer valid."},
	{Name: "v1-minimum", Severity: problem.Error,
		Summary: "a minimum is neither introduced nor increased",
		Reason:  "Custom resources with a smaller number are no longer valid."},
	{Name: "v1-min-items", Severity: problem.Error,
		Summary: "minItems is neither introduced nor increased",
		Reason:  "Custom resources with a shorter list are no longer valid."},
	{Name: "v1-min-length", Severity: problem.Error,
		Summary: "minLength is neither introduced nor increased",
		Reason:  "Custom resources with a shorter value are no longer valid."},
	{Name: "v1-min-properties", Severity: problem.Error,
		Summary: "minProperties is neither introduced nor increased",
		Reason:  "Custom resources with a smaller object are no longer valid."},
	{Name: "v1-nullable", Severity: problem.Error,
		Summary: "nullable does not change",
		Reason: "Without it, custom resources with null are no longer valid; with it, clients find null where there was " +
			"always a value."},
	{Name: "v1-one-of", Severity: problem.Error,
		Summary: "schemas of oneOf are not removed, and there is no new oneOf",
		Reason:  "Custom resources that match none of the schemas are no longer valid."},
	{Name: "v1-pattern", Severity: problem.Error,
		Summary: "patterns do not change",
		Reason:  "OLM v1 does not find out whether a pattern matches what another one matched."},
	{Name: "v1-required", Severity: problem.Error,
		Summary: "fields that exist do not become required",
		Reason:  "Custom resources without the field are no longer valid."},
	{Name: "v1-type", Severity: problem.Error,
		Summary: "types do not change",
		Reason:  "Custom resources with a value of the old type are no longer valid."},
	{Name: "v1-unhandled", Severity: problem.Error,
		Summary: "nothing else of a schema changes",
		Reason:  "OLM v1 refuses every change that no check knows to be safe. Only descriptions may change."},
}}

var ruleV1ExistingFieldRemoval = &problem.Rule{Name: "v1-existing-field-removal", Severity: problem.Error,
	Summary: "fields are not removed",
	Reason:  "The values of a removed field are dropped from custom resources."}

var serverRules = &problem.Group{Title: "Both versions of OLM", Rules: []*problem.Rule{ruleRefused}}

var ruleRefused = &problem.Rule{Name: "refused-update", Severity: problem.Error,
	Summary: "an API server accepts the objects of an update",
	Reason: "Some fields of an object never change, such as the selector of a Deployment, the role of a binding, the " +
		"value of a PriorityClass, the data of an immutable ConfigMap. OLM tries the update again and again; users " +
		"have to delete the object. An update also fails if an API server does not create a new object.",
	Fix: "keep the field, or give the object another name"}

var unknownRules = &problem.Group{Title: "What cannot be checked", Rules: []*problem.Rule{
	ruleManifests, ruleCRD, ruleTooMany, ruleNotInCatalog, ruleResources,
}}

var (
	ruleManifests = &problem.Rule{Name: "manifests", Severity: problem.Error,
		Summary: "the manifests of the bundles of an update can be read",
		Reason:  "The updates from and to the bundle are not checked."}
	ruleCRD = &problem.Rule{Name: "crd", Severity: problem.Error,
		Summary: "a CustomResourceDefinition can be decoded",
		Reason: "The updates of the CustomResourceDefinition are not checked. It may have up to 1.5 MiB, as in a cluster, " +
			"250 levels and 20 versions."}
	ruleTooMany = &problem.Rule{Name: "too-many", Severity: problem.Error,
		Summary: "a report has all findings",
		Reason: "It has up to 1,000 about each version of OLM and pair of CustomResourceDefinitions, and up to 100,000 in " +
			"all.",
		Fix: "check packages one by one, and fix these first"}
	ruleNotInCatalog = &problem.Rule{Name: "not-in-catalog", Severity: problem.Info,
		Summary: "a bundle to update from is in the catalog",
		Reason:  "The updates from it are not checked."}
	ruleResources = &problem.Rule{Name: "resources", Severity: problem.Info,
		Summary: "the custom resources of a cluster are known",
		Reason:  "Without them OLM Classic may still refuse the update of a schema.",
		Fix:     "give them with --state"}
)
