package compose

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"reflect"
	"slices"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A plan lists the changes of a run.
type plan struct {
	write  []string // paths of fragments
	remove []string // files that compose wrote and that the config no longer needs
	gone   []string // names of removed references
	docker Status   // of the Dockerfile
	after  *record
}

// plan stages the changes to make. It reports existing files that must not be replaced or deleted.
func (c *composer) plan(dockerfile []byte) (*plan, error) {
	p := &plan{after: &record{}}
	for _, f := range c.fragments {
		p.fragment(f)
	}
	c.tx.Select(p.write...)
	err := c.planDockerfile(p, dockerfile)
	if err == nil {
		err = c.planRemovals(p)
	}
	if p.after.sort(); err == nil && !reflect.DeepEqual(p.after.Files, c.old.Files) {
		err = p.after.write(c.tx, recordOf(c.config.Name))
	}
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
	p.write = append(p.write, f.path)
}

// planDockerfile plans to write the Dockerfile, unless one exists that compose did not write.
func (c *composer) planDockerfile(p *plan, text []byte) error {
	name := dockerfileOf(c.config.Name)
	onDisk, err := fileDigest(c.root, name)
	if err != nil {
		return err
	}
	old := c.old.find(name)
	sum := sha256.Sum256(text)
	digest := digestOf(sum[:])
	switch {
	case onDisk == digest:
		p.docker = Unchanged
	case onDisk == "" || old != nil && old.is(onDisk) || c.opts.Overwrite:
		p.docker = Rendered
		if err := c.tx.Write(name, 0, atomicfile.Text(text)); err != nil {
			return err
		}
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
		if onDisk != "" {
			if err := c.tx.Remove(w.Path); err != nil {
				return err
			}
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
