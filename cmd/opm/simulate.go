package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func simulateCmd() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate STATE...",
		Short: "Show what OLM does in a cluster, step by step",
		Long:  simulateLong,
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

const simulateLong = `Show what OLM Classic and OLM v1 do with the objects of a cluster, step by step until nothing
changes any more: what they create (+), update (~) and delete (-), what they refuse, and why.

STATE is a directory, a file or "-" with manifests as "kubectl get ... -o yaml" prints them. The
contents of catalogs come from --catalog. A catalog without contents cannot be read by the cluster,
so that OLM Classic resolves nothing where it is visible. Contents that opm serve refuses are a
warning.

With --write, the objects as they are in the end are written to a directory like that of "oc adm
must-gather", which can be a STATE again.

In text, what happens to several objects for one reason shares a line, and a reason is not repeated
in a step for objects of one kind; -o json and yaml have it all.

What no object says is assumed: that images can be pulled and that pods become ready, unless --fail
or --fail-unpack says otherwise. What depends on that is marked as assumed.

With --check-operatorgroup, nothing else is simulated than what an OperatorGroup would do to the
operators of the cluster. The exit status is 1 if one of them would fail.

With --who-can-what nothing is simulated. Instead, the permissions of each operator in STATE are
shown, and to which roles of Kubernetes its APIs are opened; with --catalog, also those of the
operators that catalogs would install, and STATE may be missing. Operators of catalogs with
olm.csv.metadata in place of manifests say nothing about permissions.

With -o prometheus, the metrics that OLM exports at the end are shown, apart from those that depend
on time.

The exit status is 0 if nothing changes any more and nothing waits: all that Subscriptions and
ClusterExtensions ask for is installed. Otherwise it is 1. Objects that cannot be read, or that a
cluster refuses, are errors with their places; the others are simulated all the same.`

func (f *simulateFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.options.Steps < 0:
		return usageError{errors.New("--steps: want 0 or more")}
	case f.options.Resolve.Timeout <= 0:
		return usageError{errors.New("--solver-timeout: want more than 0")}
	case f.format == "prometheus" && (f.group != "" || f.who):
		return usageError{errors.New("-o prometheus shows a simulation, not --check-operatorgroup or --who-can-what")}
	}
	if _, err := parseKubeVersion(f.options.KubeVersion); err != nil {
		return err
	}
	f.state.paths = args
	if f.group != "" {
		return f.checkGroup(cmd)
	}
	if f.who {
		return f.whoCanWhat(cmd)
	}
	return f.simulate(cmd)
}
