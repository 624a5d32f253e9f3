package resolve

import (
	"embed"
	"sync"

	problems "github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules that [Check.Run] checks. The examples are added to the example catalog.
var Rules = sync.OnceValue(func() *problems.Rules {
	return problems.NewRules(example, ruleFiles, classicRules, v1Rules)
})

//go:embed example.yaml
var example string

//go:embed rules/*.txtar
var ruleFiles embed.FS

var classicRules = &problems.Group{Title: "OLM Classic", Rules: []*problems.Rule{
	ruleClassicUnresolved, ruleClassicHeldBack,
}}

var (
	ruleClassicUnresolved = &problems.Rule{Name: "classic-unresolved", Severity: problems.Error,
		Summary: "OLM Classic can resolve every new installation and every update",
		Reason: "It installs and updates no operator in a namespace with a Subscription that it cannot resolve. " +
			"Usually a bundle requires another one that no catalog has, or a channel is not one chain of " +
			"updates."}
	ruleClassicHeldBack = &problems.Rule{Name: "classic-held-back", Severity: problems.Warning,
		Summary: "a bundle is not held back by its dependencies",
		Reason:  "OLM Classic installs an older bundle, or keeps the installed one, without a message."}
)

var v1Rules = &problems.Group{Title: "OLM v1", Rules: []*problems.Rule{
	ruleV1Unresolved, ruleV1NotInstallable,
}}

var ruleV1NotInstallable = &problems.Rule{Name: "v1-not-installable", Severity: problems.Warning,
	Summary: "OLM v1 can install the bundles that it resolves",
	Reason: "OLM v1 refuses a bundle that does not support the install mode AllNamespaces, that has a dependency, " +
		"owns APIServices, or has manifests that it does not apply, and does not try another one instead. If OLM " +
		"Classic is asked as well, and in opm publish, this is info: OLM Classic may install the bundle."}

var ruleV1Unresolved = &problems.Rule{Name: "v1-unresolved", Severity: problems.Error,
	Summary: "OLM v1 can resolve every new installation and every update",
	Reason: "OLM v1 reports an error instead of installing or updating the operator: it finds no bundle, or no " +
		"version of it, or refuses a ClusterExtension with the name of the channel."}
