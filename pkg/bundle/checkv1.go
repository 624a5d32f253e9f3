package bundle

import (
	"errors"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// checkV1 reports why OLM v1 does not install the bundle, unless another rule reports the same.
func (c *checker) checkV1() {
	contents, err := ReadContents(c.fsys, c.name, Options{})
	if err != nil {
		return // reported as unreadable or, if only OLM v1 cannot read it, as an API that was removed
	}
	broken := map[string]bool{}
	for _, p := range c.problems {
		broken[p.Rule] = true
	}
	if broken[ruleCSVCount.Name] {
		return // OLM v1 uses another ClusterServiceVersion than the rest of the checks
	}
	for _, r := range contents.Refusals(V1Options{}) {
		isBroken := func(rule *problem.Rule) bool { return broken[rule.Name] }
		if r.Kind == RefusedManifest || r.Kind == RefusedWebhook || slices.ContainsFunc(sameReasons[r.Kind], isBroken) {
			continue
		}
		err := r.At()
		err.Err = fmt.Errorf("OLM v1 refuses it: %w", err.Err)
		if dependency, ok := errors.AsType[*graph.RefusalError](r.Err); ok {
			err.Err = fmt.Errorf("OLM v1 refuses a bundle with a dependency: its property is %s",
				dependency.Bundle.Dependency)
		}
		c.report(ruleOLMv1, err)
	}
}

// sameReasons are the rules about the parts of a bundle for which OLM v1 refuses it. Every refusal of a manifest or a
// webhook is reported by other rules.
var sameReasons = map[RefusalKind][]*problem.Rule{
	RefusedDependency:   {ruleDependencies},
	RefusedInstallModes: {ruleCSVInstallModes},
	RefusedDefinition:   {ruleCRDMissing, ruleCRDTwice, ruleCRD, ruleUnreadable},
}
