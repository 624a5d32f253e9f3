package image

import (
	"container/list"
	"errors"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/spool"
)

const (
	// memoryBudget is how much a memoryCache holds in memory. What was used least recently goes first.
	memoryBudget = 64 << 20
	// memoryBlobMax is how much of one content is held in memory; a larger one goes to a spool file, if there can be one.
	memoryBlobMax = 1 << 20
)

// A memoryCache is a Cache without a directory.
type memoryCache struct {
	opts spool.Options

	mu     sync.Mutex
	blobs  map[v1.Hash]*list.Element // of recent
	recent list.List                 // of *memoryBlob, the one used last in front
	weight int64                     // of all
	noFile bool                      // a spool file could not be made
}

// A memoryBlob is what one digest stands for.
type memoryBlob struct {
	*spool.Blob
	digest v1.Hash
	weight int64 // what it takes of the memory
	users  int
	gone   bool // it can no longer be found: the last user closes it
}

// fill stores what download writes, and returns it.
func (m *memoryCache) fill(h v1.Hash, download func(io.Writer) error) (stored, error) {
	opts := m.opts
	opts.MemoryLimit = memoryBlobMax
	opts.Warn = m.warn
	content := spool.NewWriter(opts)
	defer content.Close()
	w, err := newCheckedWriter(content, h)
	if err != nil {
		return nil, err
	}
	if err := download(w); err != nil {
		return nil, err
	}
	if err := w.check(); err != nil {
		return nil, err
	}
	blob, err := content.Finish()
	if err != nil {
		return nil, err
	}
	r := &memoryReader{memoryBlob: &memoryBlob{Blob: blob, digest: h, users: 1}, memory: m}
	if err := m.add(r.memoryBlob); err != nil {
		return nil, closing(err, r)
	}
	return r, nil
}

// warn is called by a spool that cannot make a file.
func (m *memoryCache) warn(message string) {
	m.mu.Lock()
	first := !m.noFile
	m.noFile = true
	m.mu.Unlock()
	if first && m.opts.Warn != nil {
		m.opts.Warn(message)
	}
}

// add makes content possible to find, in the place of what was used least recently.
func (m *memoryCache) add(content *memoryBlob) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs == nil {
		m.blobs = map[v1.Hash]*list.Element{}
	}
	var errs []error
	if e := m.blobs[content.digest]; e != nil {
		errs = append(errs, m.remove(e))
	}
	content.weight = content.Size()
	if !m.noFile {
		content.weight = min(content.weight, memoryBlobMax)
	}
	m.weight += content.weight
	m.blobs[content.digest] = m.recent.PushFront(content)
	for m.weight > memoryBudget && m.recent.Len() > 1 {
		errs = append(errs, m.remove(m.recent.Back()))
	}
	return errors.Join(errs...)
}

// remove makes content impossible to find. Those who read it go on.
func (m *memoryCache) remove(e *list.Element) error {
	content := m.recent.Remove(e).(*memoryBlob)
	delete(m.blobs, content.digest)
	m.weight -= content.weight
	content.gone = true
	if content.users > 0 {
		return nil
	}
	return content.Close()
}

// open returns the content with digest h, or nil.
func (m *memoryCache) open(h v1.Hash) stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.blobs[h]
	if e == nil {
		return nil
	}
	m.recent.MoveToFront(e)
	content := e.Value.(*memoryBlob)
	content.users++
	return &memoryReader{memoryBlob: content, memory: m}
}

func (m *memoryCache) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for m.recent.Len() > 0 {
		errs = append(errs, m.remove(m.recent.Back()))
	}
	return errors.Join(errs...)
}

// A memoryReader is one use of a content.
type memoryReader struct {
	*memoryBlob
	memory *memoryCache
	closed bool
}

// Close ends the use.
func (r *memoryReader) Close() error {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.users--
	if r.gone && r.users == 0 {
		return r.memoryBlob.Close()
	}
	return nil
}
