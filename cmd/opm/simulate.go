package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/simulate"
	"github.com/opm-toolchain/opm/internal/output"
)

func simulateCmd() *cobra.Command {
	var f simulateFlags
	return command{
		Use:   "simulate STATE...",
		Short: "Show what OLM does in a cluster, step by step",
		Long: `Show what OLM Classic and OLM v1 do with the objects of a cluster until nothing changes:
for each Subscription and ClusterExtension the bundles installed before and after, the reasons why
it is blocked and actions that would help, and then the numbers of created, updated and deleted
objects of each kind. With --timeline, each of these changes is shown with its reason, step by
step: OLM creates (+), updates (~) or deletes (-) an object.

` + stateNote + `

The contents of catalogs come from --catalog. A catalog without contents cannot be read by the
cluster, so that OLM Classic resolves nothing where it is visible. Contents that opm serve refuses
are a warning.

` + contentsNote + `

With --write, the objects as they are when OLM comes to rest are written to a directory like that
of "oc adm must-gather", which can be a STATE again. They are also what --diff compares. What only
the next sync of a namespace changes, minutes later, is not in them.

In the timeline, what happens to several objects for one reason shares a line, and a reason is not
repeated in a step for objects of one kind; -o json and yaml have it all. A change that OLM or
Kubernetes makes only after minutes says so: at a deadline, or at the next sync of a namespace.

What no object says is assumed: that images can be pulled and that pods become ready, unless --fail
or --fail-unpack says otherwise. What depends on that is marked as assumed.

With -o prometheus, the metrics that OLM exports at the end are shown, apart from those that depend
on time.

With --watch, the objects of kube: are read once and followed. Each answer that differs from the
last one is printed: as the difference, or in JSON and YAML as one more document. The user needs
the permission to watch the objects, besides that to list them.

The exit status is 0 if the cluster becomes idle and nothing waits: everything that Subscriptions
and ClusterExtensions ask for is installed. Otherwise it is 1. Objects that cannot be read, or
that a cluster refuses, are errors with their places; the others are simulated all the same.`,
		Example: `  opm simulate cluster.yaml --catalog crafts=catalog
  opm simulate cluster.yaml --catalog crafts=catalog --approve -o markdown
  opm simulate cluster.yaml --catalog crafts=catalog --timeline --subscription pottery/kiln
  opm simulate cluster.yaml --catalog crafts=registry.example/crafts/catalog:v1 --fail kiln.v1.2.0
  opm simulate cluster.yaml --catalog crafts=catalog --catalog-down crafts
  opm simulate cluster.yaml --catalog crafts=catalog --approve --diff --write result
  opm simulate kube:staging --catalog crafts=catalog --save staging.json
  opm simulate must-gather --pull
  opm simulate kube: --catalog crafts=catalog --watch`,
		args:     f.args,
		complete: completion.Files,
		flags:    f.add,
		formats:  []output.Format{output.Text, output.JSON, output.YAML, output.Markdown, prometheusFormat},
		images:   &f.images,
		modes:    simulateModes,
		do:       f.run,
	}.cobra()
}

func (f *simulateFlags) add(cmd *cobra.Command) {
	flags, o := cmd.Flags(), &f.options
	f.state.addCatalogs(cmd)
	f.state.live.add(flags)
	flags.BoolVar(&o.Approve, "approve", false, "approve InstallPlans")
	flags.StringArrayVar(&o.Fail, "fail", nil, "assume that the operator of this `CSV` never becomes ready")
	flags.StringArrayVar(&o.FailUnpack, "fail-unpack", nil,
		"assume that the bundle image of this `CSV` cannot be unpacked")
	f.target.add(cmd, "kube-version", "ocp-version")
	flags.IntVar(&o.Steps, "steps", 0, "stop after this `NUMBER` of steps (default: when nothing changes)")
	flags.DurationVar(&o.Resolve.Timeout, "solver-timeout", 10*time.Second,
		"give up on a namespace after this `TIME`: undecided")
	flags.BoolVar(&f.timeline, "timeline", false, "show each change of an object, step by step")
	flags.StringVar(&f.subscription, "subscription", "",
		"show only this Subscription, with its InstallPlans and operators: `NAMESPACE/NAME`")
	flags.BoolVar(&f.diff, "diff", false, "show how the objects differ from those of STATE when OLM comes to rest")
	flags.StringVar(&f.write, "write", "", "write the objects as they are when OLM comes to rest to this new `DIRECTORY`")
	flags.BoolVar(&f.watched, "watch", false, "answer again whenever the live cluster changes, until Ctrl-C")
	f.addGroup(flags)
	cmdline.RenameFlag(flags, checkGroup, "opm permissions --"+checkGroup)
	flags.BoolVar(&f.who, "who-can-what", false, "instead, show what operators may do, and who may use their APIs")
	cmdline.RenameFlag(flags, "who-can-what", "opm permissions")
	cmdline.Exclude(cmd, "write", "watch")
}

