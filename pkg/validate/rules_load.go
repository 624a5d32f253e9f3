package validate

var loadRules = []Rule{
	{
		Name:     "read",
		Severity: Error,
		Summary:  "every file of a catalog can be read, and every document in it is an object with a schema",
		Reason:   "Upstream stops at the first document that it cannot read, and serves nothing of the catalog.",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
` + "\t- {name: demo.v1.2.0} # a tab cannot indent YAML\n",
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
`,
	},
	{
		Name:     "type",
		Severity: Error,
		Summary:  "the keys of the format hold values of their type",
		Reason:   "Upstream refuses an object of a known schema if a value in it has another type.",
		Bad: `schema: olm.package
name: demo
defaultChannel: 4.20
`,
		Good: `schema: olm.package
name: demo
defaultChannel: "4.20"
---
schema: olm.channel
package: demo
name: "4.20"
entries:
- {name: demo.v1.2.0}
`,
	},
	{
		Name:     "duplicate-key",
		Severity: Warning,
		Summary:  "a key stands once in an object",
		Reason:   "Upstream takes the last of equal keys in silence, so what the first one said is lost.",
		Fix:      "remove one of them",
		Bad: `schema: olm.package
name: demo
description: A demonstration.
defaultChannel: stable
description: Shows what a catalog looks like.
`,
		Good: `schema: olm.package
name: demo
defaultChannel: stable
description: Shows what a catalog looks like.
`,
	},
	{
		Name:     "utf-8",
		Severity: Warning,
		Summary:  "JSON files are UTF-8",
		Reason:   "Upstream replaces bytes that are no UTF-8 in silence, so the text is not what its author wrote.",
		Fix:      "save the file as UTF-8",
		Bad:      `{"schema": "example.com/note", "package": "demo", "text": "na` + "\xef" + `ve, in Latin 1"}` + "\n",
		Good:     `{"schema": "example.com/note", "package": "demo", "text": "naïve, in UTF-8"}` + "\n",
	},
	{
		Name:     "unknown-schema",
		Severity: Warning,
		Summary:  "schemas that begin with olm. are those of the format",
		Reason: "The prefix is reserved. Registries pass over an object of an unknown schema, which a typing " +
			"error looks like.",
		Fix: "use a schema of the format, or one with a prefix of your own",
		Bad: `schema: olm.chanel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
`,
	},
	{
		Name:     "schema",
		Severity: Warning,
		Summary:  "objects have the shape that the specification states",
		Reason: "Upstream does not check it; other readers of the catalog may rely on it. opm schema prints the " +
			"definitions.",
		Bad:  exampleBundle + "- {type: olm.gvk, value: {group: demo.example, version: v1}} # which kind?\n",
		Good: exampleBundle + "- {type: olm.gvk, value: {group: demo.example, version: v1, kind: Demo}}\n",
	},
	{
		Name:     "user-schema",
		Severity: Error,
		Summary:  "objects have the shape that the files given with --schema state",
		Reason:   "Those files are the rules of the catalog's own maintainers.",
		Schema:   `#Tier: {schema!: "example.com/tier", package!: "demo", tier!: "gold" | "silver"}` + "\n",
		Bad: `schema: example.com/tier
package: demo
tier: bronze
`,
		Good: `schema: example.com/tier
package: demo
tier: silver
`,
	},
}
