package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/simulate"
)

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	state   stateFlags
	images  imageFlags
	options simulate.Options
	down    []string
	diff    bool
	write   string
	group   string
	who     bool
	format  string
}

func (f *simulateFlags) add(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	f.state.addCatalogs(cmd)
	flags.StringArrayVar(&f.down, "catalog-down", nil, "assume that the cluster cannot read the catalog of this `NAME`")
	flags.BoolVar(&o.Approve, "approve", false, "approve InstallPlans")
	flags.StringArrayVar(&o.Fail, "fail", nil, "assume that the operator of this `CSV` never becomes ready")
	flags.StringArrayVar(&o.FailUnpack, "fail-unpack", nil,
		"assume that the bundle image of this `CSV` cannot be unpacked")
	flags.StringVar(&o.KubeVersion, "kube-version", "", "`VERSION` of Kubernetes in the cluster")
	flags.StringVar(&o.OCPVersion, "ocp-version", "", "`VERSION` of OpenShift in the cluster, if it is one")
	flags.IntVar(&o.Steps, "steps", 0, "stop after this `NUMBER` of steps (default: when nothing changes any more)")
	flags.DurationVar(&o.Resolve.Timeout, "solver-timeout", 10*time.Second,
		"give up on a namespace after this `TIME`: undecided")
	flags.BoolVar(&f.diff, "diff", false, "show how the objects differ from those of STATE in the end")
	flags.StringVar(&f.write, "write", "", "write the objects as they are in the end to this new `DIRECTORY`")
	completeWith(cmd, directories, "write")
	flags.StringVar(&f.group, "check-operatorgroup", "",
		"show only what the OperatorGroup in this `FILE` would break if it was added")
	completeWith(cmd, files, "check-operatorgroup")
	flags.BoolVar(&f.who, "who-can-what", false, "instead, show what operators may do, and who may use their APIs")
	choiceVar(cmd, &f.format, "output", "o", "text", "output format", "text", "json", "yaml", "markdown",
		"prometheus")
	completeNothing(cmd, "catalog-down", "fail", "fail-unpack", "kube-version", "ocp-version", "steps", "solver-timeout")
	addReadFlags(cmd, &f.images)
	simulateModes.add(cmd)
}

var simulateModes = modes{
	"": "catalog catalog-priority catalog-down global-namespace single-own-namespace approve fail fail-unpack " +
		"kube-version ocp-version steps solver-timeout diff write",
	"check-operatorgroup": "",
	"who-can-what":        "catalog",
}

// args wants a state, unless only catalogs are asked about.
func (f *simulateFlags) args(cmd *cobra.Command, args []string) error {
	if f.who && len(f.state.catalogs) > 0 {
		return nil
	}
	return atLeastOne("STATE")(cmd, args)
}