func (f *simulateFlags) run(cmd *cobra.Command, args []string) error {
	switch {
	case f.options.Steps < 0:
		return cmdline.Errorf("--steps: want 0 or more")
	case cmdline.Format(cmd) == prometheusFormat && (f.group != "" || f.who):
		return cmdline.Errorf("-o prometheus shows a simulation, not --check-operatorgroup or --who-can-what")
	}
	if err := checkSolverTimeout(f.options.Resolve.Timeout); err != nil {
		return err
	}
	if err := f.target.parse(); err != nil {
		return err
	}
	f.options.KubeVersion, f.options.OCPVersion = f.target.kubernetes, f.target.openShift
	if f.group != "" || f.who {
		answer, err := f.permissionsFlags.run(cmd, args)
		if answer != nil {
			err = cmp.Or(printResult(cmd, answer), err)
		}
		return err
	}
	f.state.paths = args
	if f.watched {
		return f.watch(cmd)
	}
	return f.simulate(cmd)
}

// simulateFlags are the flags of simulate.
type simulateFlags struct {
	permissionsFlags
	options simulate.Options
	target  clusterTarget
	diff    bool

	timeline     bool
	subscription string

	write   string
	who     bool
	watched bool
	found   bool // the Subscription of --subscription was in an earlier answer
}

var simulateModes = cmdline.Modes{
	"": "catalog catalog-priority catalog-down global-namespace single-own-namespace bundle-releases approve fail " +
		"fail-unpack target kube-version ocp-version steps solver-timeout timeline subscription diff write watch" +
		liveModes + contentsModes,
	checkGroup:     liveModes,
	"who-can-what": "catalog" + liveModes,
}

// args checks the arguments.
func (f *simulateFlags) args(cmd *cobra.Command, args []string) error {
	if f.who {
		return f.permissionsFlags.args(cmd, args)
	}
	return cmdline.WantArgs("STATE...")(cmd, args)
}

// simulate simulates the readable objects of the state, even if others are not readable.
func (f *simulateFlags) simulate(cmd *cobra.Command) error {
	done := display(cmd).Start("simulating")
	defer done()
	state, contents, refused, err := f.state.openChecked(cmd, &f.images)
	if err != nil {
		return err
	}
	defer contents.close()
	r, err := f.simulation(cmd, state)
	if err != nil {
		return err
	}
	done()
	warnOfTemplates(cmd, state)
	if err := printResult(cmd, f.result(r)); err != nil {
		return err
	}
	return verdict(r, refused)
}

// verdict returns the error about a cluster that does not reach the desired state, or about objects that it refuses.
func verdict(r *simulate.Result, refused error) error {
	if refused == nil && !r.Done() {
		return failure.New("the cluster does not reach the desired state: see the output")
	}
	return refused
}

// simulation simulates a state, and writes the objects that --write asks for.
func (f *simulateFlags) simulation(cmd *cobra.Command, state *cluster.State) (*simulate.Result, error) {
	f.options.Cluster = f.state.opts
	r, err := simulate.Run(cmd.Context(), state, f.options)
	if err != nil {
		return nil, err
	}
	if f.diff {
		if r.Changes, err = cluster.Diff(state, r.Rest); err != nil {
			return nil, err
		}
	}
	if f.write != "" {
		if err := atomicfile.NewDir(f.write, r.Rest.Write); err != nil {
			return nil, fmt.Errorf("--write %s: %w", f.write, err)
		}
	}
	return f.only(r)
}

// warnOfTemplates warns about CatalogSources that keep their image although they have an image template.
func warnOfTemplates(cmd *cobra.Command, state *cluster.State) {
	for o := range state.CatalogSources.All() {
		template, ok := o.Value.Annotations[catalogsource.TemplateAnnotation]
		if !ok {
			continue
		}
		if err := catalogsource.CheckTemplate(template); err != nil {
			what := fmt.Sprintf("CatalogSource %q keeps spec.image: metadata.annotations[%q]: %v",
				o.Value.Namespace+"/"+o.Value.Name, catalogsource.TemplateAnnotation, err)
			warnAt(cmd, o.Pos, what)
		}
	}
}

// only returns the part of the result that is about the Subscription of --subscription. With --watch, it may be
// deleted.
func (f *simulateFlags) only(r *simulate.Result) (*simulate.Result, error) {
	if f.subscription == "" {
		return r, nil
	}
	namespace, name, _ := strings.Cut(f.subscription, "/")
	if only := r.Only(namespace, name); only != nil {
		f.found = true
		return only, nil
	}
	if f.found {
		return r.Without(namespace, name), nil
	}
	var names []string
	for o := range r.State.Subscriptions.All() {
		names = append(names, o.Value.Namespace+"/"+o.Value.Name)
	}
	return nil, cmdline.Errorf("--subscription: no Subscription %q%s", f.subscription,
		nearest.Hint(f.subscription, names))
}

// result returns the answer that a simulation gives.
func (f *simulateFlags) result(r *simulate.Result) *output.Result {
	about := r.Report
	if f.timeline {
		about = r.Timeline
	}
	return &output.Result{Value: r, Report: about, Other: map[output.Format]func(io.Writer) error{
		prometheusFormat: r.WriteMetrics,
	}}
}

const prometheusFormat output.Format = "prometheus"
