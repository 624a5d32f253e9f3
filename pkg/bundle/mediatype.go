package bundle

import (
	"errors"
	"io/fs"
	"path"

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

// detectMediaType detects the media type of the manifests in the directory dir of layout from its files. An empty one
// is an error, and so is a file that cannot be read. dir is not made a file system of its own: links may lead out of
// it.
func detectMediaType(layout fs.FS, dir string) (string, error) {
	entries, err := fs.ReadDir(layout, dir)
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
		text, err := readRegular(layout, path.Join(dir, entry.Name()))
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
