package render

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Lock has the digests of image references at the time of rendering. With it, the same references render to the same
// bytes even after tags have moved. A nil Lock is empty.
type Lock struct {
	References []Locked `json:"references"` // sorted by reference, without duplicates
}

// A Locked is a reference to an image in a registry, with its digest.
type Locked struct {
	Reference string `json:"reference"`
	Digest    string `json:"digest"` // of the index or, without one, of the manifest: sha256:...

	// Content is the digest of the bundle before any change, as compact JSON with sorted keys; "" for a catalog image.
	Content string `json:"content,omitempty"`
	// Rendered are the digests of the bundle after the changes of each run, sorted. They identify the bundle in a
	// catalog that was rendered before.
	Rendered []string `json:"rendered,omitempty"`
}

// ReadLock reads a lock file, which must be a regular file, because it will be replaced. A missing file is an empty
// Lock.
func ReadLock(name string) (*Lock, error) {
	text, err := regular.ReadPath(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	l := &Lock{}
	if err := json.Unmarshal(text, l, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("read lock file %s: %w", name, err)
	}
	isInvalid := func(d string) bool { // valid digests are compared with the content later
		algorithm, sum, _ := strings.Cut(d, ":")
		return algorithm == "" || sum == ""
	}
	for i, r := range l.References {
		digests := slices.Concat([]string{r.Digest, cmp.Or(r.Content, r.Digest)}, r.Rendered)
		if slices.ContainsFunc(digests, isInvalid) {
			return nil, fmt.Errorf("read lock file %s: references[%d]: invalid digest: want ALGORITHM:HEX", name, i)
		}
	}
	l.sort()
	return l, nil
}

// WriteFile replaces the lock file atomically.
func (l *Lock) WriteFile(name string) error {
	text, err := json.Marshal(l, jsontext.WithIndent("  "), json.FormatNilSliceAsNull(false))
	if err != nil {
		return err
	}
	return atomicfile.Write(name, atomicfile.Options{Replace: true}, atomicfile.Text(append(text, '\n')))
}

// sort sorts the references and keeps the first of each.
func (l *Lock) sort() {
	slices.SortStableFunc(l.References, func(a, b Locked) int { return strings.Compare(a.Reference, b.Reference) })
	l.References = slices.CompactFunc(l.References, func(a, b Locked) bool { return a.Reference == b.Reference })
}

// Forget removes the entries of references, so that rendering opens their current images and adds them anew. It fails
// for a reference that the lock does not have.
func (l *Lock) Forget(refs ...string) error {
	for _, ref := range refs {
		if _, ok := l.find(ref); !ok {
			var known []string
			for _, r := range l.References {
				known = append(known, r.Reference)
			}
			return fmt.Errorf("the lock file has no entry for %q%s", ref, nearest.Hint(ref, known))
		}
	}
	l.References = slices.DeleteFunc(l.References, func(r Locked) bool { return slices.Contains(refs, r.Reference) })
	return nil
}

func (l *Lock) find(ref string) (Locked, bool) {
	if l == nil {
		return Locked{}, false
	}
	i, ok := slices.BinarySearchFunc(l.References, ref, func(r Locked, ref string) int {
		return strings.Compare(r.Reference, ref)
	})
	if !ok {
		return Locked{}, false
	}
	return l.References[i], true
}

// Pinned returns the reference by digest, without a tag.
func (r Locked) Pinned() string { return reference.Pinned(r.Reference, r.Digest) }

// lockBundle records the digests of the bundle, and compares the digest of its content with the lock. It changes b.
func (o *openedRef) lockBundle(b *declcfg.Bundle) error {
	if o.Lock == nil || o.locked == nil {
		return nil
	}
	content, err := contentDigest(b)
	if err != nil {
		return fmt.Errorf("render %q: %w", o.ref, err)
	}
	was, _ := o.Lock.find(o.ref)
	if was.Content != "" && was.Content != content {
		return fmt.Errorf("render %q: locked content changed: rendered %s, lock has %s; "+
			"if this is another version of opm, remove the reference from the lock file", o.ref, content, was.Content)
	}
	o.locked.Content = content
	return o.lockRendered(b, o.Changes, was.Rendered)
}

// lockRendered makes the changes to the bundle, and adds the resulting digest to the known ones.
func (o *openedRef) lockRendered(b *declcfg.Bundle, changes Changes, known []string) error {
	err := changes.Edit(b)
	rendered, errDigest := contentDigest(b)
	if err := cmp.Or(err, errDigest); err != nil {
		return fmt.Errorf("render %q: %w", o.ref, err)
	}
	o.locked.Rendered = append([]string{rendered}, known...)
	slices.Sort(o.locked.Rendered)
	o.locked.Rendered = slices.Compact(o.locked.Rendered)
	return nil
}

// contentDigest returns the digest of the bundle as compact JSON with sorted keys.
func contentDigest(b *declcfg.Bundle) (string, error) {
	text := jsontext.Value(declcfg.JSON.Append(nil, b))
	if err := text.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// reuse adds the bundle of an image that no longer exists from a catalog that was rendered before. It returns notFound
// if the lock has no digest of a rendered bundle.
func (o *openedRef) reuse(ctx context.Context, locked Locked, notFound error) error {
	switch {
	case locked.Rendered == nil:
		return notFound
	case len(o.Options.Reuse) == 0:
		return fmt.Errorf("%w; the lock knows the bundle: --reuse takes it from a catalog that has it", notFound)
	}
	o.locked = &locked
	byImage, err := o.reusable(ctx)
	if err != nil {
		return errors.Join(notFound, err)
	}
	image := o.Changes.image(o.ref)
	for _, m := range byImage[image] {
		v, err := m.Decode()
		if err != nil {
			return errors.Join(notFound, err)
		}
		b := v.(*declcfg.Bundle)
		if rendered, err := contentDigest(b); err == nil && slices.Contains(locked.Rendered, rendered) {
			o.reused = identity{b.Package, b.Name, b.Image}
			if err := o.addBundle(b); err != nil {
				return err
			}
			return o.lockRendered(b, o.Changes.ofReused(), locked.Rendered)
		}
	}
	return fmt.Errorf("%w; the catalogs to reuse contain no bundle of image %s with digest %s",
		notFound, image, strings.Join(locked.Rendered, " or "))
}

// bundlesByImage returns the bundles of the given catalogs, by image.
func bundlesByImage(ctx context.Context, sources []declcfg.Source) (map[string][]*declcfg.Meta, error) {
	imageOf := func(o *declcfg.Object) (string, error) {
		if o.Schema != declcfg.SchemaBundle {
			return "", nil
		}
		v, err := o.Decode()
		if err != nil {
			return "", err
		}
		return v.(*declcfg.Bundle).Image, nil
	}
	byImage := map[string][]*declcfg.Meta{}
	keep := func(m *declcfg.Meta, image string) {
		if image != "" {
			byImage[image] = append(byImage[image], m)
		}
	}
	return byImage, declcfg.Collect(ctx, imageOf, keep, sources...)
}
