package updatecheck

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A digest identifies the parts of a definition that an update may change.
type digest [sha256.Size]byte

// contents are the definitions of a bundle.
type contents struct {
	names   []string // of the definitions
	digests []digest
	err     error // the reason why the definitions are unknown
}

// find returns the digest of the definition with this name.
func (c *contents) find(name string) (digest, bool) {
	for i := range c.names {
		if c.names[i] == name {
			return c.digests[i], true
		}
	}
	return digest{}, false
}

// add stores the definitions of a bundle without duplicates. Calls may be concurrent. The returned contents have the
// error [bundle.ErrNoManifests] if the manifests of the bundle are only in its image.
func (b *Bundles) add(of *declcfg.Bundle) *contents {
	c := &contents{err: bundle.ErrNoManifests}
	for manifest, err := range of.Manifests() {
		if err != nil {
			c.err = err
			return c
		}
		var crd comparedParts
		if err := json.Unmarshal(manifest, &crd, document.Lenient); err != nil {
			c.err = err
			return c
		}
		switch crd.Kind {
		case declcfg.KindCSV:
			c.err = nil
		case declcfg.KindCRD:
			d, err := b.addText(crd)
			if err != nil {
				c.err = err
				return c
			}
			c.names, c.digests = append(c.names, crd.Metadata.Name), append(c.digests, d)
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

func (b *Bundles) addText(crd comparedParts) (digest, error) {
	text, err := json.Marshal(crd, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
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

// read returns a definition, or an error if it exceeds the limits.
func (m *Memo) read(d digest) (*definition, error) {
	if m.texts[d].Size() > maxSize {
		return nil, fmt.Errorf("it has more than the %s that a cluster accepts", plural.Bytes(maxSize))
	}
	text, err := io.ReadAll(io.NewSectionReader(m.texts[d], 0, m.texts[d].Size()))
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
