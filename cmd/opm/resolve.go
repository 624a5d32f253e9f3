package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/problems"
	"github.com/opm-toolchain/opm/internal/olm/resolution"
	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func resolveCmd() *cobra.Command {
	f := resolveFlags{all: resolveAllFlags{reportFlags: reportFlags{
		Printer: problems.Printer{Rules: resolve.Rules, OnOut: true},
	}}}
	return command{
		Use:   "resolve ([NAME=]CATALOG... | --state PATH...)",
		Short: "Show what OLM installs, and why not something else",
		Long: `Show what OLM Classic and OLM v1 install of a package, with all that it depends on: for a new
installation or, with --installed, as the next update. Exit status 1 means that OLM would refuse.

Each CATALOG is a directory, a file, an archive, "-" for standard input, or an image; see opm list.
A name makes it NAME or NAMESPACE/NAME on the cluster; without one it is "cat", "cat2" and so on in
the namespace "ns". The Subscription is called "sub" and uses the first catalog; others provide
dependencies only. OLM v1 chooses among all catalogs.

With --all, ask about every channel of the first catalog what a new installation gets, and what
happens where one of its bundles and nothing else is installed. Each cause of trouble is reported
once, with the number of bundles it matters to. An error is what OLM does not resolve; a warning
is a bundle that is held back by what it requires. OLM v1 is asked about the first catalog only.
Rules, opm.yaml and baselines are those of opm validate.

With --all --olm v1, also list which packages OLM v1 installs, and every reason why it does not
install the others: install modes, dependencies, webhooks, manifests. If the catalog does not have
the manifests of a bundle, --images reads them from its image. --target, or opm.yaml, names the
platform: OLM v1 installs webhooks on OpenShift from 4.21 on.

With --state, all of a cluster is resolved: what its Subscriptions and ClusterExtensions install or
update, why not something newer and, where they fail, the conditions that say so. PATH is a
directory, a file or "-" with manifests as "kubectl get ... -o yaml" prints them: OperatorGroup,
CatalogSource, Subscription, ClusterServiceVersion, InstallPlan, ClusterCatalog and
ClusterExtension, and with --pull Pods and mirror sets; others do not matter. kube:[CONTEXT] is the
live cluster of a context of kubectl, which is only read. The contents of catalogs come from
--catalog. A catalog without contents, or with --catalog-down, cannot be read by the cluster, so
that OLM resolves nothing where it is visible.

` + contentsNote,
		Example: `  opm resolve catalog --package kiln
  opm resolve catalog --package kiln --channel stable --installed kiln.v1.1.0 --olm classic
  opm resolve catalog --package kiln --installed kiln.v1.0.0 --path
  opm resolve catalog --all --olm classic
  opm resolve catalog --all --olm v1 --target ocp=4.20 --images -o markdown
  opm resolve ours=catalog/kiln openshift-marketplace/theirs=catalog/loom --package kiln -o json
  opm resolve --state cluster.yaml --catalog crafts=catalog
  opm resolve --state cluster.yaml --catalog crafts=catalog --catalog-down crafts
  opm resolve --state kube: --catalog crafts=catalog --save cluster.json`,
		args:     f.args,
		complete: completion.Args(completion.Files),
		flags:    f.add,
		images:   &f.images,
		report:   &f.all.reportFlags,
		each:     f.all.forEach(),
		modes:    resolveModes,
		do:       f.run,
	}.cobra()
}

// resolveFlags are the flags of resolve.
type resolveFlags struct {
	setup   resolve.SetupOptions
	olm     olmFlag
	target  string
	explain string
	path    bool
	timeout time.Duration
	state   stateFlags
	images  imageFlags
	all     resolveAllFlags
}

func (f *resolveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.setup.Package, "package", "", "resolve this `PACKAGE`")
	flags.StringVar(&f.setup.Channel, "channel", "", "follow this `CHANNEL` (default: any)")
	flags.StringArrayVar(&f.setup.Installed, "installed", nil,
		"assume that this `BUNDLE` is installed, of the package or another")
	flags.StringVar(&f.setup.StartingCSV, "starting", "",
		"startingCSV of the Subscription: the `BUNDLE` to install first (OLM Classic)")
	flags.StringVar(&f.setup.Version, "version", "", "version `RANGE` in the ClusterExtension (OLM v1)")
	flags.StringVar(&f.setup.Watch, "watch-namespace", "",
		"let the operator, in the namespace ns, watch `NAMESPACE` only (OLM v1, with --single-own-namespace)")
	f.olm.add(cmd, "which OLM to ask")
	flags.StringVar(&f.target, "target", "", "ask the OLM v1 of the platform `TARGET`, such as ocp=4.20")
	flags.BoolVar(&f.path, "path", false, "repeat until nothing is left to update")
	cmdline.ChoiceVar(cmd, &f.explain, "explain", "", explainShort, "how long the text of an explanation is",
		explainShort, explainFull)
	flags.DurationVar(&f.timeout, "solver-timeout", solverTimeout, "give up on OLM Classic after this `TIME`: undecided")
	cmdline.ChoiceVar(cmd, new(string), "output", "o", "text", "output format",
		append(problem.Formats(), "dot")...)
	f.all.add(cmd)
	f.state.add(cmd)
}

