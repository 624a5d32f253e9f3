package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/image"
)

// A Reader reads the contents of the catalogs of states. A catalog is read once, even for several states if the digest
// is known or a pod serves it. Its objects can be read again until the Reader is closed or reads a state that does not
// have the catalog.
type Reader struct {
	// Pull reads the catalog of an image in a registry, with the mirrors of the cluster. The Reader calls closeRead, if it
	// is not nil, when the catalog is no longer needed. A nil Pull reads no images.
	Pull func(ref string, mirrors []image.MirrorObject) (read *resolve.Catalog, closeRead func(), err error)

	// Forward reads the catalog that a pod serves, if it cannot be pulled; closeRead as in Pull. A nil Forward reads no
	// pods.
	Forward func(namespace, pod string) (read *resolve.Catalog, closeRead func(), err error)

	known map[string]*knownCatalog // by reference or pod: the catalogs of the last state
}

// A knownCatalog is a catalog that was read, or the error about it.
type knownCatalog struct {
	catalog *resolve.Catalog
	err     error
	close   func()
	isTag   bool // another catalog may have the reference by now
	isUsed  bool // the state that is being read has it
}

// Close closes the catalogs of the last state. Their objects cannot be read afterwards.
func (r *Reader) Close() { r.forget(func(*knownCatalog) bool { return true }) }

// forget closes the known catalogs for which is returns true.
func (r *Reader) forget(is func(*knownCatalog) bool) {
	maps.DeleteFunc(r.known, func(_ string, k *knownCatalog) bool {
		if !is(k) {
			return false
		}
		if k.close != nil {
			k.close()
		}
		return true
	})
}

// once returns what get returned for the same key. A tag or an error counts for one state.
func (r *Reader) once(
	key string, isTag bool, get func() (*resolve.Catalog, func(), error),
) (*resolve.Catalog, error) {
	k := r.known[key]
	if k == nil {
		k = &knownCatalog{isTag: isTag}
		k.catalog, k.close, k.err = get()
		if r.known == nil {
			r.known = map[string]*knownCatalog{}
		}
		r.known[key] = k
	}
	k.isUsed = true
	return k.catalog, k.err
}

// Read returns the contents of the catalogs of a state, in the order of [Contents]; nil if the Reader reads neither
// images nor pods. If contents cannot be read, the reason is in their Error. The error of Read is that of ctx, or about
// an object that configures mirrors.
func (r *Reader) Read(ctx context.Context, state *cluster.State, opts Options) ([]*Content, error) {
	if r.Pull == nil && r.Forward == nil {
		return nil, nil
	}
	r.forget(func(k *knownCatalog) bool { return k.isTag || k.err != nil })
	for _, k := range r.known {
		k.isUsed = false
	}
	contents := Contents(state, opts)
	mirrors, err := mirrorObjects(state)
	if err != nil {
		return nil, err
	}
	for _, c := range contents {
		if c.From != FromNowhere {
			continue
		}
		r.read(c, mirrors)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	r.forget(func(k *knownCatalog) bool { return !k.isUsed })
	return contents, nil
}

// read reads a catalog from a registry or else from its pod, and records the errors.
func (r *Reader) read(c *Content, mirrors []image.MirrorObject) {
	var err error
	var errs []error
	if r.Pull != nil {
		if c.Catalog, err = r.pull(c, mirrors); err == nil {
			c.From = FromRegistry
			return
		}
		errs = append(errs, err)
	}
	if r.Forward != nil && c.Namespace != "" {
		if c.Catalog, err = r.forward(c); err == nil {
			c.From = FromPod
		} else {
			errs = append(errs, err)
		}
	}
	if c.Catalog == nil && errs == nil {
		errs = append(errs, errNoPod)
	}
	if errs != nil {
		c.Error = strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; ")
	}
}

// errNoPod is the error about a catalog that has no pod of its own.
var errNoPod = errors.New("--forward reads only the pods of CatalogSources")

// errConfigMap is the error about a catalog that no registry has.
var errConfigMap = errors.New("its contents are a ConfigMap, which --forward reads")

// pull reads the catalog of an image, with the mirrors of the cluster.
func (r *Reader) pull(c *Content, mirrors []image.MirrorObject) (*resolve.Catalog, error) {
	if c.ConfigMap {
		return nil, errConfigMap
	}
	ref := c.Image
	if ref == "" {
		return nil, fmt.Errorf("the %s has no image", c.Kind)
	}
	// The text is of a cluster, and must not name a file of this machine.
	if reference.Of(ref).Kind != reference.Registry {
		return nil, fmt.Errorf("%q is not a reference to an image in a registry", ref)
	}
	return r.once(ref, !strings.Contains(ref, "@"), func() (*resolve.Catalog, func(), error) {
		return r.Pull(ref, mirrors)
	})
}

// forward reads the catalog that a pod serves.
func (r *Reader) forward(c *Content) (*resolve.Catalog, error) {
	if c.Pod == "" {
		return nil, fmt.Errorf("the %s has no pod", c.Kind)
	}
	return r.once("pod "+c.Namespace+"/"+c.Pod, false, func() (*resolve.Catalog, func(), error) {
		return r.Forward(c.Namespace, c.Pod)
	})
}

// mirrorObjects returns the objects of a state that configure mirrors, by kind and name.
func mirrorObjects(state *cluster.State) ([]image.MirrorObject, error) {
	var objects []image.MirrorObject
	for _, kind := range image.MirrorKinds() {
		of := schema.ParseGroupKind(kind)
		for o := range state.In(of, "") {
			text, err := json.Marshal(o.Value, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  "))
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", of.Kind, o.Value.GetName(), err)
			}
			objects = append(objects, image.MirrorObject{Name: of.Kind + " " + o.Value.GetName(), Text: text})
		}
	}
	return objects, nil
}
