package catalogsource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// Each row is a spec without its sourceType, and a part of the pod, one line each: what it has, or "no" and what it lacks.
func TestPod(t *testing.T) {
	const extract = "image: q.io/c:v1, grpcPodConfig: {extractContent: {catalogDir: /configs%s}}"
	for _, tt := range []struct{ name, spec, namespace, want string }{
		{"name", "image: q.io/c:v1", "", "generateName: c-\nname: registry-server\nserviceAccountName: c"},
		{"port", "image: q.io/c:v1", "", "containerPort: 50051\nname: grpc"},
		{"probes", "image: q.io/c:v1", "", "initialDelaySeconds: 5\ninitialDelaySeconds: 10\nfailureThreshold: 15\nperiodSeconds: 10"},
		{"requests", "image: q.io/c:v1", "", "cpu: 10m\nmemory: 50Mi\nno GOMEMLIMIT"},
		{"tag", "image: q.io/c:v1", "", "imagePullPolicy: Always"},
		{"digest", "image: 'q.io/c@sha256:1'", "", "imagePullPolicy: IfNotPresent"},
		{"labels", "image: q.io/c:v1", "", "olm.catalogSource: c\nolm.managed: \"true\"\ncluster-autoscaler.kubernetes.io/safe-to-evict: \"true\""},
		{"secrets", "image: q.io/c:v1, secrets: [a, '', b]", "", "imagePullSecrets:\n- name: a\n- name: b\nno - {}"},
		{"node", "image: q.io/c:v1", "", "kubernetes.io/os: linux"},
		{"other nodes", "image: q.io/c:v1, grpcPodConfig: {nodeSelector: {a: b}}", "", "a: b\nno kubernetes.io/os"},
		{"memory", "image: q.io/c:v1, grpcPodConfig: {memoryTarget: 1Gi}", "", "memory: 1Gi\nvalue: 1GiB\nno 50Mi"},
		{"tolerations", "image: q.io/c:v1, grpcPodConfig: {tolerations: [{operator: Exists}]}", "", "- operator: Exists"},
		{"affinity", "image: q.io/c:v1, grpcPodConfig: {affinity: {nodeAffinity: {}}}", "", "nodeAffinity: {}"},
		{"class", "image: q.io/c:v1, grpcPodConfig: {priorityClassName: low}", "", "priorityClassName: low"},
		{"legacy", "image: q.io/c:v1", "", "readOnlyRootFilesystem: false\nno runAsNonRoot\nno drop:"},
		{"baseline namespace", "image: q.io/c:v1", "baseline", "no runAsNonRoot"},
		{"restricted namespace", "image: q.io/c:v1", "restricted", "runAsNonRoot: true\nrunAsUser: 1001\ntype: RuntimeDefault\n" +
			"allowPrivilegeEscalation: false\n- ALL\nreadOnlyRootFilesystem: false"},
		{"legacy in it", "image: q.io/c:v1, grpcPodConfig: {securityContextConfig: legacy}", "restricted", "no runAsNonRoot"},
		{"restricted", "image: q.io/c:v1, grpcPodConfig: {securityContextConfig: restricted}", "", "runAsNonRoot: true"},
		{"extract", fmt.Sprintf(extract, ""), "", "name: extract-utilities\nname: extract-content\n- --catalog.from=/configs\n" +
			"- serve\n- /extracted-catalog/catalog\nimage: " + OpmImage + "\nmountPath: /tmp/\nreadOnlyRootFilesystem: true\n" +
			"no readOnlyRootFilesystem: false\nno cache-dir"},
		{"extract cache", fmt.Sprintf(extract, ", cacheDir: /cache"), "", "- --cache.from=/cache\n- --cache-dir=/extracted-catalog/cache\nno /tmp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := new(v1alpha1.CatalogSource)
			text := "metadata: {name: c, namespace: olm}\nspec: {sourceType: grpc, " + tt.spec + "}\n"
			if err := yaml.UnmarshalStrict([]byte(text), source); err != nil {
				t.Fatal(err)
			}
			namespace := new(corev1.Namespace)
			namespace.Labels = map[string]string{labelEnforce: tt.namespace}
			pod, err := yaml.Marshal(Pod(source, Security(source, namespace)))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(tt.want) {
				want, lacks := strings.CutPrefix(strings.TrimSpace(line), "no ")
				if strings.Contains(string(pod), want) == lacks {
					t.Errorf("%s: not so in\n%s", line, pod)
				}
			}
		})
	}
}
