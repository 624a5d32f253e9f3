package declcfg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/regular"
)

// WriteOptions configure the writing of objects.
type WriteOptions struct {
	Format Format // JSON if empty

	// Edit, if not nil, changes a bundle before it is written. It is called on several goroutines.
	Edit func(*Bundle) error

	// EditObject, if not nil, changes any other object of the format: a *[Package], *[Channel] or *[Deprecations]. It is
	// called on several goroutines, too.
	EditObject func(object any)

	// Check, if not nil, is called when all objects have been read again. Its error is returned.
	Check func() error
}

// Sort sorts metas as upstream does: by package; in a package the olm.package, channels by name, bundles by name, other
// objects by schema, deprecations; last the objects without a package. It is stable.
func Sort(metas []*Meta) {
	slices.SortStableFunc(metas, func(a, b *Meta) int {
		if c := compareOwners(a.Owner(), b.Owner()); c != 0 || a.Owner() == "" {
			return c
		}
		ra, rb := rank(a.Schema), rank(b.Schema)
		switch {
		case ra != rb:
			return cmp.Compare(ra, rb)
		case ra == rankChannel, ra == rankBundle:
			return cmp.Compare(a.Name, b.Name)
		case ra == rankOther:
			return cmp.Compare(a.Schema, b.Schema)
		}
		return 0
	})
}

func compareOwners(a, b string) int {
	if a == "" || b == "" {
		return -cmp.Compare(a, b) // none comes last
	}
	return cmp.Compare(a, b)
}

const (
	rankPackage = iota
	rankChannel
	rankBundle
	rankOther
	rankDeprecations
)

func rank(schema string) int {
	switch schema {
	case SchemaPackage:
		return rankPackage
	case SchemaChannel:
		return rankChannel
	case SchemaBundle:
		return rankBundle
	case SchemaDeprecations:
		return rankDeprecations
	}
	return rankOther
}

// CheckOwner returns an error if an object with a schema of the format belongs to no package. Upstream drops such
// objects without a message.
func CheckOwner(m *Meta) error {
	if m.Owner() == "" && rank(m.Schema) != rankOther {
		err := fmt.Errorf("the %s object has no package", m.Schema)
		if m.Schema == SchemaPackage {
			err = errors.New("the package has no name")
		}
		return &Error{Pos: m.Pos, Err: err}
	}
	return nil
}

func checkOwners(metas []*Meta) error {
	var errs []error
	for _, m := range metas {
		errs = append(errs, CheckOwner(m))
	}
	return errors.Join(errs...)
}

// Write writes metas in their order; call [Sort] first. It reads one object after the other again, so that memory does
// not grow with the catalog. If an object belongs to no package it writes nothing; see [CheckOwner].
func Write(ctx context.Context, w io.Writer, metas []*Meta, opts WriteOptions) error {
	if err := checkOwners(metas); err != nil {
		return err
	}
	encode := func(batch []*Meta) ([]byte, error) { return opts.appendAll(document.Buffers.Get(), batch) }
	for text, err := range parallel.Try(ctx, 0, batches(metas), encode) {
		if err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
		document.Buffers.Put(text)
	}
	if opts.Check == nil {
		return nil
	}
	return opts.Check()
}

// batches yields metas in runs of about one chunk of text.
func batches(metas []*Meta) iter.Seq[[]*Meta] {
	return func(yield func([]*Meta) bool) {
		for len(metas) > 0 {
			n, size := 1, metas[0].src.size
			for n < len(metas) && size+metas[n].src.size <= document.ChunkSize {
				size += metas[n].src.size
				n++
			}
			if !yield(metas[:n]) {
				return
			}
			metas = metas[n:]
		}
	}
}

func (o WriteOptions) appendAll(dst []byte, metas []*Meta) ([]byte, error) {
	var r rereader
	defer r.close()
	buf := document.Buffers.Get()
	defer func() { document.Buffers.Put(buf) }()
	for _, m := range metas {
		object, err := r.read(m, buf)
		if err != nil {
			return nil, err
		}
		if cap(object.doc.Text) > cap(buf) {
			buf = object.doc.Text[:0]
		}
		if dst, err = o.append(dst, &object); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// append appends an object that was read again. The edited object is built after its text, in the same memory.
func (o WriteOptions) append(dst []byte, object *Object) ([]byte, error) {
	d := format.Parse(object.doc.JSON)
	defer d.Release()
	v, err := object.decodeIn(d)
	if err != nil {
		return nil, err
	}
	switch b, isBundle := v.(*Bundle); {
	case isBundle && o.Edit != nil:
		if err := o.Edit(b); err != nil {
			return nil, &Error{Pos: object.Pos, Err: err}
		}
	case !isBundle && v != nil && o.EditObject != nil:
		o.EditObject(v)
	}
	if size := len(object.doc.JSON); size > document.ChunkSize {
		dst = slices.Grow(dst, size+size/16) // at once, because each growth holds the text twice
	}
	return o.Format.appendObject(dst, v, d), nil
}

// WriteDir writes metas, which must be sorted by [Sort], in the layout of upstream: PACKAGE/catalog.json (or .yaml) in
// dir for every package, and catalog.json in dir itself for objects without a package. Dir must not exist or be empty;
// missing parents are created. Dir appears as a whole: all files are written next to it and then renamed.
func WriteDir(ctx context.Context, dir string, metas []*Meta, opts WriteOptions) error {
	if err := errors.Join(checkOwners(metas), checkPaths(metas)); err != nil {
		return err
	}
	if opts.Format == "" {
		opts.Format = JSON
	}
	var failed error
	err := atomicfile.NewDir(dir, func(root *os.Root) error {
		failed = writeFiles(ctx, root, dir, metas, opts)
		return failed
	})
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, atomicfile.ErrNotEmpty):
		return fmt.Errorf("the output directory %q is not empty", dir)
	case err != nil:
		return fmt.Errorf("make the output directory: %w", err)
	}
	return nil
}

// writeFiles writes the file of each package into root, whose name in errors is dir.
func writeFiles(ctx context.Context, root *os.Root, dir string, metas []*Meta, opts WriteOptions) error {
	check := opts.Check
	opts.Check = nil // until all files are written
	for len(metas) > 0 {
		n := 1
		for n < len(metas) && metas[n].Owner() == metas[0].Owner() {
			n++
		}
		name := path.Join(metas[0].Owner(), "catalog."+string(opts.Format))
		err := root.MkdirAll(path.Dir(name), 0o777)
		var f *os.File
		if err == nil {
			f, err = root.Create(name)
		}
		if err != nil {
			return fmt.Errorf("create %s: %w", filepath.Join(dir, name), regular.WithoutPath(err))
		}
		if err := Write(ctx, f, metas[:n], opts); err != nil {
			return errors.Join(err, f.Close())
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("write %s: %w", filepath.Join(dir, name), regular.WithoutPath(err))
		}
		metas = metas[n:]
	}
	if check != nil {
		return check()
	}
	return nil
}

// checkPaths returns an error if the name of a package cannot be the name of a directory.
func checkPaths(metas []*Meta) error {
	var errs []error
	last := ""
	for _, m := range metas {
		owner := m.Owner()
		if owner == last || owner == "" {
			continue
		}
		last = owner
		if owner == "." || !filepath.IsLocal(owner) || strings.ContainsAny(owner, `/\`) {
			errs = append(errs, &Error{Pos: m.Pos, Err: fmt.Errorf("the package name %q cannot be that of a directory", owner)})
		}
	}
	return errors.Join(errs...)
}
