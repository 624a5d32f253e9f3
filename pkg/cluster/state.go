// Package cluster reads the objects of a Kubernetes cluster from which the Operator Lifecycle Manager resolves, from
// manifests as kubectl prints them.
//
//	state, err := cluster.Load(ctx, declcfg.Source{Name: "state", FS: os.DirFS("state")})
//	for s := range state.Subscriptions.All() {
//		fmt.Println(s.Pos, s.Value.Namespace, s.Value.Spec.Package)
//	}
package cluster

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A State is the objects of a cluster. The zero State has none.
type State struct {
	Namespaces             Store[*corev1.Namespace]
	OperatorGroups         Store[*operatorsv1.OperatorGroup]
	CatalogSources         Store[*v1alpha1.CatalogSource]
	Subscriptions          Store[*v1alpha1.Subscription]
	ClusterServiceVersions Store[*v1alpha1.ClusterServiceVersion]
	InstallPlans           Store[*v1alpha1.InstallPlan]
	ClusterCatalogs        Store[*Catalog]
	ClusterExtensions      Store[*Extension]
	Others                 []Object[*metav1.PartialObjectMetadata] // of all other kinds
}

// Clone returns a State of the same objects.
func (s *State) Clone() *State {
	return &State{
		Namespaces:             s.Namespaces.Clone(),
		OperatorGroups:         s.OperatorGroups.Clone(),
		CatalogSources:         s.CatalogSources.Clone(),
		Subscriptions:          s.Subscriptions.Clone(),
		ClusterServiceVersions: s.ClusterServiceVersions.Clone(),
		InstallPlans:           s.InstallPlans.Clone(),
		ClusterCatalogs:        s.ClusterCatalogs.Clone(),
		ClusterExtensions:      s.ClusterExtensions.Clone(),
		Others:                 s.Others,
	}
}

// Load reads the manifests of the sources: in a directory, every file whose name ends in .yaml, .yml or .json, but no
// hidden ones. A file may hold several documents, and Lists. Unknown fields are ignored, since manifests of a cluster
// have a status and more.
//
// The error joins a [*declcfg.Error] for each object that cannot be used, by place: it is not in the State, which has
// all the others. Of two objects of one kind, namespace and name, the first is used. If ctx ends, there is no State.
func Load(ctx context.Context, sources ...declcfg.Source) (*State, error) {
	l := &loader{State: &State{}}
	for _, s := range sources {
		if err := l.source(ctx, s); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(l.errs, declcfg.CompareErrors)
	return l.State, errors.Join(l.errs...)
}

// source reads the files of a source. The error is that of ctx.
func (l *loader) source(ctx context.Context, s declcfg.Source) error {
	if s.File != "" {
		l.file(s.FS, s.File, s.Name)
		return ctx.Err()
	}
	return fs.WalkDir(s.FS, ".", func(name string, d fs.DirEntry, err error) error {
		label := strings.TrimSuffix(s.Name, "/") + "/" + name
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			l.fail(declcfg.Pos{File: label}, "", regular.WithoutPath(err))
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."): // as in the volume of a ConfigMap
			return fs.SkipDir
		case !d.IsDir() && isManifest(d.Name()):
			l.file(s.FS, name, label)
		}
		return nil
	})
}

// isManifest reports whether a file of that name is read.
func isManifest(name string) bool {
	return !strings.HasPrefix(name, ".") && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}
