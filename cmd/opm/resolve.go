package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

func resolveCmd() *cobra.Command {
	var f resolveFlags
	cmd := &cobra.Command{
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

With --state, all of a cluster is resolved: what its Subscriptions and ClusterExtensions install or
update, why not something newer and, where they fail, the conditions that say so. PATH is a
directory, a file or "-" with manifests as "kubectl get ... -o yaml" prints them: OperatorGroup,
CatalogSource, Subscription, ClusterServiceVersion, InstallPlan, ClusterCatalog and
ClusterExtension; others do not matter. The contents of catalogs come from --catalog. A catalog
without contents cannot be read by the cluster, so that OLM resolves nothing where it is visible.`,
		Example: `  opm resolve catalog --package kiln
  opm resolve catalog --package kiln --channel stable --installed kiln.v1.1.0 --olm classic
  opm resolve catalog --package kiln --installed kiln.v1.0.0 --path
  opm resolve catalog --all --olm classic
  opm resolve ours=catalog/kiln openshift-marketplace/theirs=catalog/loom --package kiln -o json
  opm resolve --state cluster.yaml --catalog crafts=catalog`,
		Args:              f.args,
		ValidArgsFunction: completeArgs(files),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

// resolveFlags are the flags of resolve.
type resolveFlags struct {
	pkg, channel, version, starting string
	installed                       []string
	olm, format, explain            string
	path                            bool
	timeout                         time.Duration
	state                           stateFlags
	images                          imageFlags
	all                             resolveAllFlags
}

// solverTimeout is the default of --solver-timeout.
const solverTimeout = 10 * time.Second

// The values of --olm.
const (
	olmClassic = "classic"
	olmV1      = "v1"
	olmBoth    = "both"
)

// The values of --explain.
const (
	explainShort = "short"
	explainFull  = "full"
)

// A short explanation has at most maxExplanation lines, and ends with the hint if that is not all.
const (
	maxExplanation  = 25
	hintExplanation = "with --explain=full"
)

func (f *resolveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pkg, "package", "", "resolve this `PACKAGE`")
	flags.StringVar(&f.channel, "channel", "", "follow this `CHANNEL` (default: any)")
	flags.StringArrayVar(&f.installed, "installed", nil,
		"assume that this `BUNDLE` is installed, of the package or another")
	flags.StringVar(&f.starting, "starting", "",
		"startingCSV of the Subscription: the `BUNDLE` to install first (OLM Classic)")
	flags.StringVar(&f.version, "version", "", "version `RANGE` in the ClusterExtension (OLM v1)")
	choiceVar(cmd, &f.olm, "olm", "", olmBoth, "which OLM to ask", olmClassic, olmV1, olmBoth)
	flags.BoolVar(&f.path, "path", false, "repeat until nothing is left to update")
	choiceVar(cmd, &f.explain, "explain", "", explainShort, "how long the text of an explanation is",
		explainShort, explainFull)
	flags.DurationVar(&f.timeout, "solver-timeout", solverTimeout, "give up on OLM Classic after this `TIME`: undecided")
	choiceVar(cmd, &f.format, "output", "o", "text", "output format",
		append(problem.Formats(), "dot")...)
	completeWith(cmd, packages, "package")
	completeWith(cmd, channels, "channel")
	completeWith(cmd, bundles, "installed", "starting")
	completeNothing(cmd, "version", "solver-timeout")
	f.all.add(cmd)
	f.state.add(cmd)
	addReadFlags(cmd, &f.images)
	resolveModes.add(cmd)
}

var resolveModes = modes{
	"":      "package channel version starting installed path olm explain solver-timeout",
	"all":   "package olm solver-timeout info disable warnings-as-errors config baseline write-baseline",
	"state": "olm explain solver-timeout catalog catalog-priority global-namespace single-own-namespace",
	"rules": "",
}

// args checks the arguments: catalogs, unless there is a state.
func (f *resolveFlags) args(cmd *cobra.Command, args []string) error {
	if f.state.paths != nil {
		return exactArgs()(cmd, args)
	}
	return atLeastOne("CATALOG")(cmd, args)
}

func (f *resolveFlags) run(cmd *cobra.Command, args []string) error {
	switch err := f.all.check(cmd, f.format); {
	case err != nil:
		return err
	case f.timeout <= 0:
		return usageError{errors.New("--solver-timeout: want more than 0")}
	case f.state.paths != nil:
		return f.runState(cmd)
	case f.all.on:
		return f.runAll(cmd, args)
	case f.pkg == "":
		return usageError{errors.New("--package is missing: it names the package to install")}
	}
	done := progress(cmd, "reading")
	defer done()
	catalogs, closeAll, err := f.images.readCatalogs(cmd, args)
	if err != nil {
		return err
	}
	defer closeAll()
	question, err := f.question(catalogs)
	if err != nil {
		return err
	}
	question.hint(cmd.ErrOrStderr())
	r, err := question.answer(cmd.Context())
	if err != nil {
		return err
	}
	done()
	return f.print(cmd, r)
}

// print prints an answer. What OLM does not resolve is an error.
func (f *resolveFlags) print(cmd *cobra.Command, r interface {
	write(w io.Writer, format string, limit int) error
	resolved() bool
},
) error {
	limit := maxExplanation
	if f.explain == explainFull {
		limit = 0
	}
	if err := r.write(outputAs(cmd, f.format), f.format, limit); err != nil {
		return err
	}
	if !r.resolved() {
		return failed("not resolved as asked: see the output")
	}
	return nil
}

// readCatalogs reads the catalogs of the arguments, under the names that these give; NAME= is an empty one. Their
// objects can be read again until closeAll is called.
func (f *imageFlags) readCatalogs(
	cmd *cobra.Command, args []string, checks ...catalogCheck,
) (catalogs []*resolve.Catalog, closeAll func(), err error) {
	var closers []func()
	closeAll = func() {
		for _, c := range slices.Backward(closers) {
			c()
		}
	}
	for _, arg := range args {
		namespace, name, ref := splitCatalogName(arg)
		if name != "" && ref == "" {
			catalogs = append(catalogs, &resolve.Catalog{Namespace: namespace, Name: name, Index: &declcfg.Index{}})
			continue
		}
		c, closer, err := readResolvable(cmd, ref, f, checks...)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		closers = append(closers, closer)
		c.Namespace, c.Name = namespace, name
		catalogs = append(catalogs, c)
	}
	return catalogs, closeAll, nil
}

func defaultCatalogName(i int) string {
	if i == 0 {
		return "cat"
	}
	return fmt.Sprintf("cat%d", i+1)
}

// splitCatalogName splits an argument [[NAMESPACE/]NAME=]CATALOG. What comes before = is a part of a path unless it can
// be a name.
func splitCatalogName(arg string) (namespace, name, ref string) {
	name, ref, ok := strings.Cut(arg, "=")
	if before, after, both := strings.Cut(name, "/"); both {
		namespace, name = before, after
		ok = ok && k8sname.Label(namespace) == nil
	}
	if !ok || k8sname.Subdomain(name) != nil {
		return "", "", arg
	}
	return namespace, name, ref
}

// A resolveQuestion is the question that the flags of resolve describe.
type resolveQuestion struct {
	*resolveFlags
	namespace resolve.ClassicRequest
	extension resolve.V1Request
	catalogs  []*resolve.Catalog
	assumed   []string // what neither the flags nor the catalogs say
}

func (f *resolveFlags) question(catalogs []*resolve.Catalog) (*resolveQuestion, error) {
	const own = "ns"
	q := &resolveQuestion{resolveFlags: f, catalogs: catalogs}
	q.namespace = resolve.ClassicRequest{Name: own, Catalogs: catalogs}
	for i, c := range catalogs {
		c.Namespace, c.Name = cmp.Or(c.Namespace, own), cmp.Or(c.Name, defaultCatalogName(i))
		global := &q.namespace.Global
		if c.Namespace != own && *global != "" && c.Namespace != *global {
			return nil, usageError{fmt.Errorf("catalogs are in the namespaces %q and %q: want %q and one other",
				*global, c.Namespace, own)}
		}
		if c.Namespace != own {
			*global = c.Namespace
		}
	}
	q.extension = resolve.V1Request{Name: f.pkg, Package: f.pkg, Version: f.version, Channels: optional(f.channel)}
	s := resolve.Subscription{
		Name: "sub", Package: f.pkg, Channel: f.channel, StartingCSV: f.starting,
		Catalog: catalogs[0].Name, CatalogNamespace: catalogs[0].Namespace,
	}
	if in, ok := q.install(); ok {
		s.InstalledCSV, s.CurrentCSV = in.Name, in.Name
		q.extension.Installed = q.installedBundle(in)
	}
	q.namespace.Subscriptions = []resolve.Subscription{s}
	return q, nil
}

// install adds the installed operators and returns the one of the Subscription: the first of the package, or else the
// first that is in no catalog.
func (q *resolveQuestion) install() (of resolve.Installed, ok bool) {
	unknown := -1
	for _, name := range q.installed {
		in, pkg := q.find(name)
		if pkg == "" {
			in = q.unknown(name)
			if unknown < 0 {
				unknown = len(q.namespace.Installed)
			}
		}
		q.namespace.Installed = append(q.namespace.Installed, in)
		switch {
		case pkg == q.pkg && !ok:
			of, ok = in, true
		case pkg != "":
			q.assume("%s is installed without a Subscription, so OLM Classic does not update it", name)
		}
	}
	if !ok && unknown >= 0 {
		return q.namespace.Installed[unknown], true
	}
	return of, ok
}

// find returns the operator that a bundle of a catalog is, and its package: the one asked for if that has it.
func (q *resolveQuestion) find(name string) (in resolve.Installed, pkg string) {
	for _, c := range q.catalogs {
		if in, ok := c.Operator(q.pkg, name); ok {
			return in, q.pkg
		}
	}
	for _, c := range q.catalogs {
		for _, p := range c.Index.Packages() {
			if in, ok := c.Operator(p.Name, name); ok {
				return in, p.Name
			}
		}
	}
	return in, ""
}

// installedBundle returns what OLM v1 knows of an installed operator of the package.
func (q *resolveQuestion) installedBundle(in resolve.Installed) *resolve.InstalledBundle {
	for _, c := range q.catalogs {
		if b := c.InstalledBundle(q.pkg, in.Name); b != nil {
			return b
		}
	}
	return &resolve.InstalledBundle{Name: in.Name, Version: in.Version.String()}
}

var versionInName = regexp.MustCompile(`[.-]v?([0-9]+\.[0-9]+\.[0-9]+.*)$`)

// unknown returns an operator that no catalog has: of the package, with the version that its name ends in.
func (q *resolveQuestion) unknown(name string) resolve.Installed {
	in := resolve.Installed{Name: name}
	if m := versionInName.FindStringSubmatch(name); m != nil {
		if v, err := declcfg.ParseVersion(m[1], ""); err == nil {
			in.Version = v.Semver
		}
	}
	q.assume("no catalog has %s: it is of package %s, version %s, and has no dependencies", name, q.pkg, in.Version)
	p, _ := declcfg.NewProperty(declcfg.PropertyPackage, // texts can be encoded
		declcfg.PackageProperty{PackageName: q.pkg, Version: in.Version.String()})
	in.Properties = []resolve.Property{{Property: p}}
	return in
}

func (q *resolveQuestion) assume(format string, args ...any) {
	q.assumed = append(q.assumed, fmt.Sprintf(format, args...))
}

// hint warns of names that no catalog has, since OLM does not say which there are.
func (q *resolveQuestion) hint(w io.Writer) {
	var packages, channels, bundles []string
	for _, c := range q.catalogs {
		for _, p := range c.Index.Packages() {
			packages = append(packages, p.Name)
		}
		if p := c.Index.Package(q.pkg); p != nil {
			for _, ch := range p.Channels {
				channels = append(channels, ch.Meta.Name)
			}
			for _, b := range p.Bundles {
				bundles = append(bundles, b.Meta.Name)
			}
		}
	}
	warn := func(kind, name string, among []string) {
		if name != "" && len(among) > 0 && !slices.Contains(among, name) {
			fmt.Fprintf(w, "opm: warning: no %s %q%s\n", kind, name, nearest.Hint(name, among))
		}
	}
	warn("package", q.pkg, packages)
	warn("channel", q.channel, channels)
	warn("bundle", q.starting, bundles)
}

// answer asks the versions of OLM that the flags name.
func (q *resolveQuestion) answer(ctx context.Context) (*resolution, error) {
	r := &resolution{Assumed: q.assumed}
	if q.olm != olmV1 {
		var answers []*resolve.ClassicResult
		var loop bool
		var err error
		if q.path {
			answers, loop, err = q.namespace.Path(ctx, q.options())
		} else {
			answers = make([]*resolve.ClassicResult, 1)
			answers[0], err = q.namespace.Resolve(ctx, q.options())
		}
		if err != nil {
			return nil, err
		}
		explanation, err := q.namespace.Explain(ctx, answers[0], q.options())
		if err != nil {
			return nil, err
		}
		r.Classic = &classicResolution{ClassicResult: *answers[0], Explanation: explanation, Loop: loop}
		for _, a := range answers[1:] {
			r.Classic.Path = append(r.Classic.Path, resolveStep{a.Outcome, a.Install, a.Message})
		}
	}
	if q.olm != olmClassic {
		r.V1 = q.v1()
	}
	return r, nil
}

func (q *resolveQuestion) options() resolve.Options { return resolve.Options{Timeout: q.timeout} }

// v1 returns the answer of OLM v1. A ClusterExtension that the cluster does not accept is an error.
func (q *resolveQuestion) v1() *v1Resolution {
	if err := q.extension.Admit().ToAggregate(); err != nil {
		return &v1Resolution{resolveStep: resolveStep{resolve.Failed, []resolve.Choice{}, err.Error()}}
	}
	answers, loop := []*resolve.V1Result{}, false
	if q.path {
		answers, loop = q.extension.Path(q.catalogs)
	} else {
		answers = append(answers, q.extension.Resolve(q.catalogs))
	}
	r := &v1Resolution{Loop: loop, Catalogs: answers[0].Catalogs, first: answers[0]}
	e := &q.extension
	for i, a := range answers {
		step := v1Step(e, a)
		if i == 0 {
			r.resolveStep = step
		} else {
			r.Path = append(r.Path, step)
		}
		if e.Changes(a) {
			e = e.Next(a)
		}
	}
	return r
}

func v1Step(e *resolve.V1Request, a *resolve.V1Result) resolveStep {
	step := resolveStep{a.Outcome, []resolve.Choice{}, a.Message}
	if e.Changes(a) {
		c := resolve.Choice{Catalog: a.Choice.Catalog, Package: a.Choice.Package, Bundle: a.Choice.Bundle}
		c.Channel = cmp.Or(append(slices.Clone(a.Choice.Channels), "")[0])
		if e.Installed != nil {
			c.Replaces = e.Installed.Name
		}
		step.Install = append(step.Install, c)
	}
	return step
}
