package install_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// TestReader checks that a Reader keeps the catalogs of the last state only, and tags and errors not at all, and that a
// pod is asked for a catalog that cannot be pulled.
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

// TestReaderErrors checks the reasons why catalogs cannot be read, and that Pull gets the mirrors of the cluster. The
// text is of a cluster, and must not name a file of this machine.
func TestReaderErrors(t *testing.T) {
	source := func(name, spec string) string {
		return "---\napiVersion: operators.coreos.com/v1alpha1\nkind: CatalogSource\nmetadata: {name: " + name +
			", namespace: olm}\nspec: {" + spec + "}\n"
	}
	text := `
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: kiln, namespace: pottery}
spec: {name: kiln, source: a, sourceNamespace: olm}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterExtension
metadata: {name: kiln}
spec: {namespace: pottery, serviceAccount: {name: kiln}, source: {sourceType: Catalog, catalog: {packageName: kiln}}}
---
apiVersion: olm.operatorframework.io/v1
kind: ClusterCatalog
metadata: {name: crafts}
spec: {source: {type: Image, image: {ref: "registry.example/crafts:v1"}}}
---
apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
metadata: {name: ours}
spec: {imageTagMirrors: []}
` + source("a", "sourceType: grpc, image: oci:dir") + source("b", "sourceType: grpc, address: 'b:50051'") +
		source("c", "sourceType: configmap, configMap: bundles")
	state, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no such\nimage")
	pull := func(_ string, mirrors []image.MirrorObject) (*resolve.Catalog, func(), error) {
		if len(mirrors) != 1 || mirrors[0].Name != "ImageTagMirrorSet ours" || !json.Valid(mirrors[0].Text) {
			t.Errorf("got mirrors %v", mirrors)
		}
		return nil, nil, failed
	}
	forward := func(string, string) (*resolve.Catalog, func(), error) { return nil, nil, failed }
	const noFile = `"oci:dir" is not a reference to an image in a registry`
	const noImage, noPod = "the CatalogSource has no image", "the CatalogSource has no pod"
	const configMap = "its contents are a ConfigMap, which --forward reads"
	for _, tt := range []struct {
		reader install.Reader
		want   []string
	}{
		{install.Reader{Pull: pull}, []string{noFile, noImage, configMap, "no such; image"}},
		{install.Reader{Forward: forward}, []string{
			noPod, noPod, noPod, "--forward reads only the pods of CatalogSources",
		}},
		{install.Reader{Pull: pull, Forward: forward}, []string{
			noFile + "; " + noPod, noImage + "; " + noPod, configMap + "; " + noPod, "no such; image",
		}},
	} {
		contents, err := tt.reader.Read(t.Context(), state, install.Options{Global: "olm"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range contents {
			got = append(got, c.Error)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("got\n%q\nwant\n%q", got, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(string, []image.MirrorObject) (*resolve.Catalog, func(), error) {
		cancel()
		return nil, nil, ctx.Err()
	}
	_, err = (&install.Reader{Pull: stop}).Read(ctx, state, install.Options{Global: "olm"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
}

// TestReaderOfGiven checks that a catalog that the options have is not read again.
func TestReaderOfGiven(t *testing.T) {
	state, err := cluster.Load(t.Context(), nil, render.Text("-", []byte(`
apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: kiln, namespace: pottery}
spec: {name: kiln, source: crafts, sourceNamespace: olm}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: crafts, namespace: olm}
spec: {sourceType: grpc, image: "registry.example/crafts:v1"}
`)))
	if err != nil {
		t.Fatal(err)
	}
	r := install.Reader{Pull: func(ref string, _ []image.MirrorObject) (*resolve.Catalog, func(), error) {
		t.Errorf("pulls %s", ref)
		return nil, nil, nil
	}}
	given := &resolve.Catalog{Namespace: "olm", Name: "crafts", Index: &declcfg.Index{}}
	contents, err := r.Read(t.Context(), state, install.Options{Global: "olm", Catalogs: []*resolve.Catalog{given}})
	if err != nil || len(contents) != 1 || contents[0].From != install.FromFlag || contents[0].Error != "" {
		t.Errorf("got %v, %v", contents, err)
	}
}

// TestReaderOfNothing checks that a Reader without sources returns no contents.
func TestReaderOfNothing(t *testing.T) {
	contents, err := new(install.Reader).Read(t.Context(), &cluster.State{}, install.Options{})
	if contents != nil || err != nil {
		t.Errorf("got %v, %v", contents, err)
	}
}
