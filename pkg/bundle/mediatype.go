package bundle

import (
	"errors"
	"io/fs"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// The media types of bundles: what manifests/ holds.
const (
	MediaTypeRegistry = "registry+v1" // a ClusterServiceVersion and what belongs to it
	MediaTypeHelm     = "helm"        // a chart
	MediaTypePlain    = "plain"       // any manifests
)

// chartFile is what a chart has to say about itself.
const chartFile = "Chart.yaml"

// DetectMediaType detects the media type of a directory of manifests from its files. An empty one is an error, and so
// is a file that cannot be read.
func DetectMediaType(manifests fs.FS) (string, error) {
	entries, err := fs.ReadDir(manifests, ".")
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return "", errors.New("no manifests in the directory")
	}
	found := MediaTypePlain
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		text, err := readRegular(manifests, entry.Name())
		if err != nil {
			return "", err
		}
		switch {
		case entry.Name() == chartFile && isChart(text):
			return MediaTypeHelm, nil
		case found == MediaTypePlain && holdsCSV(text):
			found = MediaTypeRegistry
		}
	}
	return found, nil
}

func isChart(text []byte) bool {
	doc, failed := readDocument("", text, nil)
	if failed != nil {
		return false
	}
	var chart struct {
		Name string `json:"name"`
	}
	_, err := decode(doc.json, &chart)
	return err == nil && chart.Name != ""
}

func holdsCSV(text []byte) bool {
	doc, failed := readDocument("", text, nil)
	return failed == nil && declcfg.IsCSV(doc.json)
}
