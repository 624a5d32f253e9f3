package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/testing/kubetest"
	"github.com/opm-toolchain/opm/pkg/render"
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
	r := &contentsReader{
		cmd: cmd, images: &imageFlags{timeout: time.Hour}, known: map[string]*knownCatalog{},
		flags: &stateFlags{paths: []string{"kube:"}, live: liveFlags{cluster: connected}},
	}
	_, err = r.forward(&install.Content{Origin: install.Origin{Namespace: "olm", Pod: "crafts-x"}})
	if err == nil || !strings.Contains(err.Error(), "port 50051 of the pod: connection refused") {
		t.Errorf("got error %v", err)
	}
}

// TestForgottenContents checks that a reader keeps the catalogs of the last state only, and tags and errors not at all.
func TestForgottenContents(t *testing.T) {
	const image = "registry.example/crafts@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	state, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(`
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: crafts, namespace: olm}
spec: {sourceType: grpc, image: "`+image+`"}
---
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: kiln, namespace: pottery}
spec: {name: kiln, source: crafts, sourceNamespace: olm}
`)))
	if err != nil {
		t.Fatal(err)
	}
	var closed []string
	closer := func(name string) func() { return func() { closed = append(closed, name) } }
	cmd := diagnoseCmd()
	cmd.SetContext(t.Context())
	kept := &resolve.Catalog{}
	r := &contentsReader{
		cmd: cmd, images: &imageFlags{}, flags: &stateFlags{contents: contentsFlags{pull: true}}, closeGiven: closer("given"),
		known: map[string]*knownCatalog{
			image:                         {catalog: kept, close: closer("digest"), isUsed: true},
			"registry.example/crafts:v1":  {catalog: kept, close: closer("tag"), isTag: true, isUsed: true},
			"pod olm/crafts-x":            {catalog: kept, close: closer("pod"), isUsed: true},
			"registry.example/broken@sha": {err: errNoPod, isUsed: true},
		},
	}
	if err := r.read(state); err != nil {
		t.Fatal(err)
	}
	if c := r.flags.opts.Contents; len(c) != 1 || c[0].Catalog != kept || c[0].From != install.FromRegistry {
		t.Errorf("got contents %+v", c[0])
	}
	slices.Sort(closed)
	if want := []string{"pod", "tag"}; !slices.Equal(closed, want) || len(r.known) != 1 {
		t.Errorf("closed %q, want %q; known: %d", closed, want, len(r.known))
	}
	closed = nil
	r.close()
	if want := []string{"digest", "given"}; !slices.Equal(closed, want) {
		t.Errorf("closed %q, want %q", closed, want)
	}
}
