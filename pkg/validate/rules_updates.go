package validate

// updateRules are about what becomes of installed bundles. Upstream accepts all of it.
var updateRules = []Rule{
	{
		Name:     "replaces-and-skips",
		Severity: Warning,
		Summary:  "an entry does not skip what it replaces",
		Reason: "The chain of updates ends before an entry that is skipped, so whatever that one replaces would be " +
			"stranded.",
		Fix: "replace the entry before it, or do not skip it",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0, skips: [demo.v1.1.0]}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0}
- {name: demo.v1.2.0, replaces: demo.v1.0.0, skips: [demo.v1.1.0]}
`,
	},
	{
		Name:     "update-downgrade",
		Severity: Warning,
		Summary:  "an entry replaces and skips lower versions than its own",
		Reason:   "OLM Classic does not look at versions, and installs the lower one over the higher one; OLM v1 does not.",
		Fix:      "turn the edge around, or correct the versions",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.0.0, skips: [demo.v1.1.0, demo.v9.0.0]}
---
schema: olm.channel
package: demo
name: next
entries:
- {name: demo.v9.0.0}
---
schema: olm.bundle
package: demo
name: demo.v9.0.0
image: registry.example/demo-bundle@sha256:7b2f7e8d8c0f1f6e7f4d5b6e3c2a190807f6e5d4c3b2a1908f7e6d5c4b3a2910
properties:
- {type: olm.package, value: {packageName: demo, version: 9.0.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.0.0, skips: [demo.v1.1.0]}
`,
	},
	{
		Name:     "skips-only",
		Severity: Warning,
		Summary:  "a channel with several entries has a chain of replaces",
		Reason: "Without one, OLM Classic knows the head only: it can neither install another version when the head " +
			"cannot be installed nor go through one.",
		Fix: "let each entry replace the one before it",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0}
- {name: demo.v1.2.0, skips: [demo.v1.1.0, demo.v1.0.0]}
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
		Name:     "head-version",
		Severity: Warning,
		Summary:  "the head of a channel has its highest version",
		Reason: "New users of OLM Classic get the head, whatever its version, and those of OLM v1 the highest " +
			"version.",
		Fix: "let the highest version be the head, or correct the versions",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.2.0}
- {name: demo.v1.1.0, replaces: demo.v1.2.0}
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
		Name:     "prerelease-winner",
		Severity: Warning,
		Summary:  "a channel for releases does not have a pre-release as its highest version",
		Reason:   "OLM v1 takes the highest version if it is not told otherwise, pre-releases too.",
		Fix:      "keep pre-releases in a channel of their own",
		Bad: `schema: olm.channel
package: demo
name: stable
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
- {name: demo.v1.3.0-rc.1, replaces: demo.v1.2.0}
---
schema: olm.bundle
package: demo
name: demo.v1.3.0-rc.1
image: registry.example/demo-bundle@sha256:5f0c6d1b7a8e9f3c2b1a0d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0-rc.1}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: `schema: olm.channel
package: demo
name: candidate
entries:
- {name: demo.v1.3.0-rc.1}
---
schema: olm.bundle
package: demo
name: demo.v1.3.0-rc.1
image: registry.example/demo-bundle@sha256:5f0c6d1b7a8e9f3c2b1a0d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0-rc.1}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
	},
	{
		Name:     "update-classic",
		Severity: Warning,
		Summary:  "OLM Classic updates everything that a channel names to its head",
		Reason:   "Users of a bundle that only a skipped entry replaces are never offered an update.",
		Fix:      "let an entry that is not skipped replace or skip it, or have its version in its skipRange",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v0.9.0}
- {name: demo.v1.2.0, replaces: demo.v1.0.0, skips: [demo.v1.1.0]}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v0.9.0}
- {name: demo.v1.2.0, replaces: demo.v1.0.0, skips: [demo.v1.1.0, demo.v0.9.0]}
`,
	},
	{
		Name:     "update-loop",
		Severity: Warning,
		Summary:  "updates come to an end",
		Reason:   "OLM Classic would install the bundles of the loop one after the other, for ever.",
		Fix:      "end the skipRange below the version of its entry, or turn the edge around",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0, skipRange: 1.2.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0, skipRange: 1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
	},
	{
		Name:     "z-release",
		Severity: Warning,
		Summary:  "every release of a minor version gets to the latest one of it, or beyond",
		Reason:   "Users expect the fixes of their minor version.",
		Fix:      "let the latest release have the others in its skipRange, or skip them",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.1}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.0.1, skips: [demo.v1.1.0]}
---
schema: olm.bundle
package: demo
name: demo.v1.0.1
image: registry.example/demo-bundle@sha256:9e8d7c6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d9c8b7a6f5e4d3c2b1a0f9e8d
properties:
- {type: olm.package, value: {packageName: demo, version: 1.0.1}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.0.1, replaces: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.1}
- {name: demo.v1.2.0, replaces: demo.v1.0.1, skips: [demo.v1.1.0]}
---
schema: olm.bundle
package: demo
name: demo.v1.0.1
image: registry.example/demo-bundle@sha256:9e8d7c6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d9c8b7a6f5e4d3c2b1a0f9e8d
properties:
- {type: olm.package, value: {packageName: demo, version: 1.0.1}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
	},
	{
		Name:     "update-v1",
		Severity: Warning,
		Summary:  "OLM v1 updates everything in a channel to its highest version",
		Reason:   "OLM v1 stays with what is installed where the only way leads through a deprecated bundle.",
		Fix:      "let the next bundle that is not deprecated have the installed one in its skipRange, or skip it",
		Bad: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.1.0}
  message: Out of support. Update to the latest version.
`,
		Good: `schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Out of support. Update to the latest version.
`,
	},
	{
		Name:     "updates-differ",
		Severity: Warning,
		Summary:  "OLM Classic and OLM v1 update to the same bundle",
		Reason: "Who moves a cluster from one to the other gets other updates. Classic takes what is nearest " +
			"the head, and v1 the highest version, deprecated ones last.",
		Fix: "compare the two with: opm updates CATALOG --package PACKAGE",
		Bad: `schema: olm.channel
package: demo
name: stable
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0, skipRange: ">=1.0.0 <1.2.0"}
---
schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.2.0}
  message: Out of support. Update to the latest version.
`,
		Good: `schema: olm.channel
package: demo
name: stable
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0, skipRange: ">=1.0.0 <1.2.0"}
---
schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Out of support. Update to the latest version.
`,
	},
}
