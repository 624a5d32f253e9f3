package kube_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/testing/kubetest"
)

const small = `
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"kiln","namespace":"pottery"},
 "spec":{"name":"kiln","source":"crafts","sourceNamespace":"olm"}}
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"CatalogSource","metadata":{"name":"crafts","namespace":"olm"},
 "spec":{"sourceType":"grpc","image":"registry.example/crafts:v1"}}
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"CatalogSource","metadata":{"name":"other","namespace":"weaving"},
 "spec":{"sourceType":"grpc","image":"registry.example/other:v1"}}
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion",
 "metadata":{"name":"kiln.v1.0.0","namespace":"pottery"},
 "spec":{"customresourcedefinitions":{"owned":[{"name":"kilns.pottery.example","kind":"Kiln","version":"v1"}]}}}
{"apiVersion":"operators.coreos.com/v1alpha1","kind":"ClusterServiceVersion",
 "metadata":{"name":"kiln.v1.0.0","namespace":"weaving","labels":{"olm.copiedFrom":"pottery"}},
 "spec":{"displayName":"a copy"},"status":{"reason":"Copied"}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"kilns.pottery.example"},
 "spec":{"group":"pottery.example","names":{"kind":"Kiln","plural":"kilns"},"scope":"Namespaced",
 "versions":[{"name":"v1","served":true,"storage":true}]}}
{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"looms.weaving.example"},
 "spec":{"group":"weaving.example","names":{"kind":"Loom","plural":"looms"},"scope":"Namespaced",
 "versions":[{"name":"v1","served":true,"storage":true}]}}
{"apiVersion":"pottery.example/v1","kind":"Kiln","metadata":{"name":"big","namespace":"a-b"}}
{"apiVersion":"pottery.example/v1","kind":"Kiln","metadata":{"name":"big","namespace":"a"}}
{"apiVersion":"weaving.example/v1","kind":"Loom","metadata":{"name":"old","namespace":"a"}}
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key","namespace":"pottery","annotations":{"olmcahash":"abc",
 "kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"k\":\"aHVzaA==\"}}"}},"data":{"k":"aHVzaA=="}}
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"other","namespace":"elsewhere"},"data":{"k":"aHVzaA=="}}
`

// serve starts a server with objects.
func serve(t *testing.T, text string) *kubetest.Server {
	t.Helper()
	objects, err := kubetest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := kubetest.New(objects...)
	t.Cleanup(s.Close)
	return s
}

