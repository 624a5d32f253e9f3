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
	// Manifests are copied to manifests/; nil are not. The files of directories below them go where upstream's opm puts
	// them: each directory takes the name of the one above it, so that those of the first level are in Name.
	Manifests fs.FS
	// Name is that of the directory of the Manifests.
	Name string

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
	err = opts.eachManifest(func(name string, content []byte) error {
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
	err := opts.eachManifest(func(name string, content []byte) error {
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

// eachManifest calls fn with every file of the manifests, by the name that it gets in the bundle. Links to files are
// followed. Two files of one name are an error.
func (o *GenerateOptions) eachManifest(fn func(name string, content []byte) error) error {
	if o.Manifests == nil {
		return nil
	}
	from := map[string]string{}
	return fs.WalkDir(o.Manifests, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		to := o.copied(name)
		if other := from[to]; other != "" {
			return fmt.Errorf("copy manifests: %s and %s would both become %s", other, name, to)
		}
		from[to] = name
		content, err := regular.ReadFile(o.Manifests, name, maxFileSize)
		if err != nil {
			return fmt.Errorf("copy manifests: %w", err)
		}
		return fn(to, content)
	})
}

// copied returns the name that a file of the manifests gets in the bundle.
func (o *GenerateOptions) copied(name string) string {
	dir, file := path.Split(name)
	if dir == "" {
		return path.Join(manifestsDir, file)
	}
	return path.Join(manifestsDir, o.Name, path.Dir(path.Clean(dir)), file)
}
