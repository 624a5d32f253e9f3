package validate

var bundleRules = []Rule{
	{
		Name:     "bundle-package",
		Severity: Error,
		Summary:  "a bundle belongs to a package of the catalog",
		Reason:   "Upstream refuses a bundle that nothing leads to.",
		Fix:      "correct the package, or add its olm.package",
		Bad: `schema: olm.bundle
package: dem
name: demo.v1.2.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: dem, version: 1.2.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: exampleBundle,
	},
	{
		Name:     "bundle-name",
		Severity: Error,
		Summary:  "a bundle has a name",
		Reason:   "Channels refer to bundles by name.",
		Fix:      "give the bundle a name",
		Bad: `schema: olm.bundle
package: demo
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.3.0}
---
schema: olm.bundle
package: demo
name: demo.v1.3.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
	},
	{
		Name:     "bundle-name-dns",
		Severity: Warning,
		Summary:  "the name of a bundle can be that of a Kubernetes object",
		Reason: "OLM Classic installs a bundle as a ClusterServiceVersion of its name, which must be a DNS " +
			"subdomain.",
		Fix: "rename the bundle",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: Demo 1.3.0}
---
schema: olm.bundle
package: demo
name: Demo 1.3.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.3.0}
---
schema: olm.bundle
package: demo
name: demo.v1.3.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
	},
	{
		Name:     "duplicate-bundle",
		Severity: Error,
		Summary:  "a bundle is defined once in its package",
		Reason:   "Upstream cannot tell which of two definitions counts.",
		Fix:      "remove one of the definitions",
		Bad:      exampleBundle + "---\n" + exampleBundle,
		Good:     exampleBundle,
	},
	{
		Name:     "bundle-channel",
		Severity: Error,
		Summary:  "every bundle is an entry of a channel",
		Reason:   "Upstream refuses a bundle that cannot be reached.",
		Fix:      "add it to a channel, or remove it",
		Bad: `schema: olm.bundle
package: demo
name: demo.v1.3.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.3.0}
---
schema: olm.bundle
package: demo
name: demo.v1.3.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
	},
	{
		Name:     "package-property",
		Severity: Error,
		Summary:  "a bundle has exactly one property olm.package",
		Reason:   "It holds the version of the bundle.",
		Fix:      "give it one, with packageName and version",
		Bad: exampleImage + `properties:
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: exampleBundle,
	},
	{
		Name:     "package-property-name",
		Severity: Error,
		Summary:  "the property olm.package names the package of the bundle",
		Reason:   "OLM resolves dependencies by the property, and registries serve the bundle by its package.",
		Fix:      "make both the same",
		Bad: exampleImage + `properties:
- {type: olm.package, value: {packageName: dem, version: 1.2.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: exampleBundle,
	},
	{
		Name:     "bundle-version",
		Severity: Error,
		Summary:  "the version of a bundle is a semantic version",
		Reason:   "Updates and dependencies compare versions: three numbers, then perhaps -prerelease and +build.",
		Bad: exampleImage + `properties:
- {type: olm.package, value: {packageName: demo, version: v1.2}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: exampleBundle,
	},
	{
		Name:     "bundle-release",
		Severity: Error,
		Summary:  "a release is a valid one, and the bundle is named by it",
		Reason: "A release tells apart bundles of one version: at most 20 letters, digits, hyphens and dots. " +
			"The bundle is called PACKAGE-vVERSION-RELEASE, and the version has no build metadata.",
		Bad: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.3.0}
---
schema: olm.bundle
package: demo
name: demo.v1.3.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0, release: "1"}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: `schema: olm.channel
package: demo
name: fast
entries:
- {name: demo-v1.3.0-1}
---
schema: olm.bundle
package: demo
name: demo-v1.3.0-1
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0, release: "1"}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
	},
	{
		Name:     "bundle-image",
		Severity: Error,
		Summary:  "a bundle has an image or carries its manifests",
		Reason:   "There is nothing to install otherwise.",
		Fix:      "set image",
		Bad: exampleName + `image: ""
properties:
- {type: olm.package, value: {packageName: demo, version: 1.2.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: exampleBundle,
	},
	{
		Name:     "image-reference",
		Severity: Error,
		Summary:  "images are valid references",
		Reason:   "Upstream refuses references that no container tool could pull.",
		Fix:      "write it like registry.example/name@sha256:…",
		Bad: exampleName + `image: https://registry.example/demo-bundle
properties:
- {type: olm.package, value: {packageName: demo, version: 1.2.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: exampleBundle,
	},
	{
		Name:     "related-image-empty",
		Severity: Warning,
		Summary:  "related images are not empty",
		Reason:   "Mirroring tools copy related images; an empty one is copied by none, and the operator may miss it.",
		Fix:      "name the image, or remove the entry",
		Bad: exampleBundle + `relatedImages:
- {name: operator, image: ""}
`,
		Good: exampleBundle + exampleRelated,
	},
	{
		Name:     "related-image-tag",
		Severity: Warning,
		Summary:  "related images are named by digest",
		Reason:   "A tag may move, and clusters that mirror by digest do not find an image named by tag.",
		Fix:      "name them by digest",
		Bad: exampleBundle + `relatedImages:
- {name: operator, image: "registry.example/demo:1.2.0"}
`,
		Good: exampleBundle + exampleRelated,
	},
}

const exampleRelated = `relatedImages:
- name: operator
  image: registry.example/demo@sha256:2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea
`
