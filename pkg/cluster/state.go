// Package cluster reads the objects of a Kubernetes cluster from which the Operator Lifecycle Manager resolves, from
// manifests as kubectl prints them.
//
//	state, err := cluster.Load(ctx, declcfg.Source{Name: "state", FS: os.DirFS("state")})
//	for _, s := range state.Subscriptions {
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

// A State is the objects of a cluster, in the order in which they were read.
type State struct {
	Namespaces             []Object[corev1.Namespace]
	OperatorGroups         []Object[operatorsv1.OperatorGroup]
	CatalogSources         []Object[v1alpha1.CatalogSource]
	Subscriptions          []Object[v1alpha1.Subscription]
	ClusterServiceVersions []Object[v1alpha1.ClusterServiceVersion]
	InstallPlans           []Object[v1alpha1.InstallPlan]
	ClusterCatalogs        []Object[Catalog]
	ClusterExtensions      []Object[Extension]
	Others                 []Object[metav1.PartialObjectMetadata] // of all other kinds
}

// An Object is an object of a cluster, and where it is defined.
type Object[T any] struct {
	Value *T
	Pos   declcfg.Pos
}

// Load reads the manifests of the sources: in a directory, every file whose name ends in .yaml, .yml or .json, but no
// hidden ones. A file may hold several documents, and Lists. Unknown fields are ignored, since manifests of a cluster
// have a status and more.
//
// The error joins a [*declcfg.Error] for each object that cannot be used, by place: it is not in the State, which has
// all the others. Of two objects of one kind, namespace and name, the first is used. If ctx ends, there is no State.
func Load(ctx context.Context, sources ...declcfg.Source) (*State, error) {
	l := &loader{State: &State{}, seen: map[identity]declcfg.Pos{}}
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
