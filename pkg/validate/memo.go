package validate

import (
	"fmt"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// memo returns the part of Options.Memo for validations that check single objects in the same way, as those for several
// platforms do. It may be nil.
func (v *validator) memo() *declcfg.Memo {
	how := v.opts
	if how.Memo == nil {
		return nil
	}
	how.Memo, how.Other = nil, nil
	how.Levels = problem.Levels{}               // in the sets of v
	how.Policy.LargestSkip = nil                // of the relations between objects
	if v.opts.Target != (platform.Platform{}) { // objects do not depend on the version, see needs and fitTarget
		how.Target = platform.Platform{Metadata: "any"}
		if v.opts.Target.OLMv1 == platform.OLMv1Absent {
			how.Target.OLMv1 = platform.OLMv1Absent
		}
	}
	return v.opts.Memo.As(fmt.Sprintf("%+v %v %v %v", how, v.off, v.alone, v.unplaced))
}
