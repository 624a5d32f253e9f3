package diff

import (
	"embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the rules of [Report.Problems]. The good example of a rule is the published catalog, and the bad one
// its successor.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.NewRules("", ruleFiles, publishedRules) })

//go:embed rules/*.txtar
var ruleFiles embed.FS

var publishedRules = &problem.Group{Title: "Published objects", Rules: []*problem.Rule{
	ruleBundleChanged, ruleBundleRemoved, ruleChannelRemoved, ruleEntryRemoved, ruleUpdateLost,
}}

var (
	ruleBundleChanged = &problem.Rule{Name: "published-bundle-changed", Severity: problem.Error,
		Summary: "a published bundle keeps its content and its image",
		Reason: "Bundles are immutable: clusters that have it installed do not install it again, and others get something " +
			"else under the same name.",
		Fix: "restore the bundle, and publish the change as a new version"}
	ruleBundleRemoved = &problem.Rule{Name: "published-bundle-removed", Severity: problem.Error,
		Summary: "a published bundle stays in the catalog",
		Reason:  "It can no longer be installed, nor can what requires it.",
		Fix:     "restore the bundle; an olm.deprecations object can say that it should not be used"}
	ruleChannelRemoved = &problem.Rule{Name: "published-channel-removed", Severity: problem.Error,
		Summary: "a published channel stays in the catalog",
		Reason:  "Subscriptions that follow the channel fail.",
		Fix:     "restore the channel; an olm.deprecations object can name the one to follow"}
	ruleEntryRemoved = &problem.Rule{Name: "published-entry-removed", Severity: problem.Error,
		Summary: "an entry of a published channel stays in the channel",
		Reason:  "Followers of the channel no longer get that bundle.",
		Fix:     "restore the entry"}
	ruleUpdateLost = &problem.Rule{Name: "published-update-lost", Severity: problem.Error,
		Summary: "what was updated to the end of a published channel still is",
		Reason:  "Clusters that have such a bundle installed stay where they are, without a message.",
		Fix:     "keep a way to the head, by replaces, skips or skipRange"}
)