// solverTimeout is the default of --solver-timeout.
const solverTimeout = 10 * time.Second

// The values of --explain.
const (
	explainShort = "short"
	explainFull  = "full"
)

// A short explanation has at most maxExplanation lines, and ends with the hint if lines are omitted.
const (
	maxExplanation  = 25
	hintExplanation = "with --explain=full"
)

var resolveModes = cmdline.Modes{
	"": "package channel version starting installed watch-namespace path olm explain solver-timeout " +
		"single-own-namespace bundle-releases target",
	"all": "package olm solver-timeout single-own-namespace bundle-releases info disable warnings-as-errors config " +
		"baseline write-baseline each target images channels",
	"state": "olm explain solver-timeout catalog catalog-priority catalog-down global-namespace " +
		"single-own-namespace bundle-releases target" + liveModes + contentsModes,
	"rules": "",
}

// args checks the arguments: catalogs, unless there is a state.
func (f *resolveFlags) args(cmd *cobra.Command, args []string) error {
	if f.state.paths != nil {
		return cmdline.WantArgs("")(cmd, args)
	}
	return cmdline.WantArgs("CATALOG...")(cmd, args)
}

func (f *resolveFlags) run(cmd *cobra.Command, args []string) error {
	switch err := f.all.check(cmd); {
	case err != nil:
		return err
	case f.timeout <= 0:
		return checkSolverTimeout(f.timeout)
	case f.state.paths != nil:
		return f.runState(cmd)
	case f.all.on:
		return f.runAll(cmd, args)
	case f.setup.Package == "":
		return cmdline.Errorf("--package is missing: it names the package to install")
	}
	if err := f.readTarget(nil, args[0]); err != nil {
		return err
	}
	done := display(cmd).Start("reading")
	defer done()
	setup, closeAll, err := f.openSetup(cmd, args)
	if err != nil {
		return err
	}
	defer closeAll()
	for _, unknown := range setup.UnknownNames() {
		warn(cmd, "%s", unknown)
	}
	r, err := resolution.OfPackage(cmd.Context(), setup, f.question())
	if err != nil {
		return err
	}
	done()
	return f.print(cmd, r)
}

// readTarget reads the platform of the cluster from --target or else from opm.yaml, which has it for the catalog ref.
// Without a configuration, it reads the flag only.
func (f *resolveFlags) readTarget(c *opmyaml.Config, ref string) (err error) {
	p := &f.setup.Target
	switch {
	case f.target != "":
		if *p, err = platform.ParseTarget(f.target); err != nil {
			return cmdline.Errorf("--target: %w", err)
		}
	case c != nil:
		*p, err = c.TargetOf(ref)
	}
	if err == nil && f.olm == olmV1 && p.OLMv1 == platform.OLMv1Absent {
		err = cmdline.Errorf("--olm v1: %s has no OLM v1", p)
	}
	return err
}

// openSetup returns the setup of a cluster from catalogs and flags. The objects of the catalogs can be read again until
// closeAll is called.
func (f *resolveFlags) openSetup(
	cmd *cobra.Command, args []string,
) (setup *resolve.Setup, closeAll func(), err error) {
	catalogs, closeAll, err := f.images.readCatalogs(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	f.setup.SingleOwnNamespace, f.setup.Releases = f.state.opts.SingleOwnNamespace, f.state.opts.Releases
	if setup, err = resolve.NewSetup(f.setup, catalogs); err != nil {
		closeAll()
		return nil, nil, cmdline.Invalid(err)
	}
	return setup, closeAll, nil
}

// print prints an answer. It returns an error if OLM does not resolve everything.
func (f *resolveFlags) print(cmd *cobra.Command, r resolution.Answer) error {
	limit := maxExplanation
	if f.explain == explainFull {
		limit = 0
	}
	if err := printResult(cmd, r.Result(limit, hintExplanation)); err != nil {
		return err
	}
	if !r.Resolved() {
		return failure.New("not resolved as asked: see the output")
	}
	return nil
}

// question returns the options of the question that the flags ask.
func (f *resolveFlags) question() resolution.Options {
	return resolution.Options{Classic: f.olm != olmV1, V1: f.olm != olmClassic, Path: f.path, Timeout: f.timeout}
}
