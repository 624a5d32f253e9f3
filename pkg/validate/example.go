package validate

// Example is a small catalog that keeps every rule. The examples of the rules are changes of it: each of their objects
// takes the place of the one with the same schema, package and name, if there is one.
const Example = `---
schema: olm.package
name: demo
defaultChannel: stable
description: Shows what a catalog looks like.
---
schema: olm.channel
package: demo
name: stable
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
---
schema: olm.bundle
package: demo
name: demo.v1.0.0
image: registry.example/demo-bundle@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef
properties:
- {type: olm.package, value: {packageName: demo, version: 1.0.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
---
schema: olm.bundle
package: demo
name: demo.v1.1.0
image: registry.example/demo-bundle@sha256:3bb3b7641d05a816bb69dbf3e02b0027b2e0652285315a9964c0abb65328d4f4
properties:
- {type: olm.package, value: {packageName: demo, version: 1.1.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
---
` + exampleBundle + `---
schema: olm.deprecations
package: demo
entries:
- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Version 1.0.0 is out of support. Update to 1.2.0.
`

// The parts of a bundle, for examples that go on differently after each.
const (
	exampleName = `schema: olm.bundle
package: demo
name: demo.v1.2.0
`
	exampleImage = exampleName +
		"image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175\n"

	exampleVersion = exampleImage + `properties:
- {type: olm.package, value: {packageName: demo, version: 1.2.0}}
`
	exampleBundle = exampleVersion + `- {type: olm.csv.metadata, value: {displayName: Demo}}
`
)