// connect connects to a server by a kubeconfig.
func connect(t *testing.T, s *kubetest.Server) *kube.Cluster {
	t.Helper()
	file, err := s.Kubeconfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	c, err := kube.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// read reads a state from a server, and returns its text.
func read(t *testing.T, s *kubetest.Server, opts kube.Options) (string, *kube.Info) {
	t.Helper()
	state, err := connect(t, s).Read(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	var text strings.Builder
	if _, err := state.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	if int64(text.Len()) != state.Size() {
		t.Errorf("%d bytes, Size is %d", text.Len(), state.Size())
	}
	return text.String(), state.Info
}

// names returns the objects of a text: KIND NAMESPACE/NAME.
func names(t *testing.T, text string) string {
	t.Helper()
	objects, err := kubetest.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, o := range objects {
		all = append(all, fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName()))
	}
	return strings.Join(all, "\n")
}

func TestRead(t *testing.T) {
	s := serve(t, small)
	s.PageSize = 1
	text, info := read(t, s, kube.Options{Question: kube.Question{Command: "simulate"}})
	want := `ClusterInfo /cluster
CatalogSource olm/crafts
CatalogSource weaving/other
ClusterServiceVersion pottery/kiln.v1.0.0
ClusterServiceVersion weaving/kiln.v1.0.0
CustomResourceDefinition /kilns.pottery.example
CustomResourceDefinition /looms.weaving.example
Kiln a/big
Kiln a-b/big
Secret pottery/key
Subscription pottery/kiln`
	if got := names(t, text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, secret := range []string{"aHVzaA", "hush", "managedFields", "a copy", "PartialObject"} {
		if strings.Contains(text, secret) {
			t.Errorf("the text has %q:\n%s", secret, text)
		}
	}
	if !strings.Contains(text, `"olmcahash": "abc"`) {
		t.Errorf("the annotations of OLM are missing:\n%s", text)
	}
	if info.KubernetesVersion != "v1.34.1" || len(info.Gaps()) > 0 {
		t.Errorf("version %s, gaps %q", info.KubernetesVersion, info.Gaps())
	}
	if !info.Has(schema.GroupKind{Kind: "Secret"}) || info.Has(schema.GroupKind{Kind: "Event"}) {
		t.Errorf("the Info has the kinds %q", info.Read)
	}
	if again, _ := read(t, s, kube.Options{Question: kube.Question{Command: "simulate"}}); again != text {
		t.Error("the text differs the second time")
	}
	for _, r := range s.Requests() {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("request %s", r)
		}
	}
}

// TestNamespaces checks that reading can be limited to namespaces, and still finds the catalogs of Subscriptions.
func TestNamespaces(t *testing.T) {
	s := serve(t, small)
	text, info := read(t, s, kube.Options{Question: kube.Question{Command: "resolve"}, Namespaces: []string{"pottery"}})
	want := `ClusterInfo /cluster
CatalogSource olm/crafts
ClusterServiceVersion pottery/kiln.v1.0.0
Subscription pottery/kiln`
	if got := names(t, text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := strings.Join(info.Gaps(), "; "); got != "only objects of the namespaces pottery were read" {
		t.Errorf("gaps %q", got)
	}
	for _, r := range s.Requests() {
		if strings.Contains(r, "operators.coreos.com") && !strings.Contains(r, "/namespaces/") &&
			!strings.Contains(r, "olmconfigs") {
			t.Errorf("request %s", r)
		}
	}
}

// many returns a state with more Subscriptions than fit on a page.
func many(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription",`+
			`"metadata":{"name":"s%04d","namespace":"work"}}`+"\n", i)
	}
	return text.String()
}

