package main

import (
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/testing/kubetest"
)

// TestForwardCluster checks that pods are read from the connected cluster, even if kubectl uses another context by then.
func TestForwardCluster(t *testing.T) {
	s := kubetest.New()
	t.Cleanup(s.Close)
	s.Pods = map[string]string{"olm/crafts-x": "localhost:0"}
	file, err := s.Kubeconfig(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	connected, err := kube.Connect("")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", "no-such-file")
	cmd := diagnoseCmd()
	cmd.SetContext(t.Context())
	f := &stateFlags{paths: []string{"kube:"}, live: liveFlags{cluster: connected}, contents: contentsFlags{forward: true}}
	r, err := f.contentsReader(cmd, &imageFlags{timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	_, _, err = r.Forward("olm", "crafts-x")
	if err == nil || !strings.Contains(err.Error(), "port 50051 of the pod: connection refused") {
		t.Errorf("got error %v", err)
	}
}
