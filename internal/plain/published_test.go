package plain

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/bundle"
)

// types are the Go types of the generated objects, by API version and kind.
var types = map[string]func() any{
	"v1 ServiceAccount": func() any { return new(corev1.ServiceAccount) },
	"v1 Service":        func() any { return new(corev1.Service) },
	"v1 ConfigMap":      func() any { return new(corev1.ConfigMap) },
	"v1 Secret":         func() any { return new(corev1.Secret) },

	"apps/v1 Deployment": func() any { return new(appsv1.Deployment) },

	"rbac.authorization.k8s.io/v1 Role":               func() any { return new(rbacv1.Role) },
	"rbac.authorization.k8s.io/v1 RoleBinding":        func() any { return new(rbacv1.RoleBinding) },
	"rbac.authorization.k8s.io/v1 ClusterRole":        func() any { return new(rbacv1.ClusterRole) },
	"rbac.authorization.k8s.io/v1 ClusterRoleBinding": func() any { return new(rbacv1.ClusterRoleBinding) },

	"apiextensions.k8s.io/v1 CustomResourceDefinition": func() any {
		return new(apiextensionsv1.CustomResourceDefinition)
	},
	"admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration": func() any {
		return new(admissionv1.ValidatingWebhookConfiguration)
	},
	"admissionregistration.k8s.io/v1 MutatingWebhookConfiguration": func() any {
		return new(admissionv1.MutatingWebhookConfiguration)
	},
}

func decodeStrict(t testing.TB, o *unstructured.Unstructured, v any) {
	t.Helper()
	text, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// strict decodes objects into their Go types, and fails if a type lacks one of the fields.
func strict(t testing.TB, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, o := range objects {
		if v := types[o.GetAPIVersion()+" "+o.GetKind()]; v != nil {
			decodeStrict(t, o, v())
		}
	}
}

// TestPublished makes the manifests of published bundles, for each install mode that they support.
func TestPublished(t *testing.T) {
	all := shared.Glob(t, "data/operators/*/*")
	dirs := shared.Sample(all, 15)
	made, foreign := 0, map[string]bool{}
	for _, dir := range dirs {
		c, err := bundle.ReadContents(os.DirFS(dir), filepath.Base(filepath.Dir(dir)), bundle.Options{})
		if err != nil {
			if !strings.Contains(err.Error(), "no cluster with OLM v1 has version") {
				t.Errorf("%s: %v", dir, err)
			}
			continue
		}
		for _, watch := range []string{"", "studio", "kilns"} {
			opts := Options{Namespace: "studio", Watch: watch, Certificates: CertManager}
			objects, err := Objects(c, opts)
			if err != nil {
				if strings.Contains(err.Error(), "OLM v1 cannot apply it") {
					foreign[dir] = true
				} else if supported(c, watch) {
					t.Errorf("%s watching %q: %v", dir, watch, err)
				}
				continue
			}
			made++
			strict(t, objects)
			again, _ := Objects(c, opts)
			if a, b := encode(t, objects), encode(t, again); a != b {
				t.Errorf("%s: the second time it differs", dir)
			}
			checkPublished(t, c, objects, watch)
		}
	}
	if made < len(dirs) {
		t.Errorf("only %d bundles and modes are supported", made)
	}
	if len(dirs) == len(all) && len(foreign) != 4 { // two have no apiVersion, two are custom resources named Role and Secret
		t.Errorf("bundles with manifests of no API that OLM v1 applies: %v", foreign)
	}
}

// TestPublishedText checks the bytes of the manifests of published bundles, and of the errors, by their hashes. The
// hashes are of one bundle each, for all namespaces, the namespace of the operator and another one.
func TestPublishedText(t *testing.T) {
	all := shared.Glob(t, "data/operators/*/*")
	const file = "testdata/published.txt"
	if *golden.Update && !shared.Full() {
		t.Skip("the hashes of all bundles are updated together: set OPM_TESTS=full")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, hash, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = hash
	}
	var lines strings.Builder
	for _, dir := range shared.Sample(all, 15) {
		name := path.Join(filepath.Base(filepath.Dir(dir)), filepath.Base(dir))
		h := sha256.New()
		for _, watch := range []string{"", "studio", "kilns"} {
			fmt.Fprintln(h, printed(t, dir, name, watch))
		}
		hash := fmt.Sprintf("%x", h.Sum(nil)[:8])
		fmt.Fprintln(&lines, name, hash)
		if hash != want[name] && !*golden.Update {
			t.Errorf("%s: the hash of the manifests is %s, want %s; compare the output of opm bundle manifests with an older "+
				"opm. If this is right: %s -update, with OPM_TESTS=full", name, hash, want[name], golden.Command(t))
		}
	}
	if *golden.Update {
		golden.Compare(t, file, lines.String())
	}
}

// printed returns the manifests of a bundle, or the error.
func printed(t *testing.T, dir, name, watch string) string {
	c, err := bundle.ReadContents(os.DirFS(dir), name, bundle.Options{})
	if err == nil {
		err = CheckDependencies(c)
	}
	if err != nil {
		return err.Error()
	}
	objects, err := Objects(c, Options{Namespace: "studio", Watch: watch, Certificates: CertManager})
	if err != nil {
		return err.Error()
	}
	return encode(t, objects)
}

// supported reports whether the install modes of a bundle allow to watch a namespace.
func supported(c *bundle.Contents, watch string) bool {
	mode := map[string]string{"": "AllNamespaces", "studio": "OwnNamespace", "kilns": "SingleNamespace"}[watch]
	for _, m := range c.CSV.Spec.InstallModes {
		if string(m.Type) == mode {
			return m.Supported
		}
	}
	return false
}

func encode(t testing.TB, objects []*unstructured.Unstructured) string {
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkPublished counts objects of each kind.
func checkPublished(t testing.TB, c *bundle.Contents, objects []*unstructured.Unstructured, watch string) {
	t.Helper()
	got, want := map[string]int{}, map[string]int{}
	for _, o := range objects {
		got[o.GetKind()]++
	}
	for _, o := range c.Others {
		want[o.GetKind()]++
	}
	strategy := &c.CSV.Spec.InstallStrategy.StrategySpec
	want["CustomResourceDefinition"] += len(c.CRDs)
	want["Deployment"] += len(strategy.DeploymentSpecs)
	scope := "Cluster"
	if watch != "" {
		scope = ""
	}
	for _, kind := range []string{"Role", "RoleBinding"} {
		want["Cluster"+kind] += len(strategy.ClusterPermissions)
		want[scope+kind] += len(strategy.Permissions)
	}
	for kind, n := range want {
		switch kind {
		case "Service", "ServiceAccount": // also for webhooks and permissions
			if got[kind] < n {
				t.Errorf("%s: %d %s, want %d or more", c.CSV.Name, got[kind], kind, n)
			}
		default:
			if got[kind] != n {
				t.Errorf("%s: %d %s, want %d", c.CSV.Name, got[kind], kind, n)
			}
		}
	}
	if n := got["Service"] - want["Service"]; got["Certificate"] != n || got["Issuer"] != n {
		t.Errorf("%s: %d services of webhooks, %d issuers and %d certificates", c.CSV.Name, n, got["Issuer"], got["Certificate"])
	}
}
