package bundle

import (
	"io/fs"
	"path"

	"github.com/operator-framework/api/pkg/encoding"
)

// OLM unpacks a bundle into a ConfigMap, each file compressed by itself. Kubernetes holds no more than maxBundleSize in
// an object; from nearBundleSize on the validators of upstream warn.
const (
	maxBundleSize  = 1 << 20
	nearBundleSize = maxBundleSize * 85 / 100
)

// checkSize warns of a bundle that OLM cannot unpack, or soon cannot. What cannot be read is reported elsewhere.
func (c *checker) checkSize() {
	size := 0
	for _, dir := range []string{manifestsDir, metadataDir} {
		entries, err := fs.ReadDir(c.fsys, dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			text, err := readRegular(c.fsys, path.Join(dir, entry.Name()))
			if err != nil {
				continue
			}
			if packed, err := encoding.GzipBase64Encode(text); err == nil {
				size += len(packed)
			}
		}
	}
	if size > nearBundleSize {
		c.findIn("bundle-size", manifestsDir, "%d KB when packed by OLM; the limit is %d KB",
			size>>10, maxBundleSize>>10)
	}
}
