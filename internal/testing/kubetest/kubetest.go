// Package kubetest is an API server of Kubernetes for tests. It serves the objects of a state over HTTP: lists in
// pages, of a namespace or of all, by labels, also as metadata only, and watches. Clients can only read, and connect to
// ports of pods, over SPDY only.
//
//	server := kubetest.New(objects)
//	defer server.Close()
//	os.Setenv("KUBECONFIG", server.Kubeconfig(dir))
package kubetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Server is a running API server.
type Server struct {
	*httptest.Server
	Version string // of Kubernetes, such as v1.34.1

	// Fault, if not nil, may answer a request in place of the server; it then returns true. Resource is
	// RESOURCE.GROUP, "" for other requests, and attempt counts equal requests from 1.
	// Calls are not concurrent.
	Fault func(w http.ResponseWriter, r *http.Request, resource string, attempt int) bool
	// Pods are the addresses of the servers in pods, by NAMESPACE/NAME: HOST:PORT. Every port of a pod leads there.
	Pods map[string]string
	// PageSize, if not 0, is the maximum number of objects of a page.
	PageSize int

	lists map[schema.GroupVersionResource]*list

	mu       sync.Mutex
	requests []string
	attempts map[string]int
	changes  []change      // since the start, by resource version
	renewed  chan struct{} // closed at the next change, or to end all watches
	ended    int           // the number of calls of EndWatches
	closed   bool
}

// A change is an event of watches.
type change struct {
	kind    string // ADDED, MODIFIED or DELETED
	gvr     schema.GroupVersionResource
	object  *unstructured.Unstructured
	version int
}

// firstVersion is the resource version of the objects that a server starts with.
const firstVersion = 100

// version is the newest resource version.
func (s *Server) version() int { return firstVersion + len(s.changes) }

// A list has the objects of a resource, sorted like the keys of etcd.
type list struct {
	kind    string
	objects []*unstructured.Unstructured
}

