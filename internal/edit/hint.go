package edit

import (
	"context"
	"fmt"
	"slices"

	"github.com/opm-toolchain/opm/internal/shell"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// Hint returns the advice to add --reconnect or --with-bundles, if the flag would make an edit valid that [Apply]
// refused, or "".
func Hint(ctx context.Context, paths []string, e Edit, o Options) string {
	remove, ok := e.(Remove)
	hint := "with --reconnect, what updates the bundle updates what that updates, and the package stays valid"
	switch {
	case ok && remove.Kind == Bundle && !remove.Reconnect:
		remove.Reconnect = true
	case ok && remove.Kind == Channel && !remove.WithBundles:
		remove.WithBundles = true
		hint = "with --with-bundles, the bundles that only the channel has are removed too, and the package stays valid"
	default:
		return ""
	}
	o.DryRun = true
	results, err := Apply(ctx, paths, remove, o)
	if err != nil {
		return ""
	}
	var left []*problem.Problem
	for _, r := range results {
		left = append(left, r.Problems...)
	}
	isOther := func(p *problem.Problem) bool { return p.Rule != validate.DefaultChannel }
	switch {
	case len(left) == 0:
		return hint
	case remove.Kind == Channel && !slices.ContainsFunc(left, isOther):
		return fmt.Sprintf("it is the default channel: first run opm default-channel %s CHANNEL --package %s; then %s",
			shell.Quote(paths[0]), shell.Quote(left[0].Package), hint)
	}
	return ""
}
