package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/olm/resolution"
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
	r, err := resolution.OfCluster(cmd.Context(), request, f.state.opts.Contents, f.question())
	if err != nil {
		return err
	}
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
