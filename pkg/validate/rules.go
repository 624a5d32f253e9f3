package validate

import (
	"embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules of [Catalog]. An error is a catalog that upstream, the opm of Operator Framework, rejects: no
// registry serves it. A warning is a catalog that upstream accepts, but that causes trouble on a cluster, in a registry
// or for users.
//
// A rule is a variable beside its check, and a file rules/NAME.txtar with its examples. Examples are changes to
// example.yaml: each object replaces the object with the same schema, package and name. The tests check that the bad
// example breaks exactly this rule, and the good one none. CONTRIBUTING.md has the steps to add a rule.
var Rules = sync.OnceValue(func() *problem.Rules {
	return problem.NewRules(example, ruleFiles, objectRules, packageRules, channelRules, updateRules, bundleRules,
		propertyRules, deprecationRules, policyRules, targetRules)
})

//go:embed example.yaml
var example string

//go:embed rules/*.txtar
var ruleFiles embed.FS
