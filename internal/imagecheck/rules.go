package imagecheck

import (
	"sync"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// Rules returns the reasons for which an image of a catalog cannot be pulled. The tests check that the bad example of a
// rule breaks exactly this rule, and the good one none.
var Rules = sync.OnceValue(func() *problem.Rules { return problem.NewRules("", imageRules) })

const kilnBundle = `schema: olm.bundle
package: kiln
name: kiln.v1.0.0
`

var imageRules = &problem.Group{Title: "Images", Rules: []*problem.Rule{
	ruleMissing, ruleUnknown, ruleInvalid,
}}

var (
	ruleMissing = &problem.Rule{Name: "missing", Severity: problem.Error,
		Summary:  "the images that a catalog names exist",
		Reason:   "Registries answer that there is no such image, so the bundle cannot be installed or mirrored.",
		Abridged: "the tag is not in the registry",
		Bad:      kilnBundle + "image: registry.example/pottery/kiln-bundle:v1.0.O",
		Good:     kilnBundle + "image: registry.example/pottery/kiln-bundle:v1.0.0"}
	ruleUnknown = &problem.Rule{Name: Unknown, Severity: problem.Error,
		Summary:  "every image can be asked for",
		Reason:   "No registry could be asked, or the answer was neither yes nor no.",
		Abridged: "the registry asks for credentials that are not in the authfile",
		Bad:      kilnBundle + "image: registry.example/private/kiln-bundle:v1.0.0",
		Good:     kilnBundle + "image: registry.example/pottery/kiln-bundle:v1.0.0"}
	ruleInvalid = &problem.Rule{Name: "invalid", Severity: problem.Error,
		Summary: "the images that a catalog names are references",
		Reason:  "No container tool can pull a reference without the host of a registry, so no registry was asked.",
		Bad:     kilnBundle + "image: pottery/kiln-bundle:v1.0.0",
		Good:    kilnBundle + "image: registry.example/pottery/kiln-bundle:v1.0.0"}
)