// TestFaults checks how faults of a server end: with the complete state, with a gap, or with an error.
func TestFaults(t *testing.T) {
	const subscriptions = "subscriptions.operators.coreos.com"
	broken := func(w http.ResponseWriter) {
		w.Header().Set("Content-Length", "10000")
		io.WriteString(w, `{"metadata":{},"items":[{"metadata":{"name":"half","namespace":"a"}},{"meta`)
		panic(http.ErrAbortHandler)
	}
	refuse := func(code int, text string) func(http.ResponseWriter, *http.Request, int) bool {
		return func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			kubetest.Refuse(w, code, text)
			return true
		}
	}
	for _, tt := range []struct {
		name  string
		fault func(w http.ResponseWriter, r *http.Request, attempt int) bool
		gaps  string
		err   string
		count int // of Subscriptions
	}{
		{name: "forbidden", fault: refuse(403, `subscriptions is forbidden: User "u" cannot list`),
			gaps: `cannot list subscriptions.operators.coreos.com: subscriptions is forbidden: User "u" cannot list`},
		{name: "unauthorized", fault: refuse(401, "Unauthorized"), err: "list " + subscriptions + ": Unauthorized"},
		{name: "unavailable", fault: refuse(503, "no endpoints"), gaps: "cannot list " + subscriptions + ": no endpoints"},
		{name: "redirect", fault: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
			return true
		}, gaps: "cannot list " + subscriptions + ": 302 Found"},
		{name: "busy", fault: func(w http.ResponseWriter, _ *http.Request, attempt int) bool {
			if attempt > 2 {
				return false
			}
			w.Header().Set("Retry-After", "7")
			kubetest.Refuse(w, 429, "too many requests")
			return true
		}, count: 1200},
		{name: "busy for long", fault: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			w.Header().Set("Retry-After", "3600")
			kubetest.Refuse(w, 429, "too many requests")
			return true
		}, gaps: "cannot list " + subscriptions + ": too many requests"},
		{name: "half a page", fault: func(w http.ResponseWriter, r *http.Request, attempt int) bool {
			if r.URL.Query().Get("continue") != "" && attempt == 1 {
				broken(w)
			}
			return false
		}, count: 1200},
		{name: "only half pages", fault: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			broken(w)
			return true
		}, err: "list " + subscriptions + ": the answer breaks off: unexpected EOF"},
		{name: "expired once", fault: func(w http.ResponseWriter, r *http.Request, attempt int) bool {
			if r.URL.Query().Get("continue") == "1000" && attempt == 1 {
				kubetest.Refuse(w, 410, "expired")
				return true
			}
			return false
		}, count: 1200},
		{name: "expired always", fault: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if r.URL.Query().Get("continue") == "500" {
				w.WriteHeader(http.StatusGone)
				io.WriteString(w, `{"kind":"Status","metadata":{"continue":"0500"},"code":410,"message":"expired"}`)
				return true
			}
			return false
		}, count: 1200,
			gaps: "Subscription.operators.coreos.com objects were not read at one resource version: " +
				"the list expired again and again"},
		{name: "expired without an end", fault: refuse(410, "expired"), gaps: "cannot list " + subscriptions + ": expired"},
		{name: "cyclic tokens", fault: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			next := map[string]string{"": "a", "a": "b", "b": "a"}[r.URL.Query().Get("continue")]
			fmt.Fprintf(w, `{"metadata":{"continue":%q},"items":[]}`, next)
			return true
		}, err: "list " + subscriptions + ": the API server repeats a page: its continue token was used before"},
		{name: "a page of HTML", fault: func(w http.ResponseWriter, _ *http.Request, _ int) bool {
			io.WriteString(w, "<html>log in</html>")
			return true
		}, err: "list " + subscriptions + ": the answer is not JSON of an API server"},
		{name: "a large object", fault: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			io.WriteString(w, `{"items":[{"metadata":{"name":"`)
			endless(w, r, "aaaaaaaaaaaaaaaa")
			return true
		}, err: "list " + subscriptions + ": an object is larger than 1 MB"},
		{name: "many objects", fault: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			io.WriteString(w, `{"items":[{}`)
			endless(w, r, `,{"metadata":{"name":"a"}}`)
			return true
		}, err: "list " + subscriptions + ": more than 5,000 objects"},
		{name: "white space", fault: func(w http.ResponseWriter, r *http.Request, _ int) bool {
			io.WriteString(w, `{"items":[`)
			endless(w, r, "                ")
			return true
		}, err: "list " + subscriptions + ": an object is larger than 1 MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, many(1200)+small)
			s.Fault = func(w http.ResponseWriter, r *http.Request, resource string, attempt int) bool {
				return resource == subscriptions && tt.fault(w, r, attempt)
			}
			var slept time.Duration
			opts := kube.Options{Question: kube.Question{Command: "resolve"}, MaxObject: 1 << 20, MaxObjects: 5000}
			kube.SetSleep(&opts, func(_ context.Context, d time.Duration) error {
				slept += d
				return nil
			})
			state, err := connect(t, s).Read(t.Context(), opts)
			if tt.err != "" {
				if want := "read \"kube:test\": " + tt.err; err == nil || err.Error() != want {
					t.Fatalf("got %v\nwant %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer state.Close()
			if got := strings.Join(state.Info.Gaps(), "\n"); got != tt.gaps {
				t.Errorf("gaps\n%s\nwant\n%s", got, tt.gaps)
			}
			var text bytes.Buffer
			if _, err := state.WriteTo(&text); err != nil {
				t.Fatal(err)
			}
			want := tt.count
			if want > 0 {
				want++ // that of small
			}
			if got := strings.Count(names(t, text.String()), "Subscription "); got != want {
				t.Errorf("%d Subscriptions, want %d", got, want)
			}
			if tt.name == "busy" && slept != 3*2*7*time.Second {
				t.Errorf("waited %v", slept)
			}
		})
	}
}

// endless writes text until the client is gone.
func endless(w io.Writer, r *http.Request, text string) {
	for text := []byte(strings.Repeat(text, 1000)); r.Context().Err() == nil; {
		if _, err := w.Write(text); err != nil {
			return
		}
	}
}

