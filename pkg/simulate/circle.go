package simulate

import (
	"slices"
	"strings"
)

// remember notes the update of what a Subscription or ClusterExtension has installed, "" for nothing.
func (r *run) remember(of Ref, from, to string) {
	key := of.String()
	if len(r.history[key]) == 0 && from != "" {
		r.history[key] = []string{from}
	}
	r.history[key] = append(r.history[key], to)
}

// circleOf returns the circle of updates that the next one would close, "" if it does not. SkipRanges can lead back to
// an older version, over and over.
func (r *run) circleOf(of Ref, next string) string {
	history := r.history[of.String()]
	i := slices.Index(history, next)
	if i < 0 {
		return ""
	}
	return strings.Join(append(slices.Clone(history[i:]), next), " -> ")
}
