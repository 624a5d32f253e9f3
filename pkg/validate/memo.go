package validate

import (
	"fmt"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// memoKey returns a key that is equal for validations that check single objects in the same way, as those for several
// platforms do.
func (v *validator) memoKey() string {
	how := v.opts
	how.Other = nil
	how.Levels = problem.Levels{}               // in the sets of v
	how.Policy.LargestSkip = nil                // of the relations between objects
	if v.opts.Target != (platform.Platform{}) { // objects do not depend on the version, see needs and fitTarget
		how.Target = platform.Platform{Metadata: "any"}
		if v.opts.Target.OLMv1 == platform.OLMv1Absent {
			how.Target.OLMv1 = platform.OLMv1Absent
		}
	}
	return fmt.Sprintf("%+v %v %v %v", how, v.off, v.alone, v.unplaced)
}
