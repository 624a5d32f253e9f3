package updatecheck

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/admission"
	"github.com/opm-toolchain/opm/internal/olm/rbac"
	"github.com/opm-toolchain/opm/internal/operator"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// A key identifies an object of a bundle on the cluster: all objects with a namespace are in that of the operator.
type key struct{ kind, name string }

// String returns the name of a definition, and the kind and name of another object.
func (k key) String() string {
	if k.kind == declcfg.KindCRD {
		return k.name
	}
	return k.kind + " " + k.name
}

// An object is an object of a bundle that an update creates or changes.
type object struct {
	key
	digest digest // of the parts that an update compares

	// The errors of an API server that refuses to create the object, or to change any object to it. Those about
	// definitions are found when they are compared.
	created, changed error

	olm []graph.Semantics // the versions of OLM that create the object; nil for all
}

// addManifest adds the object of a manifest of another kind than ClusterServiceVersion and CustomResourceDefinition.
func (b *Bundles) addManifest(c *contents, manifest jsontext.Value, parts comparedParts) error {
	o := admission.New(schema.FromAPIVersionAndKind(parts.APIVersion, parts.Kind))
	if o == nil {
		o = new(metav1.PartialObjectMetadata)
	}
	if err := (&declcfg.Property{Value: manifest}).Unmarshal(o); err != nil {
		err = fmt.Errorf("%s %q: %w", parts.Kind, parts.Metadata.Name, err)
		c.objects = append(c.objects, object{key: key{parts.Kind, parts.Metadata.Name}, created: err, changed: err})
		return nil
	}
	return b.addObject(c, o)
}

func (b *Bundles) addObject(c *contents, o admission.Object) error {
	all := object{
		key:     key{o.GetObjectKind().GroupVersionKind().Kind, o.GetName()},
		created: admission.Invalid(o, admission.Create(o)),
		changed: admission.Invalid(o, admission.Update(o, o)),
	}
	if fixed := admission.Fixed(o); fixed != nil {
		text, err := json.Marshal(fixed)
		if err != nil {
			return err
		}
		if all.digest, err = b.addText(jsontext.Value(text)); err != nil {
			return err
		}
	}
	c.objects = append(c.objects, all)
	return nil
}

// addOperator adds the Deployments of a ClusterServiceVersion, and the other objects that OLM makes from it and that an
// API server refuses: Services, service accounts and roles. An update creates them again.
func (b *Bundles) addOperator(c *contents, name string, manifest jsontext.Value) error {
	var parts struct { // to decode the whole takes several times as long
		Spec struct {
			InstallStrategy       v1alpha1.NamedInstallStrategy  `json:"install"`
			WebhookDefinitions    []v1alpha1.WebhookDescription  `json:"webhookdefinitions"`
			APIServiceDefinitions v1alpha1.APIServiceDefinitions `json:"apiservicedefinitions"`
		} `json:"spec"`
	}
	if err := (&declcfg.Property{Value: manifest}).Unmarshal(&parts); err != nil {
		err = fmt.Errorf("%s %q: %w", declcfg.KindCSV, name, err)
		c.objects = append(c.objects, object{key: key{declcfg.KindCSV, name}, created: err, changed: err})
		return nil
	}
	csv := new(v1alpha1.ClusterServiceVersion)
	csv.Name, csv.Namespace = name, metav1.NamespaceDefault // any namespace: bindings need one
	csv.Spec.InstallStrategy, csv.Spec.WebhookDefinitions = parts.Spec.InstallStrategy, parts.Spec.WebhookDefinitions
	csv.Spec.APIServiceDefinitions = parts.Spec.APIServiceDefinitions
	strategy, err := operator.Strategy(csv)
	if err != nil {
		return nil //nolint:nilerr // without a strategy there are no Deployments
	}
	for i := range strategy.DeploymentSpecs {
		spec := &strategy.DeploymentSpecs[i]
		if err := b.addObject(c, operator.Deployment(csv, spec)); err != nil {
			return err
		}
		if ports := operator.ServicePorts(csv, spec.Name); len(ports) > 0 {
			c.addRefused(operator.Service(operator.ServiceName(spec.Name), ports), graph.Classic)
		}
		if ports := operator.ServicePortsV1(csv, spec.Name); len(ports) > 0 {
			c.addRefused(operator.Service(operator.ServiceNameV1(spec.Name), ports), graph.V1)
		}
	}
	accounts, err := rbac.ForOperator(csv)
	if err != nil {
		return nil //nolint:nilerr // a strategy that cannot be decoded is reported above
	}
	for _, account := range accounts {
		c.addAccount(account)
	}
	return nil
}

// addAccount adds the objects of a service account that an API server refuses. OLM v1 uses the default account if there
// is no name, and may make ClusterRoles of Roles.
func (c *contents) addAccount(account *rbac.Account) {
	for o := range account.All() {
		var olm []graph.Semantics
		switch o.(type) {
		case *rbacv1.Role, *rbacv1.RoleBinding:
			olm = []graph.Semantics{graph.Classic}
		}
		if account.Name == "" {
			olm = []graph.Semantics{graph.Classic}
		}
		refused := c.addRefused(o.(admission.Object), olm...)
		if _, ok := o.(*corev1.ServiceAccount); ok && refused {
			return // its bindings are invalid as well
		}
	}
}

// addRefused adds an object if an API server refuses to create it, and reports whether it does.
func (c *contents) addRefused(o admission.Object, olm ...graph.Semantics) bool {
	err := admission.Invalid(o, admission.Create(o))
	if err != nil {
		k := key{o.GetObjectKind().GroupVersionKind().Kind, o.GetName()}
		c.objects = append(c.objects, object{key: k, created: err, changed: err, olm: olm})
	}
	return err != nil
}

// compareObjects returns the error of an API server that refuses to change an object, nil if it accepts the change.
func (m *Memo) compareObjects(p pair) error {
	after, err := m.object(p.after, nil)
	if err != nil {
		return err
	}
	before, err := m.object(p.before, after)
	if err != nil {
		return err
	}
	return admission.Invalid(after, admission.Changes(after, before))
}

// object returns a stored object. If like is not nil, the object is converted to its API version, whose fields are the
// same.
func (m *Memo) object(d digest, like admission.Object) (admission.Object, error) {
	text, err := m.text(d)
	if err != nil {
		return nil, err
	}
	var meta metav1.TypeMeta
	if err := json.Unmarshal(text, &meta); err != nil {
		return nil, err
	}
	gvk := meta.GroupVersionKind()
	if like != nil {
		gvk = like.GetObjectKind().GroupVersionKind()
	}
	o := admission.New(gvk)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(gvk)
	return o, nil
}
