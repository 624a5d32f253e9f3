package compose

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"reflect"
	"slices"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A plan lists the changes of a run.
type plan struct {
	write  []*fragment
	remove []string // files that compose wrote and that the config no longer needs
	gone   []string // names of removed references

	dockerfile string
	docker     Status

	before []written // entries of the record while the files change
	after  *record
}

// plan returns the changes to make. It reports existing files that must not be replaced or deleted.
func (c *composer) plan(dockerfile string) (*plan, error) {
	p := &plan{dockerfile: dockerfile, after: &record{}}
	for _, f := range c.fragments {
		p.fragment(f)
	}
	err := c.planDockerfile(p)
	if err == nil {
		err = c.planRemovals(p)
	}
	p.after.sort()
	return p, cmp.Or(err, c.failed())
}

// fragment plans to write a fragment if it differs from its file.
func (p *plan) fragment(f *fragment) {
	digest := cmp.Or(f.digest, f.onDisk)
	p.after.Files = append(p.after.Files, written{
		Path: f.path, Digest: digest, Image: f.Image, Source: f.source, Settings: f.settings(),
		Packages: f.packages, Dropped: f.dropped,
	})
	if digest == f.onDisk {
		return
	}
	isOwn := f.onDisk == "" || f.old != nil && f.old.is(f.onDisk)
	if !isOwn && !f.opts.Overwrite {
		why := "exists and was not written by compose; move it away, or replace it with --overwrite"
		if f.old != nil {
			why = "was changed since compose wrote it; make the change in the source, and replace the file with --overwrite"
		}
		f.report(f.config.atImage(f.index, fmt.Errorf("%s %s", f.pathOf(f.path), why)))
		return
	}
	p.write = append(p.write, f)
	p.before = append(p.before, written{Path: f.path, Digest: f.onDisk, Next: digest})
}

// planDockerfile plans to write the Dockerfile, unless one exists that compose did not write.
func (c *composer) planDockerfile(p *plan) error {
	name := dockerfileOf(c.config.Name)
	onDisk, err := fileDigest(c.root, name)
	if err != nil {
		return err
	}
	old := c.old.find(name)
	sum := sha256.Sum256([]byte(p.dockerfile))
	digest := digestOf(sum[:])
	switch {
	case onDisk == digest:
		p.docker = Unchanged
	case onDisk == "" || old != nil && old.is(onDisk) || c.opts.Overwrite:
		p.docker = Rendered
		p.before = append(p.before, written{Path: name, Digest: onDisk, Next: digest})
	default:
		p.docker = Kept
		return nil
	}
	p.after.Files = append(p.after.Files, written{Path: name, Digest: digest})
	return nil
}

// planRemovals plans to remove the fragments of earlier runs that the config no longer has.
func (c *composer) planRemovals(p *plan) error {
	for _, w := range c.old.Files {
		if p.after.find(w.Path) != nil || w.Path == dockerfileOf(c.config.Name) {
			continue
		}
		onDisk, err := fileDigest(c.root, w.Path)
		if err != nil {
			return err
		}
		if onDisk != "" && !w.is(onDisk) && !c.opts.Overwrite {
			err := fmt.Errorf("%s was changed since compose wrote it, and its reference is no longer in the config; "+
				"move the file away, or delete it with --overwrite", c.pathOf(w.Path))
			c.report(&declcfg.Error{Pos: declcfg.Pos{File: c.config.path}, Err: err})
			continue
		}
		p.remove = append(p.remove, w.Path)
		name := path.Base(path.Dir(w.Path))
		isNamed := func(r Reference) bool { return r.Name == name }
		if !slices.ContainsFunc(c.config.References, isNamed) && !slices.Contains(p.gone, name) {
			p.gone = append(p.gone, name)
		}
	}
	return nil
}

// commit makes the changes of a plan. The order allows the next run to recognize its own files even if this run is
// killed: the record has the new digests before the files change, and lists old files until they are deleted.
func (c *composer) commit(p *plan) error {
	name := recordOf(c.config.Name)
	if len(p.before) > 0 {
		if err := c.old.with(p.before).write(c.root, name); err != nil {
			return err
		}
	}
	for _, f := range p.write {
		if err := c.root.MkdirAll(path.Dir(f.path), 0o777); err != nil {
			return err
		}
		if err := c.root.Rename(path.Join(c.stagingName(), f.inCatalog()), f.path); err != nil {
			return err
		}
	}
	if p.docker == Rendered {
		if err := writeFile(c.root, dockerfileOf(c.config.Name), []byte(p.dockerfile)); err != nil {
			return err
		}
	}
	for _, name := range p.remove {
		if err := c.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = c.root.Remove(path.Dir(name)) // fails if the directory is not empty
	}
	if len(p.before) == 0 && len(p.remove) == 0 && reflect.DeepEqual(p.after.Files, c.old.Files) {
		return nil
	}
	return p.after.write(c.root, name)
}

// writeFile writes the named file in root, atomically.
func writeFile(root *os.Root, name string, text []byte) error {
	return atomicfile.Write(name, atomicfile.Options{Replace: true, Root: root}, atomicfile.Text(text))
}
