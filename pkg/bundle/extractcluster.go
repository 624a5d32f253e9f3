package bundle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ClusterConfig returns how the cluster is reached that a kubeconfig file names or, without one, the cluster that the
// program runs in.
func ClusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	config, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		return nil, errors.New("no kubeconfig file is given, and this is not a pod of a cluster")
	}
	return config, err
}

// UpdateConfigMap puts the data of m, as Extract makes it, in the place of the data of the ConfigMap of its name and
// namespace, which has to exist. Annotations that are not about bundles stay; anything else stays as well. An update by
// somebody else meanwhile is an error, as the cluster words it.
func UpdateConfigMap(ctx context.Context, config *rest.Config, m *corev1.ConfigMap) error {
	client, err := coreClient(config)
	if err != nil {
		return err
	}
	existing, err := send(ctx, client.Get(), m)
	if err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	updated, err := withData(existing, m)
	if err != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	put := client.Put().SetHeader("Content-Type", runtime.ContentTypeJSON).Body(updated)
	if _, err := send(ctx, put, m); err != nil {
		return fmt.Errorf("write ConfigMap %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}

// coreClient returns a client for the core API that knows no types but that of errors, since all types of Kubernetes
// together are large.
func coreClient(config *rest.Config) (*rest.RESTClient, error) {
	version := schema.GroupVersion{Version: "v1"}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, version)
	config = rest.CopyConfig(config)
	config.APIPath = "/api"
	config.GroupVersion = &version
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.UserAgent = "opm"
	return rest.RESTClientFor(config)
}

// send sends a request about the ConfigMap of the name and namespace of m.
func send(ctx context.Context, r *rest.Request, m *corev1.ConfigMap) ([]byte, error) {
	result := r.Namespace(m.Namespace).Resource("configmaps").Name(m.Name).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// withData returns a ConfigMap, in JSON, with the data of m and its annotations. Keys that are not known here stay.
func withData(object []byte, m *corev1.ConfigMap) ([]byte, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, err
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(all["metadata"], &meta); err != nil {
		return nil, err
	}
	var annotations map[string]string
	if raw, ok := meta["annotations"]; ok {
		if err := json.Unmarshal(raw, &annotations); err != nil {
			return nil, err
		}
	}
	for _, set := range []struct {
		in    map[string]json.RawMessage
		key   string
		value any
	}{
		{meta, "annotations", withAnnotations(annotations, m.Annotations)},
		{all, "metadata", meta},
		{all, "data", m.Data},
		{all, "binaryData", m.BinaryData},
	} {
		raw, err := json.Marshal(set.value)
		if err != nil {
			return nil, err
		}
		set.in[set.key] = raw
	}
	return json.Marshal(all)
}

// withAnnotations returns annotations with those of a bundle, which replace the ones of another bundle.
func withAnnotations(all, bundle map[string]string) map[string]string {
	merged := maps.Clone(all)
	if merged == nil {
		merged = make(map[string]string)
	}
	for _, label := range (Labels{DefaultChannel: "optional"}).list() {
		delete(merged, label[0])
	}
	delete(merged, annotationEncoding)
	delete(merged, annotationSourceImage)
	maps.Copy(merged, bundle)
	return merged
}
