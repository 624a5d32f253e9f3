package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/tarfs"
)

// Hidden are files and directories that images on a base do not have.
type hidden struct {
	layers    []bool // the layers to leave out; nil for none
	whiteouts *Layer // hides what the other layers have; nil for nothing
}

// Hide hides the files and directories at paths, such as tmp/cache, from images that are built on i: from then on,
// [Build] leaves out the layers of i with nothing else, and hides the content of others by a layer of whiteouts. Hide
// reads all layers. Files and other methods of i do not change. Hide must not be called while i is used. The source of
// the rules for whiteouts is https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts.
func (i *Image) Hide(ctx context.Context, paths ...string) error {
	h := &hider{directories: map[string]bool{}, covered: map[string]bool{}}
	for _, name := range paths {
		name, err := tarfs.CleanName(name)
		if err != nil || name == "." {
			return fmt.Errorf("hide %q: want a path below the root of an image", name)
		}
		h.paths = append(h.paths, name)
	}
	hides := &hidden{layers: make([]bool, len(i.layers))}
	for n := range i.layers {
		names, err := i.namesIn(ctx, n)
		if err != nil {
			return fmt.Errorf("read image %s: layer %s: %w", i.Ref, i.layers[n].Digest, err)
		}
		hides.layers[n] = h.leavesOut(names)
	}
	var files []File
	for _, name := range h.paths {
		if h.covered[name] {
			dir, base := path.Split(name)
			name = dir + tarfs.WhiteoutPrefix + base
			files = append(files, File{Name: name, Mode: 0o644, Content: strings.NewReader("")})
		}
	}
	if files != nil {
		var err error
		if hides.whiteouts, err = Pack(ctx, Content{Files: files}, time.Time{}); err != nil {
			return err
		}
		i.closeLater(hides.whiteouts)
	}
	i.hidden = hides
	return nil
}

// namesIn returns the names of the entries in a layer. A whiteout has the name that it hides.
func (i *Image) namesIn(ctx context.Context, layer int) (names []string, err error) {
	packed, err := i.layer(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	plain, err := tarfs.Decompress(packed)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	limit := i.limits.Archive()
	archive := tar.NewReader(io.LimitReader(plain, limit.Unpacked))
	for {
		hdr, err := archive.Next()
		switch {
		case err == io.EOF:
			return names, nil
		case err != nil && !errors.Is(err, tar.ErrInsecurePath): // CleanName checks the path
			return nil, err
		case len(names) == limit.Entries:
			return nil, limitError("it has more than %d files", limit.Entries)
		}
		name, err := tarfs.CleanName(hdr.Name)
		if err != nil {
			return nil, err
		}
		if dir, base := path.Split(name); strings.HasPrefix(base, tarfs.WhiteoutPrefix+tarfs.WhiteoutPrefix) {
			name = path.Clean(dir)
		} else if hides, ok := strings.CutPrefix(base, tarfs.WhiteoutPrefix); ok {
			name = path.Join(dir, hides)
		}
		names = append(names, name)
	}
}

// A hider decides which layers are left out, from the lowest up.
type hider struct {
	paths       []string
	directories map[string]bool // parents of paths in the layers that are kept
	covered     map[string]bool // paths that layers have which are kept
}

// leavesOut reports whether a layer with these entries is left out: all of them are hidden, or are parents of hidden
// paths that a lower layer has, too, such as tmp.
func (h *hider) leavesOut(names []string) bool {
	has := map[string]bool{}
	rest := false
	for _, name := range names {
		i := slices.IndexFunc(h.paths, func(p string) bool { return strings.HasPrefix(name+"/", p+"/") })
		switch {
		case i >= 0:
			has[h.paths[i]] = true
		case name != "." && !h.directories[name]:
			rest = true
		}
	}
	if !rest {
		return len(has) > 0
	}
	for _, name := range names {
		if h.isParent(name) {
			h.directories[name] = true
		}
	}
	for name := range has {
		h.covered[name] = true
	}
	return false
}

func (h *hider) isParent(name string) bool {
	return slices.ContainsFunc(h.paths, func(p string) bool { return strings.HasPrefix(p, name+"/") })
}

// edit removes the layers that are left out from a configuration.
func (h *hidden) edit(config []byte) ([]byte, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil {
		return nil, err
	}
	leftOut := func(layer int) bool { return layer < len(h.layers) && h.layers[layer] }
	var diffIDs []v1.Hash
	for n, id := range c.RootFS.DiffIDs {
		if !leftOut(n) {
			diffIDs = append(diffIDs, id)
		}
	}
	c.RootFS.DiffIDs = diffIDs
	layer := -1
	c.History = slices.DeleteFunc(c.History, func(entry v1.History) bool {
		if !entry.EmptyLayer {
			layer++
		}
		return !entry.EmptyLayer && leftOut(layer)
	})
	return json.Marshal(c, json.Deterministic(true))
}
