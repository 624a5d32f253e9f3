package validate

import (
	"encoding/base64"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const (
	maxObject  = 1 << 20 // bytes in a ConfigMap
	maxMessage = 4 << 20 // bytes in a gRPC message that clients accept by default
)

// sizes checks that each manifest fits into a ConfigMap, and the bundle into a gRPC message of the registry.
func (s *scope) sizes(b *declcfg.Bundle) {
	message, manifests := 0, 0
	for i := range b.Properties {
		p := &b.Properties[i]
		switch size := len(p.Value); p.Type {
		case declcfg.PropertyBundleObject:
			size = base64.StdEncoding.DecodedLen(size) // the JSON around the base64 text is negligible
			var object declcfg.BundleObject
			if size > maxObject && p.Unmarshal(&object) == nil && len(object.Data) > maxObject {
				s.add("object-size", index("/properties", i)+"/value", "the manifest has %d bytes; a ConfigMap holds %d",
					len(object.Data), maxObject)
			}
			manifests += size
		case declcfg.PropertyCSVMetadata:
			message += 2 * size // a registry sends the CSV generated from it twice
		default:
			message += size
		}
	}
	if message += manifests; message+manifests > maxMessage {
		csv, _ := b.ManifestCSV() // a registry also sends the CSV in a field of its own
		message += len(csv)
	}
	if message > maxMessage {
		remedy := "shorten its properties, such as the examples and the description in olm.csv.metadata"
		if manifests > 0 {
			remedy = "migrate it to olm.csv.metadata"
		}
		s.add("message-size", "", "the bundle needs a gRPC message of about %d bytes; clients accept %d: %s",
			message, maxMessage, remedy)
	}
}
