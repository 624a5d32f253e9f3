package crdcheck

import (
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the reasons why OLM Classic or OLM v1 refuses an update, and why an update cannot be checked. OLM v1
// compares CustomResourceDefinitions with crdify; its rules have the names of crdify's checks. It compares each version
// before and after the update, and after the update each served version with the later ones.
//
// The tests check that the bad example of a rule breaks only this rule, and the good one none. Examples are changes to
// the example files, in txtar form: each line replaces the line with the same key. Lines that begin with apiVersion
// replace the whole file, and a file without lines is removed.
var Rules = sync.OnceValue(func() *problem.Rules {
	return problem.NewRules(example, classicRules, v1Rules, unknownRules)
})

// These are the first lines of examples. A rule continues beforeSize and afterSize with the schema of a field.
const (
	beforeFile = "-- before.yaml --\n"
	afterFile  = "-- after.yaml --\n"
	beforeSize = beforeFile + "          size: "
	afterSize  = afterFile + "          size: "
)

const example = `-- catalog.yaml --
schema: olm.channel
package: kiln
name: stable
entries:
- name: kiln.v1
- name: kiln.v2
  replaces: kiln.v1
` + beforeFile + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kilns.pottery.example}
spec:
  group: pottery.example
  names: {kind: Kiln, plural: kilns}
  scope: Namespaced
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer}
` + afterFile + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kilns.pottery.example}
spec:
  group: pottery.example
  names: {kind: Kiln, plural: kilns}
  scope: Namespaced
  conversion: {strategy: None}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          size: {type: integer}
          glaze: {type: string}
-- kiln.yaml --
apiVersion: pottery.example/v1
kind: Kiln
metadata: {name: small, namespace: studio}
size: 1
`

var classicRules = &problem.Group{Title: "OLM Classic", Rules: []*problem.Rule{
	ruleClassicVersions, ruleClassicStoredVersion, ruleClassicResource, ruleClassicCABundle,
}}