// New starts a server with objects. Lists among them are flattened.
func New(objects ...*unstructured.Unstructured) *Server {
	s := &Server{
		Version: "v1.34.1", lists: map[schema.GroupVersionResource]*list{}, attempts: map[string]int{},
		renewed: make(chan struct{}),
	}
	for _, o := range objects {
		s.Add(o)
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Parse reads objects: JSON documents, one after the other. Lists among them are flattened.
func Parse(text []byte) (all []*unstructured.Unstructured, err error) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var content map[string]any
		if err := d.Decode(&content); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{Object: content}
		if !o.IsList() {
			all = append(all, o)
			continue
		}
		err := o.EachListItem(func(item runtime.Object) error {
			all = append(all, item.(*unstructured.Unstructured))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
}

// Add adds an object before the server is used.
func (s *Server) Add(o *unstructured.Unstructured) {
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	l := s.lists[gvr]
	if l == nil {
		l = &list{kind: o.GetKind()}
		s.lists[gvr] = l
	}
	i, _ := l.find(o)
	l.objects = slices.Insert(l.objects, i, o)
}

func (l *list) find(o *unstructured.Unstructured) (i int, ok bool) {
	return slices.BinarySearchFunc(l.objects, key(o), func(o *unstructured.Unstructured, k string) int {
		return strings.Compare(key(o), k)
	})
}

// Apply creates or replaces an object of a kind that the server has, and sends it to the watches.
func (s *Server) Apply(o *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	l := s.lists[gvr]
	kind := "MODIFIED"
	i, ok := l.find(o)
	if !ok {
		kind = "ADDED"
		l.objects = slices.Insert(l.objects, i, o)
	}
	l.objects[i] = o
	s.send(kind, gvr, o)
}

// Delete deletes an object, and sends it to the watches.
func (s *Server) Delete(o *unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	l := s.lists[gvr]
	if i, ok := l.find(o); ok {
		l.objects = slices.Delete(l.objects, i, i+1)
		s.send("DELETED", gvr, o)
	}
}

func (s *Server) send(kind string, gvr schema.GroupVersionResource, o *unstructured.Unstructured) {
	o = o.DeepCopy()
	version := s.version() + 1
	o.SetResourceVersion(strconv.Itoa(version))
	s.changes = append(s.changes, change{kind, gvr, o, version})
	s.renew()
}

// renew wakes the watches.
func (s *Server) renew() {
	close(s.renewed)
	s.renewed = make(chan struct{})
}

// EndWatches ends the answers to all watches so far.
func (s *Server) EndWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	s.renew()
}

// Close ends all watches and stops the server.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.renew()
	s.mu.Unlock()
	s.Server.Close()
}

func key(o *unstructured.Unstructured) string { return o.GetNamespace() + "/" + o.GetName() }

// Requests returns the requests so far: METHOD PATH?QUERY, without the user agent and so on.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Kubeconfig writes a kubeconfig with the context "test" into a directory, and returns its name.
func (s *Server) Kubeconfig(dir string) (string, error) {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters:
- {name: c, cluster: {server: %q}}
users:
- {name: u, user: {token: secret-token}}
contexts:
- {name: test, context: {cluster: c, user: u}}
`, s.URL)
	name := filepath.Join(dir, "kubeconfig")
	return name, os.WriteFile(name, []byte(text), 0o600)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if pod, ok := forwardedPod(r.URL.Path); ok && r.Method == http.MethodPost && s.Pods[pod] != "" {
		s.forward(w, r, pod)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	gvr, namespace, isList := parsePath(r.URL.Path)
	s.attempts[r.URL.RequestURI()]++
	if s.Fault != nil && s.Fault(w, r, gvr.GroupResource().String(), s.attempts[r.URL.RequestURI()]) {
		return
	}
	switch {
	case r.Method != http.MethodGet:
		Refuse(w, http.StatusMethodNotAllowed, "only GET is allowed")
	case r.URL.Path == "/version":
		writeJSON(w, map[string]string{"gitVersion": s.Version})
	case !isList:
		Refuse(w, http.StatusNotFound, "the server could not find the requested resource")
	case r.URL.Query().Get("watch") != "" && s.lists[gvr] != nil:
		s.watch(w, r, gvr, namespace)
	default:
		s.list(w, r, gvr, namespace)
	}
}

// watch sends the changes after a resource version until the client or the server ends it. It releases the lock while
// it waits.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, gvr schema.GroupVersionResource, namespace string) {
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	sent, bad := strconv.Atoi(query.Get("resourceVersion"))
	if err != nil || bad != nil {
		Refuse(w, http.StatusBadRequest, "invalid labelSelector or resourceVersion")
		return
	}
	partial := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata;")
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	for ended := s.ended; ended == s.ended && !s.closed; {
		for _, c := range s.changes[max(0, sent-firstVersion):] {
			sent = c.version
			o := c.object
			isOther := c.gvr != gvr || namespace != "" && o.GetNamespace() != namespace
			if isOther || !selector.Matches(labels.Set(o.GetLabels())) {
				continue
			}
			object := any(o.Object)
			if partial {
				object = item(o, gvr.Group, true)
			}
			_ = encoder.Encode(map[string]any{"type": c.kind, "object": object}) // the client may be gone
		}
		_ = http.NewResponseController(w).Flush()
		renewed := s.renewed
		s.mu.Unlock()
		select {
		case <-renewed:
		case <-r.Context().Done():
		}
		s.mu.Lock()
		if r.Context().Err() != nil {
			return
		}
	}
}

// parsePath parses /api/VERSION/[namespaces/NAMESPACE/]RESOURCE and /apis/GROUP/VERSION/….
func parsePath(path string) (gvr schema.GroupVersionResource, namespace string, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		gvr.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		gvr.Group, gvr.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return gvr, "", false
	}
	if len(parts) == 3 && parts[0] == "namespaces" {
		namespace, parts = parts[1], parts[2:]
	}
	gvr.Resource = parts[0]
	return gvr, namespace, len(parts) == 1
}

// list answers with a page. The continue token is the index of the first object of the next page.
func (s *Server) list(w http.ResponseWriter, r *http.Request, gvr schema.GroupVersionResource, namespace string) {
	l := s.lists[gvr]
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	switch {
	case l == nil:
		Refuse(w, http.StatusNotFound, "the server could not find the requested resource")
		return
	case err != nil:
		Refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	limit, _ := strconv.Atoi(query.Get("limit")) // 0 is no limit
	start, _ := strconv.Atoi(query.Get("continue"))
	if s.PageSize > 0 {
		limit = s.PageSize
	}
	partial := strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
	items, next := []any{}, ""
	for i, o := range l.objects[start:] {
		if namespace != "" && o.GetNamespace() != namespace || !selector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		if limit > 0 && len(items) == limit {
			next = strconv.Itoa(start + i)
			break
		}
		items = append(items, item(o, gvr.Group, partial))
	}
	kind, version := l.kind+"List", gvr.GroupVersion().String()
	if partial {
		kind, version = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	writeJSON(w, map[string]any{
		"kind": kind, "apiVersion": version, "items": items,
		"metadata": map[string]string{"resourceVersion": strconv.Itoa(s.version()), "continue": next},
	})
}

// item returns an object as an element of a list. Objects of Kubernetes itself do not repeat their type there.
func item(o *unstructured.Unstructured, group string, partial bool) any {
	content := o.DeepCopy()
	fields := []any{map[string]any{"manager": "test", "operation": "Update", "time": "2026-08-20T10:00:00Z"}}
	_ = unstructured.SetNestedSlice(content.Object, fields, "metadata", "managedFields") // metadata is an object
	switch {
	case partial:
		return map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": content.Object["metadata"],
		}
	case !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"):
		delete(content.Object, "apiVersion")
		delete(content.Object, "kind")
	}
	return content.Object
}

// Refuse answers with a Status.
func Refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may be gone
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code,
	})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
