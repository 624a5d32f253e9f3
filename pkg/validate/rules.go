package validate

import (
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules of [Catalog]. An error is a catalog that upstream, the opm of Operator Framework, rejects: no
// registry serves it. A warning is a catalog that upstream accepts, but that causes trouble on a cluster, in a registry
// or for users.
//
// A rule is a row in the group beside its check. To add one, write the row, and a call of scope.add with its name. The
// tests check that the bad example breaks exactly this rule, and the good one none. Examples are changes to the example
// catalog: each object replaces the object with the same schema, package and name.
var Rules = sync.OnceValue(func() *problem.Rules {
	return problem.NewRules(example, objectRules, packageRules, channelRules, updateRules, bundleRules, propertyRules,
		deprecationRules, policyRules, targetRules)
})

// The parts of examples. A rule continues fastChannel with entries, demoVersion and demoBundle with properties.
const (
	demoPackage = `schema: olm.package
name: demo
defaultChannel: stable
`
	fastChannel = `schema: olm.channel
package: demo
name: fast
entries:
`
	stableChannel = `schema: olm.channel
package: demo
name: stable
entries:
`
	stableEntries = `- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
- {name: demo.v1.2.0, replaces: demo.v1.1.0}
`
	demoDeprecations = `schema: olm.deprecations
package: demo
entries:
`
	demoName = `schema: olm.bundle
package: demo
name: demo.v1.2.0
`
	imageLine = "image: registry.example/demo-bundle@" +
		"sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175\n"
	demoImage = demoName + imageLine

	demoVersion = demoImage + `properties:
- {type: olm.package, value: {packageName: demo, version: 1.2.0}}
`
	demoBundle = demoVersion + "- {type: olm.csv.metadata, value: {displayName: Demo}}\n"

	newImage = imageLine + `properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`
	newBundle = `schema: olm.bundle
package: demo
name: demo.v1.3.0
` + newImage

	candidateBundle = `schema: olm.bundle
package: demo
name: demo.v1.3.0-rc.1
image: registry.example/demo-bundle@sha256:5f0c6d1b7a8e9f3c2b1a0d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182
properties:
- {type: olm.package, value: {packageName: demo, version: 1.3.0-rc.1}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`
	patchBundle = `schema: olm.bundle
package: demo
name: demo.v1.0.1
image: registry.example/demo-bundle@sha256:9e8d7c6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d9c8b7a6f5e4d3c2b1a0f9e8d
properties:
- {type: olm.package, value: {packageName: demo, version: 1.0.1}}
- {type: olm.csv.metadata, value: {displayName: Demo}}
`
)

const example = "---\n" + demoPackage + `description: Shows what a catalog looks like.
---
` + stableChannel + stableEntries + `---
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
` + demoBundle + "---\n" + demoDeprecations + `- reference: {schema: olm.bundle, name: demo.v1.0.0}
  message: Version 1.0.0 is out of support. Update to 1.2.0.
`
