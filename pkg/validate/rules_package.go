package validate

var packageRules = []Rule{
	{
		Name:     "package-name",
		Severity: Error,
		Summary:  "the name of a package is a DNS label",
		Reason: "Names of packages become labels of Kubernetes objects: 1 to 63 lower-case letters, digits and " +
			"inner hyphens.",
		Fix: "give the package such a name",
		Bad: `schema: olm.package
name: Demo_2.0
defaultChannel: stable
`,
		Good: `schema: olm.package
name: demo
defaultChannel: stable
`,
	},
	{
		Name:     "duplicate-package",
		Severity: Error,
		Summary:  "a package is defined once",
		Reason:   "Upstream cannot tell which of two definitions counts.",
		Fix:      "remove one of the definitions",
		Bad: `schema: olm.package
name: demo
defaultChannel: stable
---
schema: olm.package
name: demo
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
		Name:     "package-channels",
		Severity: Error,
		Summary:  "a package has a channel",
		Reason:   "Bundles are installed and updated through channels only.",
		Fix:      "add an olm.channel",
		Bad: `schema: olm.package
name: demo-2
defaultChannel: stable
`,
		Good: `schema: olm.package
name: demo
defaultChannel: stable
---
schema: olm.channel
package: demo
name: stable
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`,
	},
	{
		Name:     "default-channel",
		Severity: Error,
		Summary:  "the default channel of a package exists",
		Reason:   "Whoever installs a package without naming a channel gets the default channel.",
		Fix:      "set defaultChannel to a channel of the package",
		Bad: `schema: olm.package
name: demo
defaultChannel: fast
`,
		Good: `schema: olm.package
name: demo
defaultChannel: stable
`,
	},
	{
		Name:     "duplicate-version",
		Severity: Error,
		Summary:  "no two bundles of a package have the same version",
		Reason:   "A version must lead to one bundle; build metadata and releases tell versions apart.",
		Fix:      "give one of them another version or a release",
		Bad: exampleImage + `properties:
- {type: olm.package, value: {packageName: demo, version: 1.1.0}} # as demo.v1.1.0
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
		Good: exampleImage + `properties:
- {type: olm.package, value: {packageName: demo, version: 1.1.0+2}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`,
	},
	{
		Name:     "icon-data",
		Severity: Warning,
		Summary:  "an icon holds an image",
		Reason:   "Consoles show a broken picture in its place.",
		Fix:      "put the image in base64data, or remove the icon",
		Bad: `schema: olm.package
name: demo
defaultChannel: stable
icon:
  base64data: ZGVtby5zdmcK # the name of the file, not what is in it
  mediatype: image/svg+xml
`,
		Good: exampleIcon,
	},
	{
		Name:     "icon-type",
		Severity: Warning,
		Summary:  "the media type of an icon is that of its data",
		Reason:   "Browsers do not show an image under the wrong type.",
		Fix:      "correct the mediatype",
		Bad: `schema: olm.package
name: demo
defaultChannel: stable
icon:
  base64data: PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjwvc3ZnPgo=
  mediatype: image/png
`,
		Good: exampleIcon,
	},
}

const exampleIcon = `schema: olm.package
name: demo
defaultChannel: stable
icon:
  base64data: PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjwvc3ZnPgo=
  mediatype: image/svg+xml
`
