package across

import (
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules of upgrades of a platform. An example changes the catalogs of the example: each file
// replaces the file with the same name.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.NewRules(example, upgradeRules) })

// The first lines of the files of examples.
const (
	oldFile = "-- v4.18.yaml --\n"
	newFile = "-- v4.19.yaml --\n"
)

const demoPackage = `schema: olm.package
name: demo
defaultChannel: stable
---
`

const firstChannel = `schema: olm.channel
package: demo
name: stable
entries:
- name: demo.v1.0.0
---
`

const firstBundle = `schema: olm.bundle
package: demo
name: demo.v1.0.0
image: registry.example/demo-bundle@sha256:0b0ec6223b7c778319048b3a7ebd685eae41d618950e166fb9ac7553c0ed5175
properties:
- {type: olm.package, value: {packageName: demo, version: 1.0.0}}
`

const secondChannel = `schema: olm.channel
package: demo
name: stable
entries:
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
---
`

const secondBundle = `schema: olm.bundle
package: demo
name: demo.v1.1.0
image: registry.example/demo-bundle@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef
properties:
- {type: olm.package, value: {packageName: demo, version: 1.1.0}}
`

const example = oldFile + demoPackage + firstChannel + firstBundle +
	newFile + demoPackage + secondChannel + secondBundle

var upgradeRules = &problem.Group{Title: "Upgrades of the platform", Rules: []*problem.Rule{
	ruleBlocked, rulePackage, ruleOrphaned, ruleChannel,
}}

var (
	ruleBlocked = &problem.Rule{Name: "platform-blocked", Severity: problem.Error,
		Summary: "the olm.maxOpenShiftVersion of an installed bundle does not block the upgrade of the platform",
		Reason: "OpenShift refuses to upgrade the cluster while the bundle is installed, and no catalog has an update to a " +
			"bundle that allows it.",
		Fix:  "add an update that supports the next version of the platform to the catalog of the version before it",
		Bad:  oldFile + demoPackage + firstChannel + firstBundle + `- {type: olm.maxOpenShiftVersion, value: "4.18"}`,
		Good: oldFile + demoPackage + firstChannel + firstBundle + `- {type: olm.maxOpenShiftVersion, value: "4.19"}`}
	rulePackage = &problem.Rule{Name: "platform-package", Severity: problem.Error,
		Summary: "the next catalog has the package of an installed bundle",
		Reason:  "The operator stays installed, but is no longer updated.",
		Fix:     "add the package to the catalog, or disable the rule for it in opm.yaml",
		Bad:     newFile, Good: newFile + demoPackage + firstChannel + firstBundle}
	ruleOrphaned = &problem.Rule{Name: "platform-orphaned", Severity: problem.Error,
		Summary: "the next catalog has an installed bundle, or an update of it",
		Reason: "The operator stays installed, but is no longer updated: no entry of the next catalog names, replaces or " +
			"skips it or has its version in a skipRange. In the catalog before, no update leads to a bundle that the next " +
			"catalog has or updates.",
		Fix: "keep the bundle in the catalog, or give an entry replaces, skips or a skipRange for it",
		Bad: newFile + demoPackage + `schema: olm.channel
package: demo
name: stable
entries:
- name: demo.v1.1.0
---
` + secondBundle,
		Good: newFile + demoPackage + secondChannel + secondBundle}
	ruleChannel = &problem.Rule{Name: "platform-channel", Severity: problem.Warning,
		Summary: "the next catalog has an installed bundle, or its update, in the same channel",
		Reason: "Users have to switch to another channel before they get updates again. If the channel is gone, OLM " +
			"Classic updates no operator in the namespace until then.",
		Fix: "keep the channel in the catalog, or tell users which channel to switch to",
		Bad: newFile + `schema: olm.package
name: demo
defaultChannel: fast
---
schema: olm.channel
package: demo
name: fast
entries:
- {name: demo.v1.1.0, replaces: demo.v1.0.0}
---
` + secondBundle,
		Good: newFile + demoPackage + secondChannel + secondBundle}
)
