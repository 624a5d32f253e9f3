package bundle

import (
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// checkOwned compares the kinds that the ClusterServiceVersion owns with those that manifests define. Of a kind that is
// owned in one version others may be defined.
func (c *checker) checkOwned() {
	defined := c.definedKinds()
	owned := make(map[declcfg.GVK]bool) // without versions, and defined
	for i, crd := range c.csv.Spec.CustomResourceDefinitions.Owned {
		plural, group, ok := strings.Cut(crd.Name, ".")
		if !ok {
			continue // reported with the examples
		}
		api := declcfg.GVK{Group: group, Version: crd.Version, Kind: crd.Kind}
		kind, ok := defined[api]
		switch {
		case !ok && c.lost: // it may be in a file that cannot be read
		case !ok:
			c.findCSV("crd-missing", crdPointer("owned", i), "no manifest defines %s", kindText(api))
		case kind.plural != plural:
			c.findCSV("crd-missing", crdPointer("owned", i), "no manifest defines %s as %q: %s has %q",
				kindText(api), plural, kind.file, kind.plural)
		}
		owned[anyVersion(api)] = owned[anyVersion(api)] || ok
	}
	for api, kind := range defined {
		if !owned[anyVersion(api)] {
			c.find("crd-not-owned", kind.document, "/spec", "%s does not own %s", c.csvFile.file, kindText(api))
		}
	}
}

func anyVersion(api declcfg.GVK) declcfg.GVK { return declcfg.GVK{Group: api.Group, Kind: api.Kind} }

// A definedKind is a kind, which is the key of a map, by the manifest that defines it.
type definedKind struct {
	*manifest
	plural string
}

// definedKinds returns the kinds that manifests define.
func (c *checker) definedKinds() map[declcfg.GVK]definedKind {
	defined := make(map[declcfg.GVK]definedKind)
	for _, m := range c.manifests {
		if m.kind != kindCRD {
			continue
		}
		var d definition
		if _, err := decode(m.printed, &d); err != nil {
			continue // reported as crd-type
		}
		for _, api := range d.kinds(m.apiVersion) {
			if first, ok := defined[api]; ok {
				c.find("crd-twice", m.document, "/spec", "%s is defined in %s", kindText(api), first.file)
				continue
			}
			defined[api] = definedKind{m, d.Spec.Names.Plural}
		}
	}
	return defined
}

// kinds returns what a definition of that API version defines.
func (d *definition) kinds(apiVersion string) []declcfg.GVK {
	spec := &d.Spec
	var all []declcfg.GVK
	add := func(version string) {
		all = append(all, declcfg.GVK{Group: spec.Group, Version: version, Kind: spec.Names.Kind})
	}
	for _, v := range spec.Versions {
		add(v.Name)
	}
	if apiVersion == crdV1beta1 && len(spec.Versions) == 0 && spec.Version != "" {
		add(spec.Version)
	}
	return all
}
