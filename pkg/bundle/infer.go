package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A packageManifest is the file beside the directories of bundles that says which channels lead to them.
type packageManifest struct {
	PackageName    string `json:"packageName"`
	DefaultChannel string `json:"defaultChannel"`
	Channels       []struct {
		Name       string `json:"name"`
		CurrentCSV string `json:"currentCSV"`
	} `json:"channels"`
}

// Infer returns the labels of the bundle whose manifests lie in the directory dir of layout, from the package manifest
// that lies beside it. Its channels are those whose updates lead through it, sorted; the default channel is that of the
// package, if it is one of them.
//
// It fails where there is no package manifest, where the bundle is in no channel, and where the ClusterServiceVersion
// of the directory or of one beside it cannot be read. Directories without one are passed over.
func Infer(layout fs.FS, dir string) (Labels, error) {
	dir = path.Clean(dir)
	mediaType, err := detectMediaType(layout, dir)
	if err != nil {
		return Labels{}, err
	}
	pkg, err := findPackageManifest(layout)
	if err != nil {
		return Labels{}, err
	}
	updates, name, err := readUpdates(layout, dir)
	if err != nil {
		return Labels{}, err
	}
	l := Labels{MediaType: mediaType, Package: pkg.PackageName}
	channels := pkg.channelsOf(name, updates)
	if len(channels) == 0 {
		return Labels{}, fmt.Errorf("no channel of package %q leads to %q", pkg.PackageName, name)
	}
	l.Channels = strings.Join(channels, ",")
	l.DefaultChannel = pkg.defaultOf(channels)
	return l, nil
}

func findPackageManifest(layout fs.FS) (*packageManifest, error) {
	entries, err := fs.ReadDir(layout, ".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		text, err := readRegular(layout, entry.Name())
		if err != nil {
			return nil, err
		}
		if doc, failed := readDocument("", text, nil); failed == nil {
			pkg := new(packageManifest)
			if _, err := decode(doc.json, pkg); err == nil && pkg.PackageName != "" {
				return pkg, nil
			}
		}
	}
	return nil, errors.New("no package manifest beside the directory, which would name package and channels")
}

// updates are the names that every ClusterServiceVersion replaces or skips, by its name.
type updates map[string][]string

// readUpdates reads the directories of layout, and returns the name of the ClusterServiceVersion in dir too.
func readUpdates(layout fs.FS, dir string) (updates, string, error) {
	entries, err := fs.ReadDir(layout, ".")
	if err != nil {
		return nil, "", err
	}
	all, name := make(updates), ""
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		csv, err := readUpdate(layout, entry.Name())
		if err != nil {
			return nil, "", err
		}
		if csv == nil {
			continue
		}
		all[csv.Metadata.Name] = append(csv.Spec.Skips, csv.Spec.Replaces)
		if entry.Name() == dir {
			name = csv.Metadata.Name
		}
	}
	if name == "" {
		return nil, "", fmt.Errorf("no %s with a name in %s", kindCSV, dir)
	}
	return all, name, nil
}

// An update is the part of a ClusterServiceVersion that names the ones it updates.
type update struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Replaces string   `json:"replaces"`
		Skips    []string `json:"skips"`
	} `json:"spec"`
}

// readUpdate returns the first ClusterServiceVersion in a directory, nil for none.
func readUpdate(layout fs.FS, dir string) (*update, error) {
	entries, err := fs.ReadDir(layout, dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		name := path.Join(dir, entry.Name())
		text, err := readRegular(layout, name)
		if err != nil {
			return nil, err
		}
		doc, failed := readDocument(name, text, nil)
		if failed != nil || !declcfg.IsCSV(doc.json) {
			continue
		}
		csv := new(update)
		if ptr, err := decode(doc.json, csv); err != nil {
			return nil, doc.errorIn(ptr, err)
		}
		return csv, nil
	}
	return nil, nil
}

// channelsOf returns the channels whose updates lead from their head through the bundle of that name, sorted.
func (p *packageManifest) channelsOf(name string, all updates) []string {
	var channels []string
	for _, channel := range p.Channels {
		if all.lead(channel.CurrentCSV, name) {
			channels = append(channels, channel.Name)
		}
	}
	slices.Sort(channels)
	return slices.Compact(channels)
}

// defaultOf returns the default channel of the package if it is one of channels.
func (p *packageManifest) defaultOf(channels []string) string {
	name := p.DefaultChannel
	if name == "" && len(p.Channels) == 1 {
		name = p.Channels[0].Name
	}
	if !slices.Contains(channels, name) {
		return ""
	}
	return name
}

// lead reports whether the updates that lead to the bundle called head pass through name.
func (all updates) lead(head, name string) bool {
	seen := map[string]bool{"": true}
	for queue := []string{head}; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		if next == name {
			return true
		}
		if !seen[next] {
			seen[next] = true
			queue = append(queue, all[next]...)
		}
	}
	return false
}
