package main

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
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
	if len(args) == 0 {
		args = []string{kube.Prefix}
	}
	f.state.paths = args
	diagnosis := f.diagnose
	if f.redact {
		diagnosis = f.redacted
	}
	r, _, err := diagnosis(cmd)
	if r == nil {
		return nil, err
	}
	return &output.Result{Value: r, Report: r.Report}, err
}

// diagnose diagnoses the state. The result is nil if there is no answer, and the state is nil if it was not read. With
// an answer, the error is about objects that cannot be read or that a cluster refuses, or about problems of the
// cluster.
func (f *diagnoseFlags) diagnose(cmd *cobra.Command) (*diagnose.Result, *cluster.State, error) {
	state, contents, refused, err := f.state.openChecked(cmd, &f.images)
	if err != nil {
		return nil, state, err
	}
	defer contents.close()
	warnIfNone(cmd, state.Subscriptions.Len()+state.ClusterExtensions.Len(), "Subscriptions or ClusterExtensions",
		f.state.paths...)
	f.options.Cluster = f.state.opts
	r, err := diagnose.Run(cmd.Context(), state, f.options)
	if err != nil {
		return nil, state, err
	}
	if refused == nil && r.Stuck() {
		refused = failure.New("the cluster has problems: see the output")
	}
	return r, state, refused
}

// redacted is like diagnose, with other names in the result, in the messages about the state and in the error.
func (f *diagnoseFlags) redacted(cmd *cobra.Command) (*diagnose.Result, *cluster.State, error) {
	stderr := cmd.ErrOrStderr()
	defer cmd.SetErr(stderr)
	var messages, problems bytes.Buffer
	cmd.SetErr(&messages)
	r, state, err := f.diagnose(cmd)
	usage, isUsage := errors.AsType[cmdline.Error](err)
	if isUsage {
		err = usage.Err // the usage is printed with the redacted error
	}
	if err != nil {
		printError(&problems, cmd, err)
	}
	before, after := messages.String(), problems.String()
	cmp.Or(r, &diagnose.Result{}).Redact(cmp.Or(state, &cluster.State{}), f.state.paths, &before, &after)
	_, _ = io.WriteString(stderr, before) // nobody can be told
	if err != nil {
		err = &failure.Error{After: after}
	}
	if isUsage {
		err = cmdline.Invalid(err)
	}
	return r, state, err
}
