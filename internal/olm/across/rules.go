package across

import (
	"embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules of upgrades of a platform. An example changes the catalogs of the example: each file
// replaces the file with the same name.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.NewRules(example, ruleFiles, upgradeRules) })

//go:embed example.txtar
var example string

//go:embed rules/*.txtar
var ruleFiles embed.FS

var upgradeRules = &problem.Group{Title: "Upgrades of the platform", Rules: []*problem.Rule{
	ruleBlocked, rulePackage, ruleOrphaned, ruleChannel,
}}

var (
	ruleBlocked = &problem.Rule{Name: "platform-blocked", Severity: problem.Error,
		Summary: "the olm.maxOpenShiftVersion of an installed bundle does not block the upgrade of the platform",
		Reason: "OpenShift refuses to upgrade the cluster while the bundle is installed, and no catalog has an update to a " +
			"bundle that allows it.",
		Fix: "add an update that supports the next version of the platform to the catalog of the version before it"}
	rulePackage = &problem.Rule{Name: "platform-package", Severity: problem.Error,
		Summary: "the next catalog has the package of an installed bundle",
		Reason:  "The operator stays installed, but is no longer updated.",
		Fix:     "add the package to the catalog, or disable the rule for it in opm.yaml"}
	ruleOrphaned = &problem.Rule{Name: "platform-orphaned", Severity: problem.Error,
		Summary: "the next catalog has an installed bundle, or an update of it",
		Reason: "The operator stays installed, but is no longer updated: no entry of the next catalog names, replaces or " +
			"skips it or has its version in a skipRange. In the catalog before, no update leads to a bundle that the next " +
			"catalog has or updates.",
		Fix: "keep the bundle in the catalog, or give an entry replaces, skips or a skipRange for it"}
	ruleChannel = &problem.Rule{Name: "platform-channel", Severity: problem.Warning,
		Summary: "the next catalog has an installed bundle, or its update, in the same channel",
		Reason: "Users have to switch to another channel before they get updates again. If the channel is gone, OLM " +
			"Classic updates no operator in the namespace until then.",
		Fix: "keep the channel in the catalog, or tell users which channel to switch to"}
)
