package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/resolve"
)

// stateFlags are the flags of resolve that are about a whole cluster.
type stateFlags struct {
	paths      []string
	catalogs   []string
	priorities map[string]int
	global     string

	singleOwnNamespace bool
}

func (f *stateFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.paths, "state", nil,
		"resolve the cluster with the manifests in this `PATH`; may be repeated")
	f.addCatalogs(cmd)
}

// addCatalogs adds the flags for the catalogs of a cluster.
func (f *stateFlags) addCatalogs(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.catalogs, "catalog", nil,
		"contents of a catalog of the cluster: `[NAMESPACE/]NAME=CATALOG`, with nothing after = for none")
	flags.StringToIntVar(&f.priorities, "catalog-priority", nil,
		"priority of a catalog of the cluster: `[NAMESPACE/]NAME=N`")
	flags.StringVar(&f.global, "global-namespace", "",
		"`NAMESPACE` of global CatalogSources (default: openshift-marketplace if it has any, or else olm)")
	flags.BoolVar(&f.singleOwnNamespace, "single-own-namespace", false,
		"OLM v1 runs with its feature gate SingleOwnNamespaceInstallSupport")
	completeNothing(cmd, "catalog-priority", "global-namespace")
}

// runState resolves a whole cluster.
func (f *resolveFlags) runState(cmd *cobra.Command) error {
	done := progress(cmd, "reading")
	defer done()
	state, catalogs, closeAll, err := f.state.read(cmd, &f.images)
	if err != nil {
		return err
	}
	defer closeAll()
	q, err := state.Question(f.state.options(catalogs))
	if err != nil {
		return usageError{fmt.Errorf("--catalog-priority: %w", err)}
	}
	r, err := f.answerState(cmd.Context(), q)
	if err != nil {
		return err
	}
	done()
	return f.print(cmd, r)
}

// check reports what is wrong with the names and references.
func (f *stateFlags) check() error {
	refs, seen := slices.Clone(f.paths), map[string]bool{}
	for _, arg := range f.catalogs {
		_, name, ref := splitCatalogName(arg)
		if name == "" {
			return usageError{fmt.Errorf("--catalog: want [NAMESPACE/]NAME=CATALOG, found %q", arg)}
		}
		key := strings.TrimSuffix(arg, "="+ref)
		if seen[key] {
			return usageError{fmt.Errorf("--catalog: catalog %q is given twice", key)}
		}
		seen[key] = true
		refs = append(refs, ref)
	}
	if i := slices.Index(refs, render.Stdin); i >= 0 && slices.Contains(refs[i+1:], render.Stdin) {
		return usageError{errors.New("standard input can be read only once")}
	}
	return nil
}

// read reads the objects of the cluster and its catalogs, whose objects can be read again until closeAll is called.
func (f *stateFlags) read(
	cmd *cobra.Command, images *imageFlags,
) (state *cluster.State, catalogs []*resolve.Catalog, closeAll func(), err error) {
	if err := f.check(); err != nil {
		return nil, nil, nil, err
	}
	if state, err = f.readState(cmd); err != nil {
		return nil, nil, nil, err
	}
	if catalogs, closeAll, err = images.readCatalogs(cmd, f.catalogs); err != nil {
		return nil, nil, nil, err
	}
	warnIfNone(cmd, state.Subscriptions.Len()+state.ClusterExtensions.Len(), "Subscriptions or ClusterExtensions",
		f.paths...)
	return state, catalogs, closeAll, nil
}

func (f *stateFlags) readState(cmd *cobra.Command) (*cluster.State, error) {
	opts := openOptions(cmd)
	opts.AnyDirectory = true
	files, err := render.Open(cmd.Context(), f.paths, opts)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	state, err := cluster.Load(cmd.Context(), files.Sources...)
	return state, cmp.Or(files.Unchanged(), err)
}

func (f *stateFlags) options(catalogs []*resolve.Catalog) cluster.Options {
	return cluster.Options{
		Catalogs: catalogs, Priorities: f.priorities, Global: f.global, SingleOwnNamespace: f.singleOwnNamespace,
	}
}

// answerState asks the versions of OLM that the flags name.
func (f *resolveFlags) answerState(ctx context.Context, q *cluster.Question) (*stateResolution, error) {
	r := &stateResolution{}
	if f.olm != olmV1 {
		opts := resolve.Options{Timeout: f.timeout}
		namespaces, err := q.Classic(ctx, opts)
		if err == nil {
			err = r.addNamespaces(ctx, namespaces, opts)
		}
		if err != nil {
			return nil, err
		}
	}
	if f.olm != olmClassic {
		for e, a := range q.V1() {
			r.Extensions = append(r.Extensions, extensionResolution{
				Name: e.Name, Conditions: a.Conditions,
				v1Resolution: v1Resolution{resolveStep: v1Step(e, a), Catalogs: a.Catalogs, first: a},
			})
		}
	}
	r.Assumed = q.Assumed
	return r, nil
}
