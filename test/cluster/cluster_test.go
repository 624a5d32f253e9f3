//go:build cluster

// Package cluster asks a real API server: kube-apiserver with etcd, which scripts/cluster.sh gets. It is not a part of
// the other tests, since it compiles Kubernetes.
package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/test/program"
)

func TestMain(m *testing.M) { program.Main(m, "../..") }

// patience is the time that a server has to start, to establish a definition, or to send a change.
const patience = 2 * time.Minute

// The users of the API server, with their tokens.
const (
	admin  = "admin"
	reader = "reader"
)

// TestCluster loads a play, and asks about it as a user with the role that opm prints for a command. The answers are
// those about the file of the play.
func TestCluster(t *testing.T) {
	play := shared.Plays(t)["upd_chain/2-two-updates"]
	s := start(t)
	s.load(t, filepath.Join(play, "state.json"))
	var facts struct {
		Catalogs                     map[string]string
		GlobalNamespace, KubeVersion string
	}
	read(t, filepath.Join(play, "play.json"), &facts)
	flags := []string{"--global-namespace", facts.GlobalNamespace}
	for name, path := range facts.Catalogs {
		flags = append(flags, "--catalog", name+"="+filepath.Join(play, path))
	}
	version := []string{"--target", "kubernetes=" + facts.KubeVersion}
	file := filepath.Join(play, "state.json")

	if r := s.opm(t, reader, "resolve", "--state", "kube:"); !strings.Contains(r.Stdout+r.Stderr, "list subscriptions") {
		t.Errorf("without a role, opm does not say that it may not list Subscriptions:\n%s%s", r.Stdout, r.Stderr)
	}
	s.allow(t, "simulate --watch")
	s.allow(t, "resolve")
	s.allow(t, "diagnose")
	for _, tt := range []struct{ live, file []string }{
		{[]string{"simulate", "kube:"}, append([]string{"simulate", file}, version...)},
		{[]string{"resolve", "--state", "kube:"}, []string{"resolve", "--state", file}},
	} {
		got := s.opm(t, reader, slices.Concat(tt.live, flags, []string{"-o", "json"})...)
		want := s.opm(t, reader, slices.Concat(tt.file, flags, []string{"-o", "json"})...)
		live, file := answer(t, got.Stdout), answer(t, want.Stdout)
		if live == "{}" || got.Code != want.Code || live != file {
			t.Errorf("opm %v: exit status %d, want %d\n%s\nwant\n%s\n%s", tt.live, got.Code, want.Code, live, file, got.Stderr)
		}
		for _, m := range refused.FindAllStringSubmatch(got.Stdout+got.Stderr, -1) {
			if m[1] != "firings.pottery.example" {
				t.Errorf("opm %v: the role does not suffice: cannot list %s", tt.live, m[1])
			}
		}
	}
	saved := filepath.Join(t.TempDir(), "saved.json")
	live := s.opm(t, reader, slices.Concat([]string{"diagnose", "kube:", "--save", saved}, flags)...)
	offline := s.opm(t, reader, slices.Concat([]string{"diagnose", saved}, flags)...)
	if live.Stdout == "" || live.Stdout != offline.Stdout {
		t.Errorf("opm diagnose kube: prints\n%s\nand about what it saved\n%s", live.Stdout, offline.Stdout)
	}
	s.testWatch(t, slices.Concat([]string{"simulate", "kube:", "--watch"}, flags))
}

// refused matches a resource that the user may not list. The role does not have the custom resources of operators, since
// they differ from cluster to cluster; the answer says so.
var refused = regexp.MustCompile(`cannot list ([a-z.]+): `)

// testWatch changes a Subscription while opm watches the cluster.
func (s *server) testWatch(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "opm", args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.configs[reader])
	var out syncBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return out.contains("opm: answered; waiting for changes") })
	subscriptions := s.objects(t, "operators.coreos.com/v1alpha1", "Subscription")
	all, err := subscriptions.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) == 0 {
		t.Fatalf("%d Subscriptions: %v", len(all.Items), err)
	}
	o := all.Items[0]
	err = s.resource(t, &o).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return out.contains("the answer changed") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, out.String())
	}
}

// A server is a running API server.
type server struct {
	configs map[string]string // the files for kubectl, by user
	rest    *rest.Config      // as the administrator
	client  *dynamic.DynamicClient
}

// start starts etcd and kube-apiserver, which end with the test.
func start(t *testing.T) *server {
	t.Helper()
	apiserver := os.Getenv("OPM_KUBE_APISERVER")
	if apiserver == "" {
		t.Fatal("$OPM_KUBE_APISERVER is not set: run make cluster")
	}
	dir := t.TempDir()
	etcd, peers, port := freePort(t), freePort(t), freePort(t)
	run(t, dir, "etcd", "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", "http://"+etcd,
		"--advertise-client-urls", "http://"+etcd, "--listen-peer-urls", "http://"+peers, "--unsafe-no-fsync")
	tokens := filepath.Join(dir, "tokens.csv")
	write(t, tokens, "of-admin,admin,1,system:masters\nof-reader,reader,2\n")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	accounts := filepath.Join(dir, "accounts.key")
	write(t, accounts, string(pem.EncodeToMemory(&pem.Block{
		Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key),
	})))
	_, number, _ := net.SplitHostPort(port)
	run(t, dir, apiserver, "--etcd-servers", "http://"+etcd, "--bind-address", "127.0.0.1", "--secure-port", number,
		"--cert-dir", filepath.Join(dir, "certs"), "--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.example", "--service-account-key-file", accounts,
		"--service-account-signing-key-file", accounts, "--service-cluster-ip-range", "10.0.0.0/16",
		"--disable-admission-plugins", "ServiceAccount")

	s := &server{configs: map[string]string{}, rest: &rest.Config{
		Host: "https://" + port, BearerToken: "of-" + admin, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}}
	for _, user := range []string{admin, reader} {
		s.configs[user] = filepath.Join(dir, user+".config")
		write(t, s.configs[user], fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: test, user: {token: of-%s}}]
