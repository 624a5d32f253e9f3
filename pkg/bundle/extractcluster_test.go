package bundle

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// cluster returns the client configuration of an API server with one ConfigMap.
func cluster(t *testing.T, object *string, status int) *rest.Config {
	t.Helper()
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		if status != http.StatusOK {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "not today"}`)
			return
		}
		_, _ = io.WriteString(w, *object)
	}
	const name = "/api/v1/namespaces/olm/configmaps/oak"
	mux.HandleFunc("GET "+name, func(w http.ResponseWriter, _ *http.Request) { answer(w) })
	mux.HandleFunc("PUT "+name, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got a body of type %s, %v", r.Header.Get("Content-Type"), err)
		}
		*object = string(body)
		answer(w)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func oakConfigMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "oak", Namespace: "olm", Annotations: map[string]string{AnnotationPackage: "oak"},
		},
		Data: map[string]string{"a.yaml": "a"},
	}
}

// TestUpdateConfigMap checks that fields that are not about the bundle are unchanged.
func TestUpdateConfigMap(t *testing.T) {
	object := `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "oak", "namespace": "olm", "resourceVersion": "7",
		"annotations": {"mine": "1", "olm.contentEncoding": "gzip+base64", "olm.sourceImage": "old", "` + AnnotationChannels + `": "old"},
		"labels": {"a": "b"}}, "data": {"old": "old"}, "binaryData": {"old": "b2xk"}, "future": {"a": 9007199254740993}}`
	want := `{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "oak", "namespace": "olm", "resourceVersion": "7",
		"annotations": {"mine": "1", "` + AnnotationPackage + `": "oak"},
		"labels": {"a": "b"}}, "data": {"a.yaml": "a"}, "binaryData": null, "future": {"a": 9007199254740993}}`
	if err := UpdateConfigMap(t.Context(), cluster(t, &object, http.StatusOK), oakConfigMap()); err != nil {
		t.Fatal(err)
	}
	if !equalJSON(t, object, want) {
		t.Errorf("got %s, want %s", object, want)
	}
	bare := `{"metadata": {"name": "oak"}}`
	if err := UpdateConfigMap(t.Context(), cluster(t, &bare, http.StatusOK), oakConfigMap()); err != nil {
		t.Fatal(err)
	}
	want = `{"metadata": {"name": "oak", "annotations": {"` + AnnotationPackage + `": "oak"}}, "data": {"a.yaml": "a"}, "binaryData": null}`
	if !equalJSON(t, bare, want) {
		t.Errorf("got %s, want %s", bare, want)
	}
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, text := range []string{a, b} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&values[i]); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

func TestUpdateConfigMapFails(t *testing.T) {
	object := "{}"
	for _, test := range []struct {
		object string
		status int
		want   string
	}{
		{object, http.StatusForbidden, "read ConfigMap olm/oak: not today"},
		{object, http.StatusOK, "read ConfigMap olm/oak: "},
		{"no JSON", http.StatusOK, "read ConfigMap olm/oak: "},
	} {
		err := UpdateConfigMap(t.Context(), cluster(t, &test.object, test.status), oakConfigMap())
		if !strings.HasPrefix(errorText(err), test.want) {
			t.Errorf("%s, status %d: got error %v, want %q", test.object, test.status, err, test.want)
		}
	}
	missing := oakConfigMap()
	missing.Name = "elm"
	if err := UpdateConfigMap(t.Context(), cluster(t, &object, http.StatusOK), missing); err == nil {
		t.Error("no error about a ConfigMap that does not exist")
	}
}
