package main

import (
	"bytes"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/diagnose"
	"github.com/opm-toolchain/opm/internal/output"
)

func diagnoseCmd() *cobra.Command {
	var f diagnoseFlags
	return command{
		Use:   "diagnose [STATE...]",
		Short: "Explain why a cluster does not do what its objects ask for",
		Long: `Explain why a cluster does not do what its Subscriptions and ClusterExtensions ask for: for each
cause a block, the worst first, with the object that shows it, since when, the objects that suffer
from it, and commands that would help. Healthy objects are one line of counts.

` + stateNote + `
Without STATE, it is the live cluster of the current context. A directory that "oc adm must-gather"
wrote is a STATE, too. Besides the objects of OLM, these are of use: Pods, Jobs, Events, Services,
Deployments, Namespaces, CustomResourceDefinitions and APIServices.

Without --catalog, --pull or --forward, opm knows only what the conditions, pods and events of the
cluster say. With the contents of catalogs, as for opm simulate, it explains failed resolutions,
and finds the problems that the next actions of OLM will have.

` + contentsNote + `

With --redact, the names of namespaces, hosts and users are replaced, each always by the same name,
so that the output can be posted. The namespaces that clusters have by default keep their names.

The exit status is 0 if nothing is stuck or wrong, and 1 otherwise. Notes do not count. Objects
that cannot be read, or that a cluster refuses, are errors with their places; the others are
diagnosed all the same.`,
		Example: `  opm diagnose
  opm diagnose kube:staging --save cluster.json
  opm diagnose cluster.yaml
  opm diagnose cluster.yaml --catalog crafts=catalog
  opm diagnose kube: --pull
  opm diagnose cluster.yaml -o markdown --redact`,
		flags:   f.add,
		formats: []output.Format{output.Text, output.JSON, output.YAML, output.Markdown},
		images:  &f.images,
		work:    "diagnosing",
		run:     f.run,
	}.cobra()
}

func (f *diagnoseFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.state.addCatalogs(cmd)
	f.state.live.add(flags)
	f.target.add(cmd, "ocp-version")
	flags.DurationVar(&f.options.Resolve.Timeout, "solver-timeout", 10*time.Second,
		"give up on a namespace after this `TIME`: undecided")
	flags.BoolVar(&f.redact, "redact", false, "replace the names of namespaces, hosts and users")
}

// diagnoseFlags are the flags of diagnose.
type diagnoseFlags struct {
	state   stateFlags
	images  imageFlags
	options diagnose.Options
	target  clusterTarget
	redact  bool
}

// run diagnoses the readable objects of the state, even if others are not readable.
func (f *diagnoseFlags) run(cmd *cobra.Command, args []string) (*output.Result, error) {
	if err := checkSolverTimeout(f.options.Resolve.Timeout); err != nil {
		return nil, err
	}
	if err := f.target.parse(); err != nil {
		return nil, err
	}
	f.options.KubeVersion, f.options.OCPVersion = f.target.kubernetes, f.target.openShift
	stderr := cmd.ErrOrStderr()
	var messages bytes.Buffer // about the state, which are redacted with the answer
	if f.redact {
		cmd.SetErr(&messages)
		defer func() {
			cmd.SetErr(stderr)
			_, _ = messages.WriteTo(stderr) // nobody can be told
		}()
	}
	if len(args) == 0 {
		args = []string{kube.Prefix}
	}
	f.state.paths = args
	state, contents, refused, err := f.state.openChecked(cmd, &f.images)
	if err != nil {
		return nil, err
	}
	defer contents.close()
	warnIfNone(cmd, state.Subscriptions.Len()+state.ClusterExtensions.Len(), "Subscriptions or ClusterExtensions", args...)
	f.options.Cluster = f.state.opts
	r, err := diagnose.Run(cmd.Context(), state, f.options)
	if err != nil {
		return nil, err
	}
	if refused == nil && r.Stuck() {
		refused = failed("the cluster has problems: see the output")
	}
	if f.redact {
		refused = redact(cmd, r, state, &messages, refused)
	}
	return &output.Result{Value: r, Report: r.Report}, refused
}

// redact replaces names in a result, in the messages so far, and in the error of the command, which it returns.
func redact(
	cmd *cobra.Command, r *diagnose.Result, state *cluster.State, messages *bytes.Buffer, err error,
) error {
	var errors bytes.Buffer
	if err != nil {
		printError(&errors, cmd, err)
	}
	before, after := messages.String(), errors.String()
	r.Redact(state, &before, &after)
	messages.Reset()
	messages.WriteString(before)
	if err == nil {
		return nil
	}
	return &failure{after: after}
}