// TestIdle checks that a server that sends nothing is an error.
func TestIdle(t *testing.T) {
	s := serve(t, small)
	s.Fault = func(_ http.ResponseWriter, r *http.Request, _ string, _ int) bool {
		<-r.Context().Done()
		return true
	}
	_, err := connect(t, s).Read(t.Context(), kube.Options{Question: kube.Question{Command: "resolve"}, Idle: time.Millisecond})
	if err == nil || err.Error() != "read \"kube:test\": the API server sends nothing for 1ms" {
		t.Errorf("got %v", err)
	}
}

// TestForbidden checks that it is an error if nothing can be read.
func TestForbidden(t *testing.T) {
	s := serve(t, small)
	s.Fault = func(w http.ResponseWriter, _ *http.Request, _ string, _ int) bool {
		kubetest.Refuse(w, 403, "no\x1b[31m\nway")
		return true
	}
	_, err := connect(t, s).Read(t.Context(), kube.Options{Question: kube.Question{Command: "serve"}})
	want := `read "kube:test": the API server refuses all requests: cannot get /version: no\x1b[31m way`
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") || err.Error() != want {
		t.Errorf("got %q\nwant %q", err, want)
	}
}

// TestReaderRules checks that a question needs no other permissions than those of its rules, apart from custom resources.
func TestReaderRules(t *testing.T) {
	questions := []kube.Question{{Command: "resolve", Pull: true}, {Command: "diagnose", Pull: true, Forward: true}}
	for _, command := range kube.Commands() {
		questions = append(questions, kube.Question{Command: command})
	}
	for _, question := range questions {
		allowed := map[string]bool{"": true, "kilns.pottery.example": true}
		for _, rule := range kube.ReaderRules(question) {
			for _, r := range rule.Resources {
				allowed[schema.GroupResource{Group: rule.APIGroups[0], Resource: r}.String()] = true
			}
		}
		s := serve(t, small)
		s.Fault = func(w http.ResponseWriter, _ *http.Request, resource string, _ int) bool {
			if !allowed[resource] {
				kubetest.Refuse(w, 403, "forbidden")
			}
			return !allowed[resource]
		}
		if _, info := read(t, s, kube.Options{Question: question}); len(info.Gaps()) > 0 {
			t.Errorf("%v: %q", question, info.Gaps())
		}
	}
}

// TestMemory checks that the memory for a state does not grow with its size.
func TestMemory(t *testing.T) {
	const n, size = 2000, 20_000
	s := serve(t, "")
	s.Fault = func(w http.ResponseWriter, _ *http.Request, resource string, _ int) bool {
		if resource != "subscriptions.operators.coreos.com" {
			return false
		}
		io.WriteString(w, `{"items":[{"metadata":{"name":"x"}}`)
		for i := range n {
			fmt.Fprintf(w, `,{"metadata":{"name":"s%d"},"text":%q}`, i, strings.Repeat("text ", size/5))
		}
		io.WriteString(w, `]}`)
		return true
	}
	before := heap()
	state, err := connect(t, s).Read(t.Context(), kube.Options{Question: kube.Question{Command: "resolve"}})
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	if used := heap() - before; state.Size() < n*size || used > state.Size()/4 {
		t.Errorf("%d MB of memory for %d MB of text", used>>20, state.Size()>>20)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestConnect(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) string {
		name := filepath.Join(dir, "config")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	t.Setenv("HOME", dir)
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, tt := range []struct{ config, context, err string }{
		{"", "", `connect to "kube:": ` + "no cluster is configured: neither $KUBECONFIG nor ~/.kube/config names one, " +
			"and this is not a pod with an account"},
		{"contexts: [{name: staging, context: {}}]\n", "stagin",
			`connect to "kube:stagin": no context "stagin" in the kubeconfig (did you mean "staging"?)`},
	} {
		t.Setenv("KUBECONFIG", write(tt.config))
		if _, err := kube.Connect(tt.context); err == nil || err.Error() != tt.err {
			t.Errorf("%q %q: got %v\nwant %s", tt.config, tt.context, err, tt.err)
		}
	}
}
