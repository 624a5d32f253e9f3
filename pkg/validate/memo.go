package validate

import (
	"fmt"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// memo returns the part of Options.Memo for validations that check single objects in the same way, as those for several
// platforms do. It may be nil.
func (o Options) memo() *declcfg.Memo {
	if o.Memo == nil {
		return nil
	}
	how := o
	how.Memo, how.Other = nil, nil
	how.Policy.LargestSkip = nil           // of the relations between objects
	if o.Target != (platform.Platform{}) { // objects do not depend on the version, see needs and fitTarget
		how.Target = platform.Platform{Metadata: "any"}
		if o.Target.OLMv1 == platform.OLMv1Absent {
			how.Target.OLMv1 = platform.OLMv1Absent
		}
	}
	return o.Memo.As(fmt.Sprintf("%+v", how))
}