var (
	ruleClassicVersions = &problem.Rule{Name: "classic-versions", Severity: problem.Error,
		Summary: "an updated CustomResourceDefinition has a version",
		Reason:  "OLM Classic finds nothing to install.",
		Bad: afterFile + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kilns.pottery.example}
spec:
  group: pottery.example
  names: {kind: Kiln, plural: kilns}
  versions: []`,
		Repair: [2]string{"versions: []", "versions: [{name: v1, served: true, storage: true}]"}}
	ruleClassicStoredVersion = &problem.Rule{Name: "classic-stored-version", Severity: problem.Error,
		Summary: "an update keeps the stored versions of a CustomResourceDefinition",
		Reason: "Custom resources may be stored in that version, and would be lost. Without the objects of a cluster " +
			"(--state), the stored version is the one that the bundle to update from has.",
		Bad:  afterFile + "  - name: v2",
		Good: afterFile + "  - name: v1"}
	ruleClassicResource = &problem.Rule{Name: "classic-resource", Severity: problem.Error,
		Summary: "the custom resources of a cluster are valid in the schemas of an update",
		Reason: "OLM Classic does not continue with the InstallPlan. A conversion webhook makes it a warning. OLM does not " +
			"evaluate CEL rules: Kubernetes does, when a custom resource is next written.",
		Bad:  afterSize + "{type: integer, minimum: 2}",
		Good: afterSize + "{type: integer, minimum: 1}"}
	ruleClassicCABundle = &problem.Rule{Name: "classic-ca-bundle", Severity: problem.Error,
		Summary: "the certificate of a conversion webhook can be read",
		Reason: "Kubernetes refuses the update since version 1.31, unless it could not read the certificate before the " +
			"update either. OLM sets the certificates of webhooks that a ClusterServiceVersion defines when it installs the " +
			"operator; omit caBundle.",
		Bad: afterFile + "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
			"clientConfig: {url: 'https://kiln', caBundle: a2lsbg==}}}",
		Good: afterFile + "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], " +
			"clientConfig: {url: 'https://kiln'}}}"}
)

// The rules about changes that crdify finds are looked up by the names of its checks.
var v1Rules = &problem.Group{Title: "OLM v1", Rules: []*problem.Rule{
	{Name: "v1-scope", Severity: problem.Error,
		Summary: "the scope of a CustomResourceDefinition does not change",
		Reason:  "Kubernetes refuses the change, and the names of custom resources would mean something else.",
		Bad:     afterFile + "  scope: Cluster",
		Good:    afterFile + "  scope: Namespaced"},
	{Name: "v1-stored-version-removal", Severity: problem.Error,
		Summary: "an update keeps the stored versions of a CustomResourceDefinition",
		Reason: "Custom resources may be stored in that version. Without the objects of a cluster (--state), the stored " +
			"version is the one that the bundle to update from has.",
		Bad:  afterFile + "  - name: v2",
		Good: afterFile + "  - name: v1"},
	ruleV1ExistingFieldRemoval,
	{Name: "v1-default", Severity: problem.Error,
		Summary: "defaults are neither added nor changed nor removed",
		Reason:  "Custom resources without the field get another value, without being changed by anyone.",
		Bad:     beforeSize + "{type: integer, default: 1}\n" + afterSize + "{type: integer, default: 2}",
		Good:    beforeSize + "{type: integer, default: 1}\n" + afterSize + "{type: integer, default: 1}"},
	{Name: "v1-enum", Severity: problem.Error,
		Summary: "values that an enum allows are not removed, and there is no new enum",
		Reason:  "Custom resources with another value are no longer valid.",
		Bad:     beforeSize + "{type: string, enum: [small, large]}\n" + afterSize + "{type: string, enum: [small]}",
		Good: beforeSize + "{type: string, enum: [small, large]}\n" + afterSize +
			"{type: string, enum: [small, large, huge]}"},
	{Name: "v1-maximum", Severity: problem.Error,
		Summary: "a maximum is neither introduced nor decreased",
		Reason:  "Custom resources with a larger number are no longer valid.",
		Bad:     beforeSize + "{type: integer, maximum: 9}\n" + afterSize + "{type: integer, maximum: 8}",
		Good:    beforeSize + "{type: integer, maximum: 9}\n" + afterSize + "{type: integer, maximum: 10}"},
	{Name: "v1-max-items", Severity: problem.Error,
		Summary: "maxItems is neither introduced nor decreased",
		Reason:  "Custom resources with a longer list are no longer valid.",
		Bad:     beforeSize + "{type: array, maxItems: 9}\n" + afterSize + "{type: array, maxItems: 8}",
		Good:    beforeSize + "{type: array, maxItems: 9}\n" + afterSize + "{type: array, maxItems: 10}"},
	{Name: "v1-max-length", Severity: problem.Error,
		Summary: "maxLength is neither introduced nor decreased",
		Reason:  "Custom resources with a longer value are no longer valid.",
		Bad:     beforeSize + "{type: string, maxLength: 9}\n" + afterSize + "{type: string, maxLength: 8}",
		Good:    beforeSize + "{type: string, maxLength: 9}\n" + afterSize + "{type: string, maxLength: 10}"},
	{Name: "v1-max-properties", Severity: problem.Error,
		Summary: "maxProperties is neither introduced nor decreased",
		Reason:  "Custom resources with a larger object are no longer valid.",
		Bad:     beforeSize + "{type: object, maxProperties: 9}\n" + afterSize + "{type: object, maxProperties: 8}",
		Good:    beforeSize + "{type: object, maxProperties: 9}\n" + afterSize + "{type: object, maxProperties: 10}"},
	{Name: "v1-minimum", Severity: problem.Error,
		Summary: "a minimum is neither introduced nor increased",
		Reason:  "Custom resources with a smaller number are no longer valid.",
		Bad:     beforeSize + "{type: integer, minimum: 1}\n" + afterSize + "{type: integer, minimum: 2}",
		Good:    beforeSize + "{type: integer, minimum: 1}\n" + afterSize + "{type: integer, minimum: 0}"},
	{Name: "v1-min-items", Severity: problem.Error,
		Summary: "minItems is neither introduced nor increased",
		Reason:  "Custom resources with a shorter list are no longer valid.",
		Bad:     beforeSize + "{type: array, minItems: 1}\n" + afterSize + "{type: array, minItems: 2}",
		Good:    beforeSize + "{type: array, minItems: 1}\n" + afterSize + "{type: array, minItems: 0}"},
	{Name: "v1-min-length", Severity: problem.Error,
		Summary: "minLength is neither introduced nor increased",
		Reason:  "Custom resources with a shorter value are no longer valid.",
		Bad:     beforeSize + "{type: string, minLength: 1}\n" + afterSize + "{type: string, minLength: 2}",
		Good:    beforeSize + "{type: string, minLength: 1}\n" + afterSize + "{type: string, minLength: 0}"},
	{Name: "v1-min-properties", Severity: problem.Error,
		Summary: "minProperties is neither introduced nor increased",
		Reason:  "Custom resources with a smaller object are no longer valid.",
		Bad:     beforeSize + "{type: object, minProperties: 1}\n" + afterSize + "{type: object, minProperties: 2}",
		Good:    beforeSize + "{type: object, minProperties: 1}\n" + afterSize + "{type: object, minProperties: 0}"},
	{Name: "v1-nullable", Severity: problem.Error,
		Summary: "nullable does not change",
		Reason: "Without it, custom resources with null are no longer valid; with it, clients find null where there was " +
			"always a value.",
		Bad:  beforeSize + "{type: integer}\n" + afterSize + "{type: integer, nullable: true}",
		Good: beforeSize + "{type: integer}\n" + afterSize + "{type: integer}"},
	{Name: "v1-one-of", Severity: problem.Error,
		Summary: "schemas of oneOf are not removed, and there is no new oneOf",
		Reason:  "Custom resources that match none of the schemas are no longer valid.",
		Bad:     beforeSize + "{type: object}\n" + afterSize + "{type: object, oneOf: [{maxProperties: 1}]}",
		Good:    beforeSize + "{type: object}\n" + afterSize + "{type: object}"},
	{Name: "v1-pattern", Severity: problem.Error,
		Summary: "patterns do not change",
		Reason:  "OLM v1 does not find out whether a pattern matches what another one matched.",
		Bad:     beforeSize + "{type: string, pattern: '^[a-z]+$'}\n" + afterSize + "{type: string, pattern: '^[a-z0-9]+$'}",
		Good:    beforeSize + "{type: string, pattern: '^[a-z]+$'}\n" + afterSize + "{type: string, pattern: '^[a-z]+$'}"},
	{Name: "v1-required", Severity: problem.Error,
		Summary: "fields that exist do not become required",
		Reason:  "Custom resources without the field are no longer valid.",
		Bad: beforeSize + "{type: object, properties: {width: {type: integer}}}\n" + afterSize +
			"{type: object, properties: {width: {type: integer}}, required: [width]}",
		Good: beforeSize + "{type: object, properties: {width: {type: integer}}}\n" + afterSize +
			"{type: object, properties: {width: {type: integer}}}"},
	{Name: "v1-type", Severity: problem.Error,
		Summary: "types do not change",
		Reason:  "Custom resources with a value of the old type are no longer valid.",
		Bad:     afterSize + "{type: string}",
		Good:    afterSize + "{type: integer}"},
	{Name: "v1-unhandled", Severity: problem.Error,
		Summary: "nothing else of a schema changes",
		Reason:  "OLM v1 refuses every change that no check knows to be safe. Only descriptions may change.",
		Bad:     afterSize + "{type: integer, format: int64}",
		Good:    afterSize + "{type: integer, description: The size in liters}"},
}}

var ruleV1ExistingFieldRemoval = &problem.Rule{Name: "v1-existing-field-removal", Severity: problem.Error,
	Summary: "fields are not removed",
	Reason:  "The values of a removed field are dropped from custom resources.",
	Bad:     beforeSize + "{type: object, properties: {width: {type: integer}}}\n" + afterSize + "{type: object}",
	Good: beforeSize + "{type: object, properties: {width: {type: integer}}}\n" + afterSize +
		"{type: object, properties: {width: {type: integer}}}"}

var unknownRules = &problem.Group{Title: "What cannot be checked", Rules: []*problem.Rule{
	ruleManifests, ruleCRD, ruleTooMany, ruleNotInCatalog, ruleResources,
}}

var (
	ruleManifests = &problem.Rule{Name: "manifests", Severity: problem.Error,
		Summary:  "the manifests of the bundles of an update can be read",
		Reason:   "The updates from and to the bundle are not checked.",
		Abridged: "the file is missing",
		Bad:      afterFile,
		Good: afterFile + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition`}
	ruleCRD = &problem.Rule{Name: "crd", Severity: problem.Error,
		Summary: "a CustomResourceDefinition can be decoded",
		Reason: "The updates of the CustomResourceDefinition are not checked. It may have up to 1.5 MiB, as in a cluster, " +
			"250 levels and 20 versions.",
		Bad:  afterSize + "{type: integer, minimum: one}",
		Good: afterSize + "{type: integer}"}
	ruleTooMany = &problem.Rule{Name: "too-many", Severity: problem.Error,
		Summary: "a report has all findings",
		Reason: "It has up to 1,000 about each version of OLM and pair of CustomResourceDefinitions, and up to 100,000 in " +
			"all.",
		Fix:      "check packages one by one, and fix these first",
		Abridged: "1,000 other fields change as well",
		Bad:      afterSize + "{type: string}",
		Good:     afterSize + "{type: integer}"}
	ruleNotInCatalog = &problem.Rule{Name: "not-in-catalog", Severity: problem.Info,
		Summary: "a bundle to update from is in the catalog",
		Reason:  "The updates from it are not checked.",
		Bad: `-- catalog.yaml --
  replaces: kiln.v0`,
		Good: `-- catalog.yaml --
  replaces: kiln.v1`}
	ruleResources = &problem.Rule{Name: "resources", Severity: problem.Info,
		Summary:  "the custom resources of a cluster are known",
		Reason:   "Without them OLM Classic may still refuse the update of a schema.",
		Fix:      "give them with --state",
		Abridged: "the file is missing",
		Bad:      "-- kiln.yaml --",
		Good: `-- kiln.yaml --
apiVersion: pottery.example/v1
kind: Kiln
metadata: {name: small, namespace: studio}
size: 1`}
)
