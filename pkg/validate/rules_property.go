package validate

var propertyRules = []Rule{
	{
		Name:     "property-value",
		Severity: Error,
		Summary:  "a property has a value of the shape of its type",
		Reason: "Upstream refuses a property without a value, and one of the types of the format with a value " +
			"of another shape.",
		Bad:  exampleBundle + "- {type: olm.gvk, value: demo.example/v1/Demo}\n",
		Good: exampleBundle + "- {type: olm.gvk, value: {group: demo.example, version: v1, kind: Demo}}\n",
	},
	{
		Name:     "property-type",
		Severity: Warning,
		Summary:  "a property has a type",
		Reason:   "Nothing can make use of a property without a type.",
		Fix:      "give the property a type, or remove it",
		Bad:      exampleBundle + "- {value: gold}\n",
		Good:     exampleBundle + "- {type: example.com/tier, value: gold}\n",
	},
	{
		Name:     "bundle-object",
		Severity: Error,
		Summary:  "the property olm.bundle.object holds a manifest in base64",
		Reason:   "Upstream decodes every manifest when it loads a catalog.",
		Fix:      "encode the manifest, JSON or YAML, in base64",
		Bad:      exampleVersion + "- {type: olm.bundle.object, value: {data: \"kind: ConfigMap\"}}\n",
		Good:     exampleVersion + "- {type: olm.bundle.object, value: {data: a2luZDogQ29uZmlnTWFwCg==}}\n",
	},
	{
		Name:     "required-range",
		Severity: Warning,
		Summary:  "the range of olm.package.required is a range of versions",
		Reason:   "OLM Classic stops resolving for the whole namespace at a range that it cannot parse.",
		Fix:      "write it like \">=1.0.0 <2.0.0\"",
		Bad: exampleBundle + `- type: olm.package.required
  value: {packageName: etcd, versionRange: "^3.5"}
`,
		Good: exampleBundle + `- type: olm.package.required
  value: {packageName: etcd, versionRange: ">=3.5.0 <4.0.0"}
`,
	},
	{
		Name:     "constraint",
		Severity: Warning,
		Summary:  "the property olm.constraint is a constraint that OLM can read",
		Reason: "OLM Classic stops resolving for the whole namespace at an unknown key, a range that it cannot " +
			"parse, a rule that does not compile to a truth value, or more than 131,072 bytes.",
		Bad: exampleBundle + `- type: olm.constraint
  value: {failureMessage: says nothing of itself, cel: {rule: properties.size()}}
`,
		Good: exampleBundle + `- type: olm.constraint
  value: {failureMessage: says nothing of itself, cel: {rule: properties.size() > 0}}
`,
	},
	{
		Name:     "max-openshift-version",
		Severity: Warning,
		Summary:  "the property olm.maxOpenShiftVersion is one version X.Y",
		Reason: "OpenShift refuses to upgrade the cluster while an installed operator has a version that cannot " +
			"be read, or several.",
		Fix:  "give one version like \"4.20\", in quotes",
		Bad:  exampleBundle + "- {type: olm.maxOpenShiftVersion, value: \"v4\"}\n",
		Good: exampleBundle + "- {type: olm.maxOpenShiftVersion, value: \"4.20\"}\n",
	},
	{
		Name:     "deprecated-property",
		Severity: Warning,
		Summary:  "bundles do not carry the property olm.deprecated",
		Reason:   "OLM Classic never installs such a bundle, and does not resolve where one is installed.",
		Fix:      "use an olm.deprecations object instead",
		Bad:      exampleBundle + "- {type: olm.deprecated, value: {}}\n",
		Good: exampleBundle + `---
schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.2.0}
  message: Version 1.2.0 has a flaw. Stay with 1.1.0.
`,
	},
	{
		Name:     "metadata-form",
		Severity: Warning,
		Summary:  "a bundle has its metadata in one of two forms, olm.csv.metadata or olm.bundle.object",
		Reason: "With neither, consoles show nothing about the bundle; with both, readers differ in which one " +
			"counts.",
		Fix:  "render the bundle again, or migrate the catalog",
		Bad:  exampleVersion,
		Good: exampleBundle,
	},
	{
		Name:     "csv-metadata-count",
		Severity: Warning,
		Summary:  "a bundle has at most one property olm.csv.metadata",
		Reason:   "Registries refuse to serve a catalog with more than one.",
		Fix:      "keep one of them",
		Bad:      exampleBundle + "- {type: olm.csv.metadata, value: {displayName: Another demo}}\n",
		Good:     exampleBundle,
	},
	{
		Name:     "v1-dependency",
		Severity: Warning,
		Summary:  "bundles do without dependencies, which OLM v1 refuses",
		Reason:   "OLM v1 rejects a bundle that requires packages, APIs or constraints, after it has chosen it.",
		Fix:      "drop them if the operator shall run under OLM v1",
		Bad: exampleBundle + `- type: olm.gvk.required
  value: {group: etcd.example, version: v1, kind: EtcdCluster}
`,
		Good: exampleBundle,
	},
	{
		Name:     "object-size",
		Severity: Warning,
		Summary:  "a manifest fits into a ConfigMap of 1 MiB",
		Reason:   "OLM Classic unpacks manifests into ConfigMaps.",
		Fix:      "shorten the manifest, such as descriptions in a CRD",
		Bad: exampleVersion + `- type: olm.bundle.object
  value: {data: a2luZDogQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9u…} # 1.2 MiB
`,
		Good:     exampleBundle,
		Abridged: "a whole one would fill this page a thousand times",
	},
	{
		Name:     "message-size",
		Severity: Warning,
		Summary:  "a bundle fits into a gRPC message of 4 MiB",
		Reason:   "Clients of a registry refuse larger messages.",
		Fix:      "migrate the catalog to olm.csv.metadata",
		Bad: exampleVersion + `- type: olm.bundle.object
  value: {data: a2luZDogQ2x1c3RlclNlcnZpY2VWZXJzaW9u…} # one of many, 5 MiB in all
`,
		Good:     exampleBundle,
		Abridged: "a whole one would fill this page a thousand times",
	},
}
