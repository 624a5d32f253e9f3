package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/simulate"
)

func simulateCmd() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate STATE...",
		Short: "Show what OLM does in a cluster, step by step",
		Long: `Show what OLM Classic and OLM v1 do with the objects of a cluster, step by step until nothing
changes any more: what they create, update (~) and delete, what they refuse, and why.

STATE is a directory, a file or "-" with manifests as "kubectl get ... -o yaml" prints them. The
contents of catalogs come from --catalog. A catalog without contents cannot be read by the cluster,
so that OLM Classic resolves nothing where it is visible.

With --write, the objects as they are in the end are written to a directory like that of "oc adm
must-gather", which can be a STATE again.

What no object says is assumed: that images can be pulled and that pods become ready, unless --fail
or --fail-unpack says otherwise. What depends on that is marked as assumed.

With --check-operatorgroup, nothing else is simulated than what an OperatorGroup would do to the
operators of the cluster. The exit status is 1 if one of them would fail.

With --who-can-what nothing is simulated. Instead, the permissions of each operator in STATE are
shown, and to which roles of Kubernetes its APIs are opened; with --catalog, also those of the
operators that catalogs would install, and STATE may be missing. Operators of catalogs with
olm.csv.metadata in place of manifests say nothing about permissions.

The exit status is 0 if nothing changes any more and nothing waits: all that Subscriptions and
ClusterExtensions ask for is installed. Otherwise it is 1.`,
		Example: `  opm simulate cluster.yaml --catalog crafts=catalog
  opm simulate cluster.yaml --catalog crafts=catalog --approve -o markdown
  opm simulate cluster.yaml --catalog crafts=registry.example/crafts/catalog:v1 --fail kiln.v1.2.0
  opm simulate cluster.yaml --catalog crafts=catalog --catalog-down crafts
  opm simulate cluster.yaml --catalog crafts=catalog --approve --diff --write result
  opm simulate cluster.yaml --check-operatorgroup operatorgroup.yaml
  opm simulate --who-can-what --catalog crafts=catalog`,
		Args:              f.args,
		ValidArgsFunction: files,
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

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
	exclude(cmd, "check-operatorgroup", "catalog", "steps", "approve", "fail", "fail-unpack", "diff", "write")
	flags.BoolVar(&f.who, "who-can-what", false, "instead, show what operators may do, and who may use their APIs")
	choiceVar(cmd, &f.format, "output", "o", "text", "output format", "text", "json", "yaml", "markdown")
	completeNothing(cmd, "catalog-down", "fail", "fail-unpack", "kube-version", "ocp-version", "steps", "solver-timeout")
	addReadFlags(cmd, &f.images)
	exclude(cmd, "who-can-what", "approve", "catalog-down", "diff", "fail", "fail-unpack", "kube-version", "ocp-version",
		"steps", "write")
}

// args wants a state, except for what the catalogs alone tell.
func (f *simulateFlags) args(cmd *cobra.Command, args []string) error {
	if f.who && len(f.state.catalogs) > 0 {
		return nil
	}
	return atLeastOne("STATE")(cmd, args)
}

func (f *simulateFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.options.Steps < 0:
		return usageError{errors.New("--steps: want 0 or more")}
	case f.options.Resolve.Timeout <= 0:
		return usageError{errors.New("--solver-timeout: want more than 0")}
	}
	f.state.paths = args
	if f.group != "" {
		return f.checkGroup(cmd)
	}
	if f.who {
		return f.whoCanWhat(cmd)
	}
	done := progress(cmd, "simulating")
	defer done()
	state, catalogs, closeAll, err := f.state.read(cmd, &f.images)
	if err != nil {
		return err
	}
	defer closeAll()
	f.options.Cluster = f.state.options(catalogs)
	f.options.Cluster.Down = f.down
	r, err := simulate.Run(cmd.Context(), state, f.options)
	if err != nil {
		return err
	}
	if f.diff {
		if r.Changes, err = cluster.Diff(state, r.State); err != nil {
			return err
		}
	}
	if f.write != "" {
		if err := atomicfile.NewDir(f.write, r.State.Write); err != nil {
			return fmt.Errorf("--write %s: %w", f.write, err)
		}
	}
	done()
	if err := writeSimulation(cmd.OutOrStdout(), r, f.format); err != nil {
		return err
	}
	if !r.Done() {
		return errReported
	}
	return nil
}

func writeSimulation(w io.Writer, r *simulate.Result, format string) error {
	switch format {
	case "text":
		return r.WriteText(w)
	case "markdown":
		return r.WriteMarkdown(w)
	default:
		return writeValue(w, r, format)
	}
}
