package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/cluster/rbac"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Contents are what a catalog says of a bundle that is installed.
type contents struct {
	*cluster.Manifests
	err error // why its objects are not known
}

var errNotInCatalog = errors.New("no catalog is given that has the bundle")

// bundle returns a bundle of a CatalogSource. Each is read once.
func (r *run) bundle(namespace, catalog, name string) (*contents, error) {
	key := namespace + "/" + catalog + "/" + name
	b := r.bundles[key]
	if b == nil {
		b = &contents{Manifests: &cluster.Manifests{}, err: errNotInCatalog}
		if meta := r.question.Bundle(namespace, catalog, name); meta != nil {
			if m, err := cluster.ReadManifests(meta); err != nil {
				b.err = err
			} else {
				b.Manifests, b.err = m, nil
			}
		}
		r.bundles[key] = b
	}
	return b, b.err
}

// objects returns what the bundle creates in a namespace, in the order of an InstallPlan: the ClusterServiceVersion,
// the other manifests, and the service accounts with their permissions.
func (b *contents) objects(namespace string) ([]cluster.Kubernetes, error) {
	if b.CSV == nil {
		return b.Others, nil
	}
	csv := *b.CSV // which shares all but the namespace
	csv.Namespace = namespace
	all := append([]cluster.Kubernetes{&csv}, b.Others...)
	accounts, err := rbac.ForOperator(&csv)
	for _, a := range accounts {
		for o := range a.All() {
			all = append(all, o.(cluster.Kubernetes))
		}
	}
	return all, err
}

// propertiesText returns the value of the annotation operatorframework.io/properties. Required APIs and packages occur
// twice in it: a catalog serves them as dependencies, too, and OLM makes properties of these.
func propertiesText(properties []declcfg.Property) string {
	type property struct {
		Type  string `json:"type"`
		Value any    `json:"value"`
	}
	own, required := []property{}, []property{}
	for _, p := range properties {
		own = append(own, property{p.Type, p.Value})
		switch p.Type {
		case declcfg.PropertyGVKRequired:
			var k declcfg.GVKRequired
			if p.Unmarshal(&k) == nil {
				required = append(required, property{p.Type, struct {
					Group   string `json:"group"`
					Version string `json:"version"`
					Kind    string `json:"kind"`
				}{k.Group, k.Version, k.Kind}})
			}
		case declcfg.PropertyPackageRequired:
			var pkg declcfg.PackageRequired
			if p.Unmarshal(&pkg) == nil {
				required = append(required, property{p.Type, pkg})
			}
		}
	}
	return jsonText(map[string][]property{"properties": append(own, required...)})
}

// configMapName returns the name of the ConfigMap that the image of a bundle is unpacked into.
func configMapName(image string) string {
	sum := sha256.Sum256([]byte(image))
	return hex.EncodeToString(sum[:])[:63]
}
