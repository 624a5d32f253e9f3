package simulate

import (
	"context"
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// contentLabels labels the Roles and RoleBindings of OLM with the hash of their content. OLM does so if it finds an
// object without its labels when it starts, which is the service account of an OperatorGroup.
func contentLabels(_ context.Context, r *run) error {
	if r.labelling {
		labelContents(r, &r.State.Roles)
		labelContents(r, &r.State.RoleBindings)
	}
	return nil
}

func labelContents[P cluster.Kubernetes](r *run, s *cluster.Store[P]) {
	for o := range s.All() {
		if slices.ContainsFunc(o.Value.GetOwnerReferences(), isOfOLM) {
			update(r, s, o, func(o P) { rbac.LabelContent(o) }, "label with the hash of its content",
				computed("OLM labels its objects after the service account of an OperatorGroup"))
		}
	}
}

// isOfOLM reports whether an owner is an object of OLM.
func isOfOLM(owner metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == operatorsv1.GroupVersion.Group
}
