package validate

var loadRules = []Rule{
	{
		Name:     "read",
		Severity: Error,
		Summary:  "every file of a catalog is read, and every document in it is an object with a schema",
		Reason:   "Upstream stops at the first document that it cannot read, and serves nothing of the catalog.",
	},
	{
		Name:     "type",
		Severity: Error,
		Summary:  "the keys of the format hold values of their type",
		Reason:   "Upstream refuses an object of a known schema if a value in it has another type.",
	},
	{
		Name:     "duplicate-key",
		Severity: Warning,
		Summary:  "a key stands once in an object",
		Reason:   "Upstream takes the last of equal keys in silence, so what the first one said is lost.",
		Fix:      "remove one of them",
	},
	{
		Name:     "utf-8",
		Severity: Warning,
		Summary:  "JSON files are UTF-8",
		Reason:   "Upstream replaces bytes that are no UTF-8 in silence, so the text is not what its author wrote.",
		Fix:      "save the file as UTF-8",
	},
	{
		Name:     "unknown-schema",
		Severity: Warning,
		Summary:  "schemas that begin with olm. are those of the format",
		Reason: "The prefix is reserved. Registries pass over an object of an unknown schema, which a typing " +
			"error looks like.",
		Fix: "use a schema of the format, or one with a prefix of your own",
	},
	{
		Name:     "schema",
		Severity: Warning,
		Summary:  "objects have the shape that the specification states",
		Reason: "Upstream does not check it; other readers of the catalog may rely on it. opm schema prints the " +
			"definitions.",
	},
	{
		Name:     "user-schema",
		Severity: Error,
		Summary:  "objects have the shape that the files given with --schema state",
		Reason:   "Those files are the rules of the catalog's own maintainers.",
	},
}
