package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// complete returns l with the missing labels: the media type of the manifests in the directory dir of layout and, if
// package or channels are missing, the labels that infer finds, including the default channel.
func (l Labels) complete(layout fs.FS, dir string) (Labels, error) {
	if l.Package != "" && l.Channels != "" {
		mediaType, err := detectMediaType(layout, dir)
		l.MediaType = mediaType
		return l, err
	}
	found, err := infer(layout, dir)
	if err != nil {
		return Labels{}, err
	}
	return Labels{
		MediaType:      found.MediaType,
		Package:        cmp.Or(l.Package, found.Package),
		Channels:       cmp.Or(l.Channels, found.Channels),
		DefaultChannel: cmp.Or(l.DefaultChannel, found.DefaultChannel),
	}, nil
}

// annotated returns the labels in the metadata of the bundle in fsys, without its media type. A label that is missing
// or cannot be read is "".
func annotated(fsys fs.FS) Labels {
	p := parser{fsys: fsys}
	of := p.readMetadata().annotations
	return Labels{Package: string(of.Package), Channels: string(of.Channels), DefaultChannel: string(of.DefaultChannel)}
}

// Map returns the labels by name, as an image has them.
func (l Labels) Map() map[string]string {
	all := make(map[string]string)
	for _, label := range l.list() {
		all[label[0]] = label[1]
	}
	return all
}

// annotationsFile is the file in which upstream writes the annotations.
const annotationsFile = metadataDir + "/annotations.yaml"

// generateOptions configure generate. The zero value is the default.
type generateOptions struct {
	// manifests are copied to manifests/; nil copies none. Upstream's opm names each copied directory after its parent,
	// so directories of the first level are named name. So does generate.
	manifests fs.FS
	// name is the name of the directory of the manifests.
	name string

	// overwrite replaces existing files with different content. Without it, such a file is an error.
	overwrite bool
}

// generate creates or completes a bundle directory: it copies the manifests and writes the labels to
// metadata/annotations.yaml. Without overwrite, an existing annotations.yaml is kept if it has all labels; it may have
// other annotations. After an error, nothing is written.
func generate(ctx context.Context, l Labels, out *os.Root, opts generateOptions) error {
	if err := checkGenerated(out, l, opts); err != nil {
		return err
	}
	return atomicfile.Merge(out, func(stage *os.Root) error {
		err := opts.eachManifest(func(name string, content []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return writeFile(stage, name, 0, bytes.NewReader(content))
		})
		if err != nil {
			return err
		}
		if _, err := out.Stat(annotationsFile); err == nil && !opts.overwrite {
			return nil // checkGenerated checked it
		}
		return writeFile(stage, annotationsFile, 0, bytes.NewReader(l.annotations()))
	})
}

func checkGenerated(out *os.Root, l Labels, opts generateOptions) error {
	if opts.overwrite {
		return nil
	}
	var errs []error
	existing, err := regular.ReadFile(out.FS(), annotationsFile, maxFileSize)
	switch {
	case err == nil:
		errs = append(errs, l.check(path.Join(out.Name(), annotationsFile), existing))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err = opts.eachManifest(func(name string, content []byte) error {
		old, err := regular.ReadFile(out.FS(), name, maxFileSize)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !bytes.Equal(old, content) {
			pos := declcfg.Pos{File: path.Join(out.Name(), name)}
			errs = append(errs, &declcfg.Error{Pos: pos, Err: errors.New("already exists with other content")})
		}
		return err
	})
	return errors.Join(append(errs, err)...)
}

// eachManifest calls fn with the content of every manifest file and its name in the bundle. Links to files are
// followed. Two files with the same name are an error.
func (o *generateOptions) eachManifest(fn func(name string, content []byte) error) error {
	if o.manifests == nil {
		return nil
	}
	from := map[string]string{}
	return fs.WalkDir(o.manifests, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		to := path.Join(manifestsDir, path.Base(name))
		if dir := path.Dir(name); dir != "." {
			to = path.Join(manifestsDir, o.name, path.Dir(dir), path.Base(name))
		}
		if other := from[to]; other != "" {
			return fmt.Errorf("copy manifests: %s and %s would both become %s", other, name, to)
		}
		from[to] = name
		content, err := regular.ReadFile(o.manifests, name, maxFileSize)
		if err != nil {
			return fmt.Errorf("copy manifests: %w", err)
		}
		return fn(to, content)
	})
}

// A packageManifest is the package manifest next to the bundle directories, which lists the channels and their heads.
type packageManifest struct {
	PackageName    string `json:"packageName"`
	DefaultChannel string `json:"defaultChannel"`
	Channels       []struct {
		Name       string `json:"name"`
		CurrentCSV string `json:"currentCSV"`
	} `json:"channels"`
}

// infer returns the labels of the bundle whose manifests are in the directory dir of layout, from the package manifest
// next to that directory. The bundle is in each channel whose head has an update path from it; the channels are sorted.
// The default channel is the default channel of the package, if the bundle is in it.
//
// It fails if there is no package manifest, if the bundle is in no channel, or if the ClusterServiceVersion of the
// directory or of one next to it cannot be read. Directories without a ClusterServiceVersion are skipped.
func infer(layout fs.FS, dir string) (Labels, error) {
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
	var channels []string // with an update path from the bundle
	for _, channel := range pkg.Channels {
		if updates.pathIncludes(channel.CurrentCSV, name) {
			channels = append(channels, channel.Name)
		}
	}
	slices.Sort(channels)
	channels = slices.Compact(channels)
	if len(channels) == 0 {
		return Labels{}, fmt.Errorf("no channel of package %q leads to %q", pkg.PackageName, name)
	}
	l.Channels = strings.Join(channels, ",")
	name = pkg.DefaultChannel
	if name == "" && len(pkg.Channels) == 1 {
		name = pkg.Channels[0].Name
	}
	if slices.Contains(channels, name) {
		l.DefaultChannel = name
	}
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

// updates maps the name of each ClusterServiceVersion to the names that it replaces or skips.
type updates map[string][]string

// readUpdates reads the ClusterServiceVersions in the directories of layout. It also returns the name of the one in
// dir.
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

// An update has the fields of a ClusterServiceVersion that name the versions it updates.
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

// pathIncludes reports whether an update path to the bundle head includes the bundle name.
func (all updates) pathIncludes(head, name string) bool {
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
