package updatecheck

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A digest identifies the parts of an object that an update may not change freely.
type digest [sha256.Size]byte

// none is the digest of an object that a bundle does not have, or whose parts may all change.
var none digest

// contents are the objects of a bundle that an update creates or changes.
type contents struct {
	objects []object
	err     error // the reason why the objects are unknown
}

// find returns the object with this key, or nil.
func (c *contents) find(k key) *object {
	i := slices.IndexFunc(c.objects, func(o object) bool { return o.key == k })
	if i < 0 {
		return nil
	}
	return &c.objects[i]
}

// add stores the objects of a bundle without duplicates. Calls may be concurrent. The returned contents have the error
// [bundle.ErrNoManifests] if the manifests of the bundle are only in its image.
func (b *Bundles) add(of *declcfg.Bundle) *contents {
	c := &contents{err: bundle.ErrNoManifests}
	for manifest, err := range of.Manifests() {
		var parts comparedParts
		if err == nil {
			err = json.Unmarshal(manifest, &parts, document.Lenient)
		}
		if err != nil {
			c.err = err
			return c
		}
		switch parts.Kind {
		case declcfg.KindCSV:
			c.err = nil
			err = b.addOperator(c, parts.Metadata.Name, manifest)
		case declcfg.KindCRD:
			var d digest
			d, err = b.addText(parts)
			c.objects = append(c.objects, object{key: key{parts.Kind, parts.Metadata.Name}, digest: d})
		default:
			err = b.addManifest(c, manifest, parts)
		}
		if err != nil {
			c.err = err
			return c
		}
	}
	return c
}

// comparedParts are the parts of a definition that an update may change.
type comparedParts struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec   jsontext.Value `json:"spec"`
	Status struct {
		StoredVersions jsontext.Value `json:"storedVersions"`
	} `json:"status"`
}

// addText stores the JSON of a value.
func (b *Bundles) addText(v any) (digest, error) {
	text, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return digest{}, err
	}
	text = format.AppendCompact(nil, text)
	d := digest(sha256.Sum256(text))
	m := b.memo
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.texts[d] != nil {
		return d, nil
	}
	m.texts[d], err = b.store.Add(bytes.NewReader(text))
	return d, err
}

// Limits of definitions. The time and memory to compare them grow with the square of the depth and of the number of
// versions.
const (
	maxSize     = 3 << 19 // bytes; the limit of etcd
	maxDepth    = 250     // of the JSON; published operators have about 30
	maxVersions = 20      // published operators have a few
	maxTogether = 2 << 20 // bytes of all pairs compared at once, unless one is larger; it takes 200 times the memory
)

// text returns a stored text, or an error if it is too large.
func (m *Memo) text(d digest) (jsontext.Value, error) {
	if m.texts[d].Size() > maxSize {
		return nil, fmt.Errorf("it has more than the %s that a cluster accepts", plural.Bytes(maxSize))
	}
	return io.ReadAll(io.NewSectionReader(m.texts[d], 0, m.texts[d].Size()))
}

// read returns a definition, or an error if it exceeds the limits.
func (m *Memo) read(d digest) (*definition, error) {
	text, err := m.text(d)
	if err != nil {
		return nil, err
	}
	for d := jsontext.NewDecoder(bytes.NewBuffer(text)); ; {
		if _, err := d.ReadToken(); err != nil { // io.EOF; DecodeCRD reports invalid JSON
			break
		}
		if d.StackDepth() > maxDepth {
			return nil, fmt.Errorf("its schema has more than %d levels", maxDepth)
		}
	}
	crd, err := bundle.DecodeCRD(text)
	if err == nil && len(crd.Spec.Versions) > maxVersions {
		return nil, fmt.Errorf("it has more than %d versions", maxVersions)
	}
	return crd, err
}

var errNoImage = errors.New("the catalog has neither manifests nor an image")
