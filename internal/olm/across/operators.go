package across

import (
	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Operators returns the operators that Subscriptions and ClusterExtensions of a cluster have installed. An operator of
// a ClusterExtension with several channels counts as one without a channel. The result is not nil.
func Operators(state *cluster.State) []Operator {
	all := []Operator{}
	for o := range state.Subscriptions.All() {
		s := o.Value
		if s.Spec == nil || s.Status.InstalledCSV == "" {
			continue
		}
		in := Operator{
			Package: s.Spec.Package, Channel: s.Spec.Channel, Bundle: s.Status.InstalledCSV, OLM: graph.Classic,
		}
		if csv, ok := state.ClusterServiceVersions.Get(s.Namespace, in.Bundle); ok {
			if v := csv.Value.Spec.Version.Version; v.NE(semver.Version{}) {
				in.Version = &declcfg.Version{Semver: v}
			}
		}
		all = append(all, in)
	}
	for o := range state.ClusterExtensions.All() {
		e := o.Value
		installed, from := e.Status.Install.Bundle, e.Spec.Source.Catalog
		if from == nil || installed.Name == "" {
			continue
		}
		in := Operator{Package: from.PackageName, Bundle: installed.Name, OLM: graph.V1}
		if len(from.Channels) == 1 {
			in.Channel = from.Channels[0]
		}
		if v, err := declcfg.ParseVersion(installed.Version, installed.Release); err == nil {
			in.Version = &v
		}
		all = append(all, in)
	}
	return all
}
