package simulate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/operator"
)

// TestOwn checks that roles and service accounts of a bundle remain when the operator is deleted (the play extras), and
// that both operators own the service account during an update.
func TestOwn(t *testing.T) {
	named := func(name string) *v1alpha1.ClusterServiceVersion {
		return &v1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
	}
	const labelsOfOwner = " olm.managed=true,olm.owner.kind=ClusterServiceVersion,olm.owner.namespace=ns,olm.owner=kiln.v2"
	owned := metav1.ObjectMeta{OwnerReferences: operator.OwnedBy(named("kiln.v2"))}
	for _, tt := range []struct {
		name        string
		o           cluster.Kubernetes
		inNamespace bool
		want        string
	}{
		{"a Role of the bundle", &rbacv1.Role{}, true, "[] olm.managed=true"},
		{"a RoleBinding of the bundle", &rbacv1.RoleBinding{}, true, "[] olm.managed=true"},
		{"a ServiceAccount of the bundle", &corev1.ServiceAccount{}, true, "[] olm.managed=true"},
		{"a ClusterRole of the bundle", &rbacv1.ClusterRole{}, false, "[] olm.managed=true,olm.owner=kiln.v2"},
		{"a Role of the operator", &rbacv1.Role{ObjectMeta: owned}, true, "[kiln.v2] olm.managed=true"},
		{"its ServiceAccount", serviceAccount("kiln", owned), true, "[kiln.v1 kiln.v2] olm.managed=true"},
		{"another ServiceAccount", serviceAccount("pot", owned), true, "[kiln.v2] olm.managed=true"},
		{"another object", &corev1.ConfigMap{}, true, "[kiln.v2] olm.managed=true"},
		{"another object of the cluster", &cluster.Other{}, false, "[]" + labelsOfOwner},
	} {
		r := newRun(loaded(t, ""), Options{})
		old := serviceAccount("kiln", metav1.ObjectMeta{OwnerReferences: operator.OwnedBy(named("kiln.v1"))})
		r.State.ServiceAccounts.Put(cluster.Object[*corev1.ServiceAccount]{Value: old})
		x := &execution{account: account{run: r}, plan: &v1alpha1.InstallPlan{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}}
		x.setOwner(tt.o, named("kiln.v2"), tt.inNamespace)
		names := []string{}
		for _, ref := range tt.o.GetOwnerReferences() {
			names = append(names, ref.Name)
		}
		if got := fmt.Sprintf("%v %s", names, labels.Set(tt.o.GetLabels())); strings.TrimSpace(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func serviceAccount(name string, meta metav1.ObjectMeta) *corev1.ServiceAccount {
	meta.Name, meta.Namespace = name, "ns"
	return &corev1.ServiceAccount{ObjectMeta: meta}
}
