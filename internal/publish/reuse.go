package publish

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/pkg/image"
)

// NewReusedBase returns a catalog image, of which only the program is used, as the base for another catalog. Its
// catalog and the cache of it are hidden, and its command is kept without the arguments about the cache. The caller
// closes the image, after the images built on it.
func NewReusedBase(ctx context.Context, img *image.Image, platform string) (*Base, error) {
	b, err := NewBase(ctx, img, platform)
	if err != nil {
		return nil, err
	}
	kind, dir, _ := img.Kind() // the error is about images without content of ours
	if kind != image.Catalog {
		return b, nil // like other bases
	}
	hide := []string{cacheDir}
	if dir = strings.Trim(path.Clean("/"+dir), "/"); dir != "" {
		hide = append(hide, dir)
	}
	if cache := b.keepCommand(img, dir); isPrivate(cache) && !slices.Contains(hide, cache) {
		hide = append(hide, cache)
	}
	return b, img.Hide(ctx, hide...)
}

// isPrivate reports whether a directory can be hidden: it is not the root, and has neither the program nor all of the
// usual directories for temporary files.
func isPrivate(dir string) bool {
	return dir != "" && dir != "tmp" && dir != "var" && !strings.HasPrefix(program, dir+"/")
}

// keepCommand takes the command of a catalog image if that is opm serve, and returns the directory of its cache, or "".
func (b *Base) keepCommand(img *image.Image, dir string) (cache string) {
	var c servedCommand
	entry, args := c.edit(img.Entrypoint, dir), c.edit(img.Cmd, dir)
	all := slices.Concat(entry, args)
	if len(all) == 0 || path.Base(all[0]) != path.Base(program) || !slices.Contains(all, "serve") {
		return "" // such as a shell: the command of new images is more certain
	}
	if entry == nil {
		entry, args = all[:1], all[1:]
	}
	b.entry, b.args, b.HTTPAddr = entry, args, c.httpAddr
	return strings.Trim(path.Clean("/"+c.cache), "/")
}

// A servedCommand has the values of the flags that edit removes.
type servedCommand struct{ cache, httpAddr string }

// edit returns a part of a command for a catalog at another directory, without the flags about the cache and the
// address for HTTP, which depend on the new image. It returns nil for nil.
func (c *servedCommand) edit(words []string, dir string) (kept []string) {
	values := map[string]*string{"--cache-dir": &c.cache, "--http-addr": &c.httpAddr}
	for i := 0; i < len(words); i++ {
		name, value, hasValue := strings.Cut(words[i], "=")
		switch to := values[name]; {
		case to != nil && hasValue:
			*to = value
		case to != nil && i+1 < len(words):
			i++
			*to = words[i]
		case name == "--cache-enforce-integrity" || name == "--cache-only":
		case dir != "" && strings.Trim(path.Clean("/"+words[i]), "/") == dir:
			kept = append(kept, "/"+catalogDir)
		default:
			kept = append(kept, words[i])
		}
	}
	return kept
}
