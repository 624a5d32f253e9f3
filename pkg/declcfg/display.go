package declcfg

import "github.com/go-json-experiment/json"

// ManifestDisplayName returns the display name in the ClusterServiceVersion that b carries as olm.bundle.object, or "".
// The display name in olm.csv.metadata is not looked at, as in upstream's lists.
func (b *Bundle) ManifestDisplayName() string {
	for i := range b.Properties {
		p := &b.Properties[i]
		if p.Type != PropertyBundleObject {
			continue
		}
		var csv struct {
			Kind string `json:"kind"`
			Spec struct {
				DisplayName string `json:"displayName"`
			} `json:"spec"`
		}
		var object BundleObject
		if p.Unmarshal(&object) != nil {
			continue
		}
		manifest, err := object.JSON()
		if err == nil && json.Unmarshal(manifest, &csv, lenient) == nil && csv.Kind == "ClusterServiceVersion" {
			return csv.Spec.DisplayName
		}
	}
	return ""
}
