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

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Complete returns l with what it lacks: the media type of the manifests in the directory dir of layout and, where
// package or channels are missing, what [Infer] finds. In that case the default channel is completed as well.
func (l Labels) Complete(layout fs.FS, dir string) (Labels, error) {
	if l.Package != "" && l.Channels != "" {
		mediaType, err := detectMediaType(layout, dir)
		l.MediaType = mediaType
		return l, err
	}
	found, err := Infer(layout, dir)
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

// Annotated returns the labels that the metadata of the bundle in fsys states, without its media type. What it does not
// state, or cannot be read, is "".
func Annotated(fsys fs.FS) Labels {
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

// annotationsFile is where upstream writes annotations.
const annotationsFile = metadataDir + "/annotations.yaml"

// GenerateOptions say what Generate writes. The zero value is the default.
type GenerateOptions struct {
	// Manifests are copied to manifests/, with what is in directories below; nil are not.
	Manifests fs.FS

	// Overwrite writes over files that say something else. Without it, they are errors.
	Overwrite bool
}

// Generate makes the directory of a bundle, or completes it: it writes metadata/annotations.yaml as the labels say.
// An annotations.yaml that says all of that, and maybe more, stays as it is without Overwrite. Where something is
// wrong nothing is written.
func Generate(ctx context.Context, l Labels, out *os.Root, opts GenerateOptions) error {
	if err := checkGenerated(out, l, opts); err != nil {
		return err
	}
	return atomicfile.Merge(out, func(stage *os.Root) error { return generate(ctx, stage, l, out, opts) })
}

// checkGenerated looks for files that would be written over.
func checkGenerated(out *os.Root, l Labels, opts GenerateOptions) error {
	if opts.Overwrite {
		return nil
	}
	var errs []error
	existing, err := regular.ReadFile(out.FS(), annotationsFile, maxFileSize)
	switch {
	case err == nil:
		errs = append(errs, l.Check(path.Join(out.Name(), annotationsFile), existing))
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	err = eachManifest(opts.Manifests, func(name string, content []byte) error {
		differs, err := differs(out, name, content)
		if differs {
			pos := declcfg.Pos{File: path.Join(out.Name(), name)}
			errs = append(errs, &declcfg.Error{Pos: pos, Err: errors.New("already exists with other content")})
		}
		return err
	})
	return errors.Join(append(errs, err)...)
}

// generate writes into stage what is to be merged into out.
func generate(ctx context.Context, stage *os.Root, l Labels, out *os.Root, opts GenerateOptions) error {
	err := eachManifest(opts.Manifests, func(name string, content []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return writeFile(stage, name, 0, bytes.NewReader(content))
	})
	if err != nil {
		return err
	}
	if _, err := out.Stat(annotationsFile); err == nil && !opts.Overwrite {
		return nil // it was checked
	}
	return writeFile(stage, annotationsFile, 0, bytes.NewReader(l.Annotations()))
}

// eachManifest calls fn with every file below, by the name that it has in a bundle. Links to files are followed.
func eachManifest(manifests fs.FS, fn func(name string, content []byte) error) error {
	if manifests == nil {
		return nil
	}
	return fs.WalkDir(manifests, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := regular.ReadFile(manifests, name, maxFileSize)
		if err != nil {
			return fmt.Errorf("copy manifests: %w", err)
		}
		return fn(path.Join(manifestsDir, name), content)
	})
}
