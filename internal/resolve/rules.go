package resolve

import (
	"sync"

	problems "github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules that [Check.Run] checks. The examples are added to the example catalog.
var Rules = sync.OnceValue(func() *problems.Rules { return problems.NewRules(example, classicRules, v1Rules) })

const stableChannel = `schema: olm.channel
package: demo
name: stable
entries:
- {name: demo.v1.0.0}
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
`

const middleBundle = `schema: olm.bundle
package: demo
name: demo.v1.1.0
image: registry.example/demo-bundle@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef
properties:
- {type: olm.package, value: {packageName: demo, version: 1.1.0}}
`

const example = `schema: olm.package
name: demo
defaultChannel: stable
---
` + stableChannel + `- {name: demo.v1.2.0, replaces: demo.v1.1.0}
---
schema: olm.bundle
package: demo
name: demo.v1.0.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.0.0}}
---
` + middleBundle + `---
schema: olm.bundle
package: demo
name: demo.v1.2.0
image: registry.example/demo-bundle@sha256:5f0e4ba0ca8a0ba0f5d5e5a0b0f4c0d1f7b0e5a4e6f1a2b3c4d5e6f708192a3b
properties:
- {type: olm.package, value: {packageName: demo, version: 1.2.0}}
`

var classicRules = &problems.Group{Title: "OLM Classic", Rules: []*problems.Rule{
	ruleClassicUnresolved, ruleClassicHeldBack,
}}

var (
	ruleClassicUnresolved = &problems.Rule{Name: "classic-unresolved", Severity: problems.Error,
		Summary: "OLM Classic can resolve every new installation and every update",
		Reason: "It installs and updates no operator in a namespace with a Subscription that it cannot resolve. " +
			"Usually a bundle requires another one that no catalog has, or a channel is not one chain of " +
			"updates.",
		Bad:  stableChannel + "- {name: demo.v1.2.0, skipRange: <1.2.0}",
		Good: stableChannel + "- {name: demo.v1.2.0, skipRange: <1.2.0, replaces: demo.v1.1.0}"}
	ruleClassicHeldBack = &problems.Rule{Name: "classic-held-back", Severity: problems.Warning,
		Summary: "a bundle is not held back by its dependencies",
		Reason:  "OLM Classic installs an older bundle, or keeps the installed one, without a message.",
		Bad:     middleBundle + `- {type: olm.package.required, value: {packageName: tool, versionRange: ">=1.0.0"}}`,
		Good:    middleBundle}
)

var v1Rules = &problems.Group{Title: "OLM v1", Rules: []*problems.Rule{
	ruleV1Unresolved,
}}

var (
	ruleV1Unresolved = &problems.Rule{Name: "v1-unresolved", Severity: problems.Error,
		Summary: "OLM v1 can resolve every new installation and every update",
		Reason:  "OLM v1 installs no dependencies. It refuses a bundle that has any, and does not try another one instead.",
		Bad:     middleBundle + "- {type: olm.gvk.required, value: {group: tool.example, version: v1, kind: Tool}}",
		Good:    middleBundle}
)
