package install_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// TestReader checks that a Reader keeps the catalogs of the last state only, and tags and errors not at all, and that a
// pod is asked for what the registry does not have.
func TestReader(t *testing.T) {
	const digest = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	stateOf := func(images ...string) *cluster.State {
		t.Helper()
		text := `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: kiln, namespace: pottery}
spec: {name: kiln, source: crafts, sourceNamespace: olm}
`
		for _, image := range images {
			name := image[:1]
			text += `---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: ` + name + `, namespace: olm}
spec: {sourceType: grpc, image: "registry.example/` + image + `"}
---
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `-pod, namespace: olm, labels: {olm.catalogSource: ` + name + `}}
spec: {containers: [{name: registry-server, image: "registry.example/` + image + `"}]}
`
		}
		state, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(text)))
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	var read, closed []string
	get := func(name string) (*resolve.Catalog, func(), error) {
		read = append(read, name)
		return &resolve.Catalog{}, func() { closed = append(closed, name) }, nil
	}
	r := &install.Reader{
		Pull: func(ref string, _ []image.MirrorObject) (*resolve.Catalog, func(), error) {
			if ref == "registry.example/broken"+digest {
				read = append(read, ref)
				return nil, nil, errors.New("no such image")
			}
			return get(ref)
		},
		Forward: func(namespace, pod string) (*resolve.Catalog, func(), error) { return get(namespace + "/" + pod) },
	}
	expect := func(what string, got *[]string, want ...string) {
		t.Helper()
		slices.Sort(*got)
		if !slices.Equal(*got, want) {
			t.Errorf("%s %q, want %q", what, *got, want)
		}
		*got = nil
	}
	for _, tt := range []struct {
		images, read, closed []string
		from                 []install.Store
	}{
		{
			images: []string{"a" + digest, "broken" + digest, "crafts:v1"},
			read:   []string{"olm/b-pod", "registry.example/a" + digest, "registry.example/broken" + digest, "registry.example/crafts:v1"},
			from:   []install.Store{install.FromRegistry, install.FromPod, install.FromRegistry},
		},
		{
			images: []string{"a" + digest, "broken" + digest, "crafts:v1"},
			read:   []string{"registry.example/broken" + digest, "registry.example/crafts:v1"},
			closed: []string{"registry.example/crafts:v1"},
			from:   []install.Store{install.FromRegistry, install.FromPod, install.FromRegistry},
		},
		{
			images: []string{"a" + digest},
			closed: []string{"olm/b-pod", "registry.example/crafts:v1"},
			from:   []install.Store{install.FromRegistry},
		},
	} {
		contents, err := r.Read(t.Context(), stateOf(tt.images...), install.Options{Global: "olm"})
		if err != nil {
			t.Fatal(err)
		}
		var from []install.Store
		for _, c := range contents {
			from = append(from, c.From)
		}
		if !slices.Equal(from, tt.from) {
			t.Errorf("got contents from %q, want %q", from, tt.from)
		}
		expect("read", &read, tt.read...)
		expect("closed", &closed, tt.closed...)
	}
	r.Close()
	expect("closed", &closed, "registry.example/a"+digest)
}

// TestReaderOfNothing checks that a Reader without sources returns no contents.
func TestReaderOfNothing(t *testing.T) {
	contents, err := new(install.Reader).Read(t.Context(), &cluster.State{}, install.Options{})
	if contents != nil || err != nil {
		t.Errorf("got %v, %v", contents, err)
	}
}
