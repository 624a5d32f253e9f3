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
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A State is the objects of a cluster. The zero State has none.
type State struct {
	Namespaces                Store[*corev1.Namespace]
	ServiceAccounts           Store[*corev1.ServiceAccount]
	Deployments               Store[*appsv1.Deployment]
	CustomResourceDefinitions Store[*apiextensionsv1.CustomResourceDefinition]
	APIServices               Store[*APIService]
	Roles                     Store[*rbacv1.Role]
	RoleBindings              Store[*rbacv1.RoleBinding]
	ClusterRoles              Store[*rbacv1.ClusterRole]
	ClusterRoleBindings       Store[*rbacv1.ClusterRoleBinding]
	MutatingWebhooks          Store[*admissionv1.MutatingWebhookConfiguration]
	ValidatingWebhooks        Store[*admissionv1.ValidatingWebhookConfiguration]

	OperatorGroups         Store[*operatorsv1.OperatorGroup]
	CatalogSources         Store[*v1alpha1.CatalogSource]
	Subscriptions          Store[*v1alpha1.Subscription]
	ClusterServiceVersions Store[*v1alpha1.ClusterServiceVersion]
	InstallPlans           Store[*v1alpha1.InstallPlan]
	OperatorConditions     Store[*operatorsv2.OperatorCondition]
	OLMConfigs             Store[*operatorsv1.OLMConfig]
	ClusterCatalogs        Store[*Catalog]
	ClusterExtensions      Store[*Extension]

	Others map[schema.GroupKind]*Store[*Other] // such as custom resources
}

// Load reads the manifests of the sources: in a directory, every file whose name ends in .yaml, .yml or .json, but no
// hidden ones, and of what "oc adm must-gather" wrote only the objects. A file may hold several documents, and Lists.
// Unknown fields are ignored, since manifests of a cluster have a status and more.
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
	gathered := map[string]bool{} // directories that must-gather wrote
	return fs.WalkDir(s.FS, ".", func(name string, d fs.DirEntry, err error) error {
		label := strings.TrimSuffix(s.Name, "/") + "/" + name
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			l.fail(declcfg.Pos{File: label}, "", regular.WithoutPath(err))
		case name == ".":
			gathered[name] = isGathered(s.FS, name)
		case gathered[path.Dir(name)] && !slices.Contains(gatheredObjects, d.Name()),
			strings.HasPrefix(d.Name(), "."): // as in the volume of a ConfigMap
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			gathered[name] = strings.Count(name, "/") < 2 && isGathered(s.FS, name)
		case isManifest(d.Name()):
			l.file(s.FS, name, label)
		}
		return nil
	})
}

// gatheredObjects are the directories of a must-gather that have the objects of a cluster.
var gatheredObjects = []string{"cluster-scoped-resources", "namespaces"}

// isGathered reports whether must-gather wrote a directory: it has logs and other data of the cluster as well.
func isGathered(fsys fs.FS, dir string) bool {
	info, err := fs.Stat(fsys, path.Join(dir, gatheredObjects[0]))
	return err == nil && info.IsDir()
}

// isManifest reports whether a file of that name is read.
func isManifest(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name))
}
