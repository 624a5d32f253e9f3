package simulate

import (
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// checkNames returns an error about a name of the options that neither an operator of the state nor a bundle of the
// catalogs has.
func (r *run) checkNames() error {
	wanted := slices.Concat(r.opts.Fail, r.opts.FailUnpack)
	if len(wanted) == 0 {
		return nil
	}
	names := r.question.BundleNames()
	for o := range r.State.ClusterServiceVersions.All() {
		names = append(names, o.Value.Name)
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("no ClusterServiceVersion %q%s", name, nearest.Hint(name, names))
		}
	}
	return nil
}
