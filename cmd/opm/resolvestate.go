package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/place"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// stateFlags are the flags that describe a whole cluster.
type stateFlags struct {
	paths    []string
	catalogs []string
	opts     install.Options
	live     liveFlags
	contents contentsFlags
	question string // the name of another command whose kinds of objects are needed; "" for that of the command
}

func (f *stateFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.paths, "state", nil,
		"resolve the cluster with the manifests in this `PATH`, or the live cluster kube:[CONTEXT]; repeatable")
	f.live.add(cmd.Flags())
	f.addCatalogs(cmd)
}

// addCatalogs adds the flags for the catalogs of a cluster.
func (f *stateFlags) addCatalogs(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addCatalog(flags)
	flags.StringToIntVar(&f.opts.Priorities, "catalog-priority", nil,
		"priority of a catalog of the cluster: `[NAMESPACE/]NAME=N`")
	flags.StringArrayVar(&f.opts.Down, "catalog-down", nil,
		"assume that the cluster cannot read the catalog of this `NAME`")
	flags.StringVar(&f.opts.Global, "global-namespace", "",
		"`NAMESPACE` of global CatalogSources (default: openshift-marketplace if it has any, or else olm)")
	flags.BoolVar(&f.opts.SingleOwnNamespace, "single-own-namespace", false,
		"OLM v1 runs with its feature gate SingleOwnNamespaceInstallSupport")
	addReleases(flags, &f.opts.Releases)
	f.contents.add(flags)
}

// addCatalog adds the flag for the contents of catalogs.
func (f *stateFlags) addCatalog(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.catalogs, "catalog", nil,
		"contents of a catalog of the cluster: `[NAMESPACE/]NAME=CATALOG`, with nothing after = for none")
}

// addReleases adds the flag for the feature gate of OLM v1 that makes releases count.
func addReleases(flags *pflag.FlagSet, releases *bool) {
	flags.BoolVar(releases, "bundle-releases", false, "OLM v1 runs with its feature gate BundleReleaseSupport")
}

// runState prints the answers about a whole cluster, of the versions of OLM that the flags name.
func (f *resolveFlags) runState(cmd *cobra.Command) error {
	if err := f.readTarget(nil, ""); err != nil {
		return err
	}
	done := display(cmd).Start("reading")
	defer done()
	state, contents, err := f.state.open(cmd, &f.images)
	if err != nil {
		return err
	}
	defer contents.close()
	f.state.opts.Target = f.setup.Target
	request, err := install.NewRequest(state, f.state.opts)
	if err != nil {
		return cmdline.Invalid(f.state.unknownCatalog(err))
	}
	r := &stateResolution{Contents: install.Origins(f.state.opts.Contents)}
	if f.olm != olmV1 {
		namespaces, err := request.Classic(cmd.Context(), resolve.Options{Timeout: f.timeout, Explain: true})
		if err != nil {
			return err
		}
		r.addNamespaces(namespaces)
	}
	if f.olm != olmClassic {
		for e, a := range request.V1() {
			r.Extensions = append(r.Extensions, extensionResolution{
				Name: e.Name, Conditions: a.Conditions,
				v1Resolution: v1Resolution{resolveStep: v1Step(e, a), Catalogs: a.Catalogs, first: a},
			})
		}
	}
	r.Assumed = request.Assumed
	done()
	return f.print(cmd, r)
}

