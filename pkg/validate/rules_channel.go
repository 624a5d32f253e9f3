package validate

var channelRules = []Rule{
	{
		Name:     "channel-package",
		Severity: Error,
		Summary:  "a channel belongs to a package of the catalog",
		Reason:   "Upstream refuses a channel that nothing leads to.",
		Fix:      "correct the package, or add its olm.package",
		Bad: `schema: olm.channel
package: dem
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
		Name:     "channel-name",
		Severity: Error,
		Summary:  "a channel has a name",
		Reason:   "Subscriptions name the channel that they follow.",
		Fix:      "give the channel a name",
		Bad: `schema: olm.channel
package: demo
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
		Name:     "duplicate-channel",
		Severity: Error,
		Summary:  "a channel is defined once in its package",
		Reason:   "Upstream cannot tell which of two definitions counts.",
		Fix:      "merge the two channels",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0}
---
schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
	},
	{
		Name:     "channel-entries",
		Severity: Error,
		Summary:  "a channel has entries",
		Reason:   "A channel without entries has no head to install.",
		Fix:      "add entries, or remove the channel",
		Bad: `schema: olm.channel
package: demo
name: fast
entries: []
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
`,
	},
	{
		Name:     "entry-name",
		Severity: Error,
		Summary:  "an entry has the name of a bundle",
		Reason:   "An entry without a name stands for no bundle.",
		Fix:      "name a bundle of the package, or remove the entry",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
- {name: ""}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
`,
	},
	{
		Name:     "duplicate-entry",
		Severity: Error,
		Summary:  "a bundle stands in a channel once",
		Reason:   "Two entries of one bundle may update different versions, and only one could count.",
		Fix:      "merge the two entries",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
- {name: demo.v1.2.0, skips: [demo.v1.0.0]}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, replaces: demo.v1.1.0, skips: [demo.v1.0.0]}
`,
	},
	{
		Name:     "entry-bundle",
		Severity: Error,
		Summary:  "every entry of a channel has its bundle",
		Reason: "An entry without a bundle cannot be installed. Upstream looks at the last channel of a package " +
			"only.",
		Fix: "add the olm.bundle, or remove the entry",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
- {name: demo.v1.3.0, replaces: demo.v1.2.0}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
`,
	},
	{
		Name:     "channel-head",
		Severity: Error,
		Summary:  "a channel has exactly one head",
		Reason: "The head, which no entry replaces or skips, is what new users get. Upstream refuses a channel " +
			"with none or several.",
		Fix: "connect the entries by replaces or skips, so that one is left that no other names",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0}
- {name: demo.v1.2.0}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
	},
	{
		Name:     "channel-cycle",
		Severity: Error,
		Summary:  "replaces does not run in a circle",
		Reason:   "Whoever follows the updates would never arrive.",
		Fix:      "remove one of the replaces",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0, replaces: demo.v1.1.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
	},
	{
		Name:     "channel-stranded",
		Severity: Error,
		Summary:  "following replaces from the head reaches every entry that is not skipped",
		Reason:   "Users of a stranded entry are never offered an update.",
		Fix:      "let an entry of the chain replace them, or skip them",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, skips: [demo.v1.1.0]}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.0.0, skips: [demo.v1.1.0]}
`,
	},
	{
		Name:     "empty-skip",
		Severity: Error,
		Summary:  "skips holds names",
		Reason:   "Upstream refuses an empty name in skips.",
		Fix:      "remove the empty name",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, skips: [demo.v1.1.0, ""]}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, skips: [demo.v1.1.0]}
`,
	},
	{
		Name:     "skip-range",
		Severity: Error,
		Summary:  "a skipRange is a range of versions",
		Reason: "Upstream refuses a range that it cannot parse. It knows comparisons joined by spaces and ||, " +
			"and x as a wildcard.",
		Fix: "write it like \">=1.0.0 <1.2.0\"",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, skipRange: ">=1.0.0, <1.2.0"}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, skipRange: ">=1.0.0 <1.2.0"}
`,
	},
	{
		Name:     "skip-range-self",
		Severity: Warning,
		Summary:  "a skipRange does not hold the version of its own entry",
		Reason:   "OLM Classic offers the installed bundle as an update of itself, again and again.",
		Fix:      "end the range below the version of the entry",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, skipRange: ">=1.0.0 <=1.2.0"}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0, skipRange: ">=1.0.0 <1.2.0"}
`,
	},
}
