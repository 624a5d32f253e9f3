package kube_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/opm-toolchain/opm/internal/kube"
)

func TestConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: b, user: c}}],
clusters: [{name: b, cluster: {server: "https://cluster.example:6443"}}], users: [{name: c, user: {token: secret}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := kube.Config(file)
	if err != nil || config.Host != "https://cluster.example:6443" || config.BearerToken != "secret" {
		t.Errorf("got %v, %v", config, err)
	}
	if _, err := kube.Config(file + ".missing"); err == nil {
		t.Error("no error about a missing file")
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := kube.Config(""); err == nil {
		t.Error("no error outside of a cluster")
	}
}
