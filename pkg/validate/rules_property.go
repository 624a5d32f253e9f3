package validate

var propertyRules = []Rule{
	{
		Name:     "property-value",
		Severity: Error,
		Summary:  "a property has a value of the shape of its type",
		Reason: "Upstream refuses a property without a value, and one of the types of the format with a value " +
			"of another shape.",
	},
	{
		Name:     "property-type",
		Severity: Warning,
		Summary:  "a property has a type",
		Reason:   "Nothing can make use of a property without a type.",
		Fix:      "give the property a type, or remove it",
	},
	{
		Name:     "bundle-object",
		Severity: Error,
		Summary:  "the property olm.bundle.object holds a manifest in base64",
		Reason:   "Upstream decodes every manifest when it loads a catalog.",
		Fix:      "encode the manifest, JSON or YAML, in base64",
	},
	{
		Name:     "required-range",
		Severity: Warning,
		Summary:  "the range of olm.package.required is a range of versions",
		Reason:   "OLM Classic stops resolving for the whole namespace at a range that it cannot parse.",
		Fix:      "write it like \">=1.0.0 <2.0.0\"",
	},
	{
		Name:     "constraint",
		Severity: Warning,
		Summary:  "the property olm.constraint is a constraint that OLM can read",
		Reason: "OLM Classic stops resolving for the whole namespace at an unknown key, a rule that does not " +
			"compile to a truth value, or more than 131,072 bytes.",
	},
	{
		Name:     "max-openshift-version",
		Severity: Warning,
		Summary:  "the property olm.maxOpenShiftVersion is one version X.Y",
		Reason: "OpenShift refuses to upgrade the cluster while an installed operator has a version that cannot " +
			"be read, or several.",
		Fix: "write it like \"4.20\", in quotes",
	},
	{
		Name:     "deprecated-property",
		Severity: Warning,
		Summary:  "bundles do not carry the property olm.deprecated",
		Reason:   "OLM Classic never installs such a bundle, and does not resolve where one is installed.",
		Fix:      "use an olm.deprecations object instead",
	},
	{
		Name:     "metadata-form",
		Severity: Warning,
		Summary:  "a bundle has its metadata in one of two forms, olm.csv.metadata or olm.bundle.object",
		Reason: "With neither, consoles show nothing about the bundle; with both, readers differ in which one " +
			"counts.",
		Fix: "render the bundle again, or migrate the catalog",
	},
	{
		Name:     "csv-metadata-count",
		Severity: Warning,
		Summary:  "a bundle has at most one property olm.csv.metadata",
		Reason:   "Registries refuse to serve a catalog with more than one.",
		Fix:      "keep one of them",
	},
	{
		Name:     "v1-dependency",
		Severity: Warning,
		Summary:  "bundles do without dependencies, which OLM v1 refuses",
		Reason:   "OLM v1 rejects a bundle that requires packages, APIs or constraints, after it has chosen it.",
		Fix:      "drop them if the operator shall run under OLM v1",
	},
	{
		Name:     "object-size",
		Severity: Warning,
		Summary:  "a manifest fits into a ConfigMap of 1 MiB",
		Reason:   "OLM Classic unpacks manifests into ConfigMaps.",
		Fix:      "shorten the manifest, such as descriptions in a CRD",
	},
	{
		Name:     "message-size",
		Severity: Warning,
		Summary:  "a bundle fits into a gRPC message of 4 MiB",
		Reason:   "Clients of a registry refuse larger messages.",
		Fix:      "migrate the catalog to olm.csv.metadata",
	},
}
