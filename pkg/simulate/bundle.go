package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A bundle is what a catalog says of a bundle that is installed.
type bundle struct {
	*cluster.Manifests
	err error // why its objects are not known
}

var errNotInCatalog = errors.New("no catalog is given that has the bundle")

// bundle returns a bundle of a CatalogSource. Each is read once.
func (r *run) bundle(namespace, catalog, name string) (*bundle, error) {
	key := namespace + "/" + catalog + "/" + name
	b := r.bundles[key]
	if b == nil {
		b = &bundle{Manifests: &cluster.Manifests{}, err: errNotInCatalog}
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

// objects returns the objects that the bundle installs, the ClusterServiceVersion first.
func (b *bundle) objects() []cluster.Kubernetes {
	var all []cluster.Kubernetes
	if b.CSV != nil {
		all = append(all, b.CSV)
	}
	return append(all, b.Others...)
}

// propertiesText returns the value of the annotation operatorframework.io/properties.
func propertiesText(properties []declcfg.Property) string {
	type property struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
	text := struct {
		Properties []property `json:"properties"`
	}{[]property{}}
	for _, p := range properties {
		text.Properties = append(text.Properties, property{p.Type, json.RawMessage(p.Value)})
	}
	return jsonText(text)
}

// configMapName returns the name of the ConfigMap that the image of a bundle is unpacked into.
func configMapName(image string) string {
	sum := sha256.Sum256([]byte(image))
	return hex.EncodeToString(sum[:])[:63]
}
