package simulate

import (
	"fmt"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/opm-toolchain/opm/pkg/bundle/plain"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
)

// An installation creates what an operator runs.
type installation struct {
	*installed
	csv          *v1alpha1.ClusterServiceVersion
	as           account
	certificates map[string]*certificate // by the name of the Deployment
	why          reason
	dry          bool // nothing is created, only permissions are checked
}

// installation returns one that has created nothing yet. The error is about the service account.
func (ns *installed) installation(c *v1alpha1.ClusterServiceVersion) (i *installation, err error) {
	i = &installation{
		installed: ns, csv: c, as: account{run: ns.run, permissions: ns.permissions},
		certificates: map[string]*certificate{}, why: computed("it is part of the operator"),
	}
	if ns.group != nil {
		i.as.ref, err = ns.accountOf(ns.namespace)
	}
	return i, err
}

// mayReinstall reports whether the service account of an operator that could not be installed may create by now what it
// could not before. If not, the operator waits.
func (ns *installed) mayReinstall(o csv) bool {
	strategy, err := rbac.Strategy(o.Value)
	if err != nil || o.Value.Status.Reason != v1alpha1.CSVReasonComponentFailed {
		return true
	}
	i, err := ns.installation(o.Value)
	if err != nil {
		return true
	}
	i.dry = true
	if _, err := i.create(strategy.DeploymentSpecs); err != nil {
		wait(ns.run, o, "permissions of the service account of its OperatorGroup: "+err.Error(), Computed)
		return false
	}
	return true
}

// create creates Deployments and APIServices. The error is about the first object that the service account may not
// create. The reason says whether OLM tries again.
func (i *installation) create(deployments []v1alpha1.StrategyDeploymentSpec) (v1alpha1.ConditionReason, error) {
	for _, spec := range deployments {
		if err := i.certify(spec); err != nil {
			return v1alpha1.CSVReasonComponentFailed, err
		}
	}
	for _, spec := range deployments {
		if err := i.deploy(spec); err != nil {
			return v1alpha1.CSVReasonComponentFailedNoRetry, fmt.Errorf(installFailed+"%w", err)
		}
	}
	for _, d := range i.csv.GetOwnedAPIServiceDescriptions() {
		if err := i.serve(d); err != nil {
			return v1alpha1.CSVReasonComponentFailedNoRetry, fmt.Errorf(installFailed+"%w", err)
		}
	}
	return "", nil
}

// serve creates an APIService, or takes it over from the operator that is replaced.
func (i *installation) serve(d v1alpha1.APIServiceDescription) error {
	service := &cluster.APIService{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1", Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: d.GetName()},
		Spec: cluster.APIServiceSpec{
			Group: d.Group, Version: d.Version, GroupPriorityMinimum: 2000, VersionPriority: 15,
		},
	}
	port := plain.ServicePort(d.ContainerPort, nil).Port
	return applyAs(i, &i.State.APIServices, service, func(s *cluster.APIService) {
		s.Labels = labels.Merge(s.Labels, rbac.OwnerLabels(i.csv))
		s.Spec.Service = &cluster.ServiceReference{Namespace: i.csv.Namespace, Name: serviceOf(d.DeploymentName), Port: &port}
		if ca := i.authority(d.DeploymentName); ca != nil {
			s.Spec.CABundle = ca
		}
	})
}

// applyAs applies an object of the operator, unless the service account may not create it.
func applyAs[P cluster.Kubernetes](i *installation, s *cluster.Store[P], o P, set func(P)) error {
	if err := i.as.permit(o, o.GetNamespace()); err != nil {
		return err
	}
	if !i.dry {
		apply(i.run, s, o, set, i.csv.Name, i.why)
	}
	return nil
}