// unknownCatalog adds the flag with the name to an error about a catalog that does not exist.
func (f *stateFlags) unknownCatalog(err error) error {
	flag := "--catalog-priority"
	if e, ok := errors.AsType[*install.NoCatalogError](err); ok && slices.Contains(f.opts.Down, e.Name) {
		flag = "--catalog-down"
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// check returns an error about an invalid name or reference.
func (f *stateFlags) check() error {
	refs, seen := slices.Clone(f.paths), map[string]bool{}
	for _, arg := range f.catalogs {
		_, name, ref := resolve.SplitCatalogName(arg)
		if name == "" {
			return cmdline.Errorf("--catalog: want [NAMESPACE/]NAME=CATALOG, found %q%s", arg, invalidName(arg))
		}
		key := strings.TrimSuffix(arg, "="+ref)
		if seen[key] {
			return cmdline.Errorf("--catalog: catalog %q is given twice", key)
		}
		seen[key] = true
		refs = append(refs, ref)
	}
	if f.contents.forward && !slices.ContainsFunc(f.paths, kube.IsLive) {
		return cmdline.Errorf("--forward needs kube:, the live cluster")
	}
	if i := slices.Index(refs, render.Stdin); i >= 0 && slices.Contains(refs[i+1:], render.Stdin) {
		return cmdline.Errorf("standard input can be read only once")
	}
	return nil
}

// invalidName returns the rule that a name before = breaks, in parentheses, or "".
func invalidName(arg string) string {
	name, _, ok := strings.Cut(arg, "=")
	if !ok {
		return ""
	}
	if namespace, after, both := strings.Cut(name, "/"); both {
		if err := k8sname.Label(namespace); err != nil {
			return fmt.Sprintf(" (NAMESPACE: %s)", err)
		}
		name = after
	}
	if err := k8sname.Subdomain(name); err != nil {
		return fmt.Sprintf(" (NAME: %s)", err)
	}
	return ""
}

// open reads the objects of the cluster and the contents of its catalogs, which are then in the options. Their objects
// can be read again until the contents are closed.
func (f *stateFlags) open(
	cmd *cobra.Command, images *imageFlags,
) (state *cluster.State, contents *contentsReader, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	if state, err = f.readState(cmd); err != nil {
		return nil, nil, err
	}
	if contents, err = f.openContents(cmd, images, state); err != nil {
		return nil, nil, err
	}
	warnIfNone(cmd, state.Subscriptions.Len()+state.ClusterExtensions.Len(), "Subscriptions or ClusterExtensions",
		f.paths...)
	return state, contents, nil
}

// openChecked is like open for the readable objects of a cluster, which readChecked checks.
func (f *stateFlags) openChecked(
	cmd *cobra.Command, images *imageFlags,
) (state *cluster.State, contents *contentsReader, refused, err error) {
	if err := f.check(); err != nil {
		return nil, nil, nil, err
	}
	if state, refused, err = f.readChecked(cmd); err != nil {
		return nil, nil, nil, err
	}
	contents, err = f.openContents(cmd, images, state, warnOfInvalid)
	return state, contents, refused, err
}

// readChecked reads the state, and checks its objects as a cluster does. The error refused joins the problems of
// objects that cannot be read or that a cluster refuses; the state has the others.
func (f *stateFlags) readChecked(cmd *cobra.Command) (state *cluster.State, refused, err error) {
	state, refused = f.readState(cmd)
	if state == nil {
		return nil, nil, refused
	}
	problems, err := state.Check(cmd.Context())
	if err != nil {
		return nil, nil, err
	}
	return state, joinByPlace(refused, problems), nil
}

// joinByPlace joins errors, which may be joined themselves, with problems.
func joinByPlace(err error, problems []*declcfg.Error) error {
	all := problem.Flatten(err)
	for _, p := range problems {
		all = append(all, p)
	}
	return place.JoinErrors(all)
}

// checkSolverTimeout returns an error about a timeout that is too short.
func checkSolverTimeout(t time.Duration) error {
	if t <= 0 {
		return cmdline.Errorf("--solver-timeout: want more than 0")
	}
	return nil
}

// A stateResolution is the output of resolve for a whole cluster.
type stateResolution struct {
	Namespaces []namespaceResolution `json:"namespaces,omitempty"` // that have Subscriptions, by name
	Extensions []extensionResolution `json:"clusterExtensions,omitempty"`
	Contents   []install.Origin      `json:"contents,omitempty"` // nil if only those of --catalog are read
	Assumed    []string              `json:"assumed,omitempty"`  // facts that neither the flags nor the cluster state
}

// A namespaceResolution is the answer of OLM Classic about a namespace.
type namespaceResolution struct {
	install.NamespaceResult
	Explanation *resolve.Explanation `json:"explanation,omitempty"` // nil if there is nothing to say
}

// An extensionResolution is the answer of OLM v1 about a ClusterExtension.
type extensionResolution struct {
	Name string `json:"name"`
	v1Resolution
	Conditions []resolve.Condition `json:"conditions"` // after the rollout of the choice
}

// addNamespaces adds the answers, each with the reasons why newer bundles are not installed.
func (r *stateResolution) addNamespaces(all []*install.NamespaceResult) {
	for _, n := range all {
		e := n.ClassicResult.Explanation
		switch {
		case e == nil:
		case n.Outcome == resolve.Failed && n.Core == nil: // the message has the whole reason
			e = nil
		default:
			if e = e.Behind(); e.IsEmpty() {
				e = nil
			}
		}
		r.Namespaces = append(r.Namespaces, namespaceResolution{*n, e})
	}
}

// resolved reports whether OLM resolves all namespaces and ClusterExtensions, keeps the installed bundles, or waits.
func (r *stateResolution) resolved() bool {
	refused := func(o resolve.Outcome) bool {
		return o != resolve.Resolved && o != resolve.Kept && o != install.Waiting
	}
	for _, n := range r.Namespaces {
		if refused(n.Outcome) {
			return false
		}
	}
	for _, e := range r.Extensions {
		if refused(e.Outcome) {
			return false
		}
	}
	return true
}

// result returns the answer to print. Text has at most limit lines of each explanation; 0 means no limit.
func (r *stateResolution) result(limit int) *output.Result {
	return inText(r, func(w io.Writer) error { return r.writeText(w, limit) })
}

func (r *stateResolution) writeText(w io.Writer, limit int) error {
	var text strings.Builder
	for _, c := range r.Contents {
		fmt.Fprintf(&text, "contents of %s: %s\n", legible.Name(c.Object()), legible.Text(legible.Message(c.Text())))
	}
	writeAssumed(&text, r.Assumed)
	for _, n := range r.Namespaces {
		writeNamespace(&text, &n.NamespaceResult, n.Explanation, limit)
	}
	for _, e := range r.Extensions {
		writeSteps(&text, "ClusterExtension "+e.Name, []resolveStep{e.resolveStep}, false)
		for _, c := range e.Conditions {
			deprecated := strings.HasSuffix(c.Type, "Deprecated")
			if deprecated && c.Status == metav1.ConditionTrue || !deprecated && e.Outcome != resolve.Resolved {
				writeCondition(&text, "  ", c, e.Message)
			}
		}
		if e.first.Behind() {
			writeIndented(&text, limit, e.first.WriteText)
		}
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// writeNamespace writes the actions of OLM Classic in a namespace, and each Subscription that changes or has
// conditions.
func writeNamespace(w io.Writer, n *install.NamespaceResult, why *resolve.Explanation, limit int) {
	writeSteps(w, "namespace "+n.Name, []resolveStep{{n.Outcome, n.Install, n.Message}}, false)
	if why != nil {
		writeIndented(w, limit, why.WriteText)
	}
	if n.OrderSensitive {
		fmt.Fprintln(w, "  OLM may also answer differently: the result depends on a random order")
	}
	for _, c := range n.Conditions {
		writeCondition(w, "  all Subscriptions: ", c, n.Message)
	}
	for _, s := range n.Subscriptions {
		name := "  Subscription " + s.Name + ": "
		switch s.Change {
		case cluster.Created:
			fmt.Fprintf(w, "%screated, startingCSV %s\n", name, legible.Name(s.StartingCSV))
		case cluster.Updated:
			fmt.Fprintf(w, "%supdated, currentCSV %s\n", name, legible.Name(s.CurrentCSV))
		}
		for _, c := range s.Conditions {
			writeCondition(w, name, c, "")
		}
	}
	switch {
	case n.InstallPlan != "":
		fmt.Fprintf(w, "  InstallPlan: approval %s\n", n.InstallPlan)
	case len(n.Install) > 0:
		fmt.Fprintln(w, "  nothing is installed: OLM creates no InstallPlan unless a Subscription changes")
	}
}

// writeIndented writes an explanation with its lines indented below the previous line.
func writeIndented(w io.Writer, limit int, writeText func(io.Writer, int, string) error) {
	var text strings.Builder
	_ = writeText(&text, limit, hintExplanation) // which takes any text
	for line := range strings.Lines(text.String()) {
		fmt.Fprint(w, "  "+line)
	}
}

// writeCondition writes a condition. It omits the message if it equals known.
func writeCondition(w io.Writer, prefix string, c resolve.Condition, known string) {
	fmt.Fprintf(w, "%s%s=%s", prefix, c.Type, c.Status)
	if c.Reason != "" {
		fmt.Fprintf(w, ", reason %s", c.Reason)
	}
	if c.Message != "" && c.Message != known {
		fmt.Fprintf(w, ": %s", legible.Message(strings.ReplaceAll(c.Message, "\n", "; ")))
	}
	fmt.Fprintln(w)
}
