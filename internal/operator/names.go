package operator

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"math/big"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Permissions are the permissions of a service account.
type Permissions = v1alpha1.StrategyDeploymentPermissions

// RoleName returns the name of the Role, and of its binding, for one of the permissions of an operator
// (pkg/controller/registry/resolver/rbac.go).
func RoleName(csv *v1alpha1.ClusterServiceVersion, p *Permissions) string {
	return WithSuffix(csv.Name+"-"+p.ServiceAccountName, Hash(struct {
		Name       string       `json:"name"`
		Permission *Permissions `json:"permission"`
	}{csv.Name, p}))
}

// ClusterRoleName returns the name of the ClusterRole, and of its binding, for one of the clusterPermissions.
func ClusterRoleName(csv *v1alpha1.ClusterServiceVersion, p *Permissions) string {
	return WithSuffix(csv.Name, Hash(struct {
		Name       string       `json:"name"`
		Namespace  string       `json:"namespace"`
		Permission *Permissions `json:"permission"`
	}{csv.Name, csv.Namespace, p}))
}

// RoleNameV1 returns the name of the Role or ClusterRole, and of its binding, for one of the permissions or
// clusterPermissions (internal/operator-controller/rukpak/render/registryv1/generators/generators.go).
func RoleNameV1(csv *v1alpha1.ClusterServiceVersion, p Permissions) string {
	return WithSuffix(csv.Name+"-"+AccountV1(p), hashText(append(marshal(p), '\n'), 36))
}

// AccountV1 returns the service account of permissions.
func AccountV1(p Permissions) string { return cmp.Or(p.ServiceAccountName, DefaultAccount) }

// ServiceName returns the name of the Service in front of a Deployment, of any length: the DomainName of a
// WebhookDescription of the API (pkg/operators/v1alpha1) and the suffix of pkg/controller/install/certresources.go.
func ServiceName(deployment string) string {
	return strings.ReplaceAll(deployment, ".", "-") + "-service"
}

// ServiceNameV1 is ServiceName, shortened (internal/operator-controller/rukpak/render/certprovider.go).
func ServiceNameV1(deployment string) string {
	return WithSuffix(strings.ReplaceAll(deployment, ".", "-"), "service")
}

// SecretName returns the name of the Secret with the certificate of a Deployment, of any length.
func SecretName(deployment string) string { return ServiceName(deployment) + "-cert" }

// SecretNameV1 is SecretName, shortened.
func SecretNameV1(deployment string) string { return WithSuffix(ServiceNameV1(deployment), "cert") }

// WithSuffix appends a suffix to a name. Like OLM it shortens names of more than 63 characters, not counting the hyphen
// (internal/operator-controller/rukpak/util/util.go).
func WithSuffix(base, suffix string) string {
	const most = 63
	if len(base)+len(suffix) > most {
		base = base[:most-len(suffix)-1]
	}
	return base + "-" + suffix
}

// Hash returns the hash of a value for names and labels: the SHA-224 of its JSON and a line break, in base 62
// (pkg/lib/kubernetes/pkg/util/hash). OLM v1 writes it in base 36 (internal/shared/util/hash/hash.go). The JSON must be
// that of encoding/json, which escapes <, > and &.
func Hash(v any) string { return HashText(append(marshal(v), '\n')) }

// HashContent returns the value of the label olm.permissions.hash: unlike [Hash], the hash of the JSON without a line
// break.
func HashContent(v any) string { return HashText(marshal(v)) }

// HashText returns the SHA-224 of a string in base 62.
func HashText(text []byte) string { return hashText(text, 62) }

func hashText(text []byte, base int) string {
	sum := sha256.Sum224(text)
	return new(big.Int).SetBytes(sum[:]).Text(base)
}

func marshal(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // all values here can be encoded
	}
	return text
}
