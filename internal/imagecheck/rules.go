package imagecheck

import (
	"embed"
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the reasons for which an image of a catalog cannot be pulled. The tests check that the bad example of a
// rule breaks exactly this rule, and the good one none.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.NewRules("", ruleFiles, imageRules) })

//go:embed rules/*.txtar
var ruleFiles embed.FS

var imageRules = &problem.Group{Title: "Images", Rules: []*problem.Rule{
	ruleMissing, ruleUnknown, ruleInvalid,
}}

var (
	ruleMissing = &problem.Rule{Name: "missing", Severity: problem.Error,
		Summary: "the images that a catalog names exist",
		Reason:  "Registries answer that there is no such image, so the bundle cannot be installed or mirrored."}
	ruleUnknown = &problem.Rule{Name: Unknown, Severity: problem.Error,
		Summary: "every image can be asked for",
		Reason:  "No registry could be asked, or the answer was neither yes nor no."}
	ruleInvalid = &problem.Rule{Name: "invalid", Severity: problem.Error,
		Summary: "the images that a catalog names are references",
		Reason:  "No container tool can pull a reference without the host of a registry, so no registry was asked."}
)
