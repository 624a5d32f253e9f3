package rbac

import (
	"crypto/sha256"
	"encoding/json"
	"hash/fnv"
	"math/big"
	"strconv"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kinds.
const (
	kindRole               = "Role"
	kindRoleBinding        = "RoleBinding"
	kindClusterRole        = "ClusterRole"
	kindClusterRoleBinding = "ClusterRoleBinding"
)

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: kind}
}

// Labels.
const (
	labelManaged        = "olm.managed"
	labelOwner          = "olm.owner"
	labelOwnerNamespace = "olm.owner.namespace"
	labelOwnerKind      = "olm.owner.kind"
	labelContent        = "olm.permissions.hash"
)

// OwnerLabels returns the labels of what OLM creates for a ClusterServiceVersion.
func OwnerLabels(csv *v1alpha1.ClusterServiceVersion) map[string]string {
	return map[string]string{
		labelManaged: "true", labelOwner: csv.Name, labelOwnerNamespace: csv.Namespace,
		labelOwnerKind: v1alpha1.ClusterServiceVersionKind,
	}
}

// IsOwned reports whether an object has the owner labels of a ClusterServiceVersion.
func IsOwned(o metav1.Object, csv *v1alpha1.ClusterServiceVersion) bool {
	labels := o.GetLabels()
	return labels[labelOwner] == csv.Name && labels[labelOwnerNamespace] == csv.Namespace &&
		labels[labelOwnerKind] == v1alpha1.ClusterServiceVersionKind
}

func ownerLabels(csv *v1alpha1.ClusterServiceVersion, content string) map[string]string {
	labels := OwnerLabels(csv)
	labels[labelContent] = content
	return labels
}

// OwnedBy returns the reference to a ClusterServiceVersion of what is deleted with it.
func OwnedBy(csv *v1alpha1.ClusterServiceVersion) []metav1.OwnerReference {
	return []metav1.OwnerReference{owner(v1alpha1.SchemeGroupVersion.String(), v1alpha1.ClusterServiceVersionKind, csv)}
}

// ControlledBy returns the reference to a ClusterServiceVersion of its OperatorCondition.
func ControlledBy(csv *v1alpha1.ClusterServiceVersion) []metav1.OwnerReference {
	return controlled(OwnedBy(csv)[0])
}

func controlled(by metav1.OwnerReference) []metav1.OwnerReference {
	by.Controller = new(true)
	return []metav1.OwnerReference{by}
}

func owner(apiVersion, kind string, o metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(),
		Controller: new(false), BlockOwnerDeletion: new(false),
	}
}

// roleName returns the name of the Role, and of its binding, for one of the permissions of a ClusterServiceVersion.
func roleName(csv *v1alpha1.ClusterServiceVersion, p *v1alpha1.StrategyDeploymentPermissions) string {
	return withHash(csv.Name+"-"+p.ServiceAccountName, Hash(struct {
		Name       string                                  `json:"name"`
		Permission *v1alpha1.StrategyDeploymentPermissions `json:"permission"`
	}{csv.Name, p}))
}

// clusterRoleName returns the name of the ClusterRole, and of its binding, for one of the clusterPermissions.
func clusterRoleName(csv *v1alpha1.ClusterServiceVersion, p *v1alpha1.StrategyDeploymentPermissions) string {
	return withHash(csv.Name, Hash(struct {
		Name       string                                  `json:"name"`
		Namespace  string                                  `json:"namespace"`
		Permission *v1alpha1.StrategyDeploymentPermissions `json:"permission"`
	}{csv.Name, csv.Namespace, p}))
}

// withHash appends a hash to a name. Like OLM it shortens names of more than 63 characters, but not those that have 63
// without the hyphen.
func withHash(base, hash string) string {
	const most = 63
	if len(base)+len(hash) > most {
		base = base[:most-len(hash)-1]
	}
	return base + "-" + hash
}

func bindingHash(ref rbacv1.RoleRef, subjects []rbacv1.Subject) string {
	return contentHash(struct {
		RoleRef  rbacv1.RoleRef
		Subjects []rbacv1.Subject
	}{ref, subjects})
}

// LabelContent labels a Role or RoleBinding with the hash of its content, unless it has the label.
func LabelContent(o metav1.Object) {
	old := o.GetLabels()
	if _, ok := old[labelContent]; ok {
		return
	}
	var hash string
	switch o := o.(type) {
	case *rbacv1.Role:
		hash = contentHash(o.Rules)
	case *rbacv1.RoleBinding:
		hash = bindingHash(o.RoleRef, o.Subjects)
	}
	o.SetLabels(labels.Merge(old, labels.Set{labelContent: hash}))
}

// contentHash returns the value of the label olm.permissions.hash: unlike [Hash], that of the JSON without a line
// break.
func contentHash(v any) string { return hashText(marshal(v)) }

// Hash returns what OLM puts in names and labels for a value: the SHA-224 of its JSON and a line break, in base 62. The
// JSON must be that of encoding/json, which escapes <, > and &.
func Hash(v any) string { return hashText(append(marshal(v), '\n')) }

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // no value here has a type that JSON does not know
	}
	return text
}

func hashText(text []byte) string {
	sum := sha256.Sum224(text)
	return new(big.Int).SetBytes(sum[:]).Text(62)
}

// hashAPI returns what OLM puts in labels for an API.
func hashAPI(api schema.GroupVersionKind) string {
	h := fnv.New64a()
	h.Write([]byte(api.Kind + "." + api.Version + "." + api.Group))
	return strconv.FormatUint(h.Sum64(), 16)
}