contexts: [{name: test, context: {cluster: test, user: test}}]
`, s.rest.Host, user))
	}
	if s.client, err = dynamic.NewForConfig(s.rest); err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(s.rest)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		r, err := client.Get(s.rest.Host + "/readyz")
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return fmt.Errorf("readyz: %s", r.Status)
		}
		return nil
	})
	return s
}

// run starts a program that is killed at the end of the test. Its output is shown if the test fails.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, file, file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		file.Close()
		if text, err := os.ReadFile(file.Name()); t.Failed() && err == nil {
			t.Logf("%s:\n%s", program, text[max(0, len(text)-4000):])
		}
	})
}

// load creates the objects of a file, with their status. Namespaces and definitions come first.
func (s *server) load(t *testing.T, file string) {
	t.Helper()
	var list unstructured.UnstructuredList
	read(t, file, &list)
	order := []string{"Namespace", "CustomResourceDefinition"}
	slices.SortStableFunc(list.Items, func(a, b unstructured.Unstructured) int {
		return rank(order, a.GetKind()) - rank(order, b.GetKind())
	})
	for i := range list.Items {
		s.create(t, &list.Items[i])
	}
}

// rank returns the index of a name, or the length of the list.
func rank(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// create creates an object with its status, or replaces one that the API server has made itself.
func (s *server) create(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	var client dynamic.ResourceInterface
	eventually(t, func() (err error) { // a new definition takes a moment
		client, err = s.find(o)
		return err
	})
	status, hasStatus := o.Object["status"]
	created, err := client.Create(t.Context(), o, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		if created, err = client.Get(t.Context(), o.GetName(), metav1.GetOptions{}); err == nil {
			o.SetResourceVersion(created.GetResourceVersion())
			created, err = client.Update(t.Context(), o, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		t.Logf("%s %s/%s is not loaded: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		return
	}
	if !hasStatus || o.GetKind() == "CustomResourceDefinition" || o.GetKind() == "APIService" {
		return // the API server writes these
	}
	created.Object["status"] = status
	if _, err := client.UpdateStatus(t.Context(), created, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("status of %s %s/%s: %v", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
}

// find returns the client for an object. The error says that the API server does not know its kind.
func (s *server) find(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	groups, err := discovery.NewDiscoveryClientForConfig(s.rest)
	if err != nil {
		return nil, err
	}
	resources, err := restmapper.GetAPIGroupResources(groups)
	if err != nil {
		return nil, err
	}
	kind := o.GroupVersionKind()
	mapping, err := restmapper.NewDiscoveryRESTMapper(resources).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	if o.GetNamespace() == "" {
		return s.client.Resource(mapping.Resource), nil
	}
	return s.client.Resource(mapping.Resource).Namespace(o.GetNamespace()), nil
}

func (s *server) resource(t *testing.T, o *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	client, err := s.find(o)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// objects returns the client for the objects of a kind in all namespaces.
func (s *server) objects(t *testing.T, version, kind string) dynamic.ResourceInterface {
	t.Helper()
	return s.resource(t, &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}})
}

// allow gives the reader the role that opm prints for a command.
func (s *server) allow(t *testing.T, command string) {
	t.Helper()
	r := s.opm(t, reader, "generate", "manifests", "--kind", "reader", "--for", command)
	if r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	for text := range strings.SplitSeq(r.Stdout, "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		if o.GetKind() != "ClusterRole" {
			continue
		}
		s.create(t, &o)
		s.create(t, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": o.GetAPIVersion(), "kind": "ClusterRoleBinding",
			"metadata": map[string]any{"name": o.GetName()},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": o.GetName()},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": reader}},
		}})
	}
}

// opm runs opm as a user of the cluster.
func (s *server) opm(t *testing.T, user string, args ...string) program.Result {
	t.Helper()
	return program.Call{Args: args, Env: []string{"KUBECONFIG=" + s.configs[user]}}.Run(t)
}

// answer returns the part of an answer in JSON that does not depend on the identities of objects, which the API server
// gives, without places: the outcomes of a simulation, or all of a resolution.
func answer(t *testing.T, text string) string {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if outcomes := all["outcomes"]; outcomes != nil {
		all = map[string]any{"outcomes": outcomes, "waiting": all["waiting"]}
	}
	short, err := json.MarshalIndent(withoutPlaces(all), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(short)
}

// withoutPlaces removes the places of objects from a value.
func withoutPlaces(value any) any {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "place")
		for key := range v {
			v[key] = withoutPlaces(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutPlaces(v[i])
		}
	}
	return value
}

// eventually calls f until it returns no error.
func eventually(t *testing.T, f func() error) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// freePort returns an address that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}
