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
	// memoryBudget is how much a cacheMemory holds in memory. What was used least recently goes first.
	memoryBudget = 64 << 20
	// memoryBlob is how much of one content is held in memory; a larger one goes to a spool file, if there can be one.
	memoryBlob = 1 << 20
)

// A cacheMemory is a Cache without a directory.
type cacheMemory struct {
	opts spool.Options

	mu     sync.Mutex
	blobs  map[v1.Hash]*list.Element // of recent
	recent list.List                 // of *memoryContent, the one used last in front
	weight int64                     // of all
	noFile bool                      // a spool file could not be made
}

// A memoryContent is what one digest stands for.
type memoryContent struct {
	*spool.Blob
	digest v1.Hash
	weight int64 // what it takes of the memory
	users  int
	gone   bool // it can no longer be found: the last user closes it
}

// fill stores what download writes, and returns it.
func (m *cacheMemory) fill(h v1.Hash, download func(io.Writer) error) (stored, error) {
	opts := m.opts
	opts.MemoryLimit = memoryBlob
	opts.Warn = m.warn
	content := spool.NewWriter(opts)
	defer content.Close()
	w, err := newCheckedWriter(content, h)
	if err != nil {
		return nil, err
	}
	err = download(w)
	if err == nil {
		err = w.check()
	}
	if err != nil {
		return nil, err
	}
	blob, err := content.Finish()
	if err != nil {
		return nil, err
	}
	r := &memoryReader{memoryContent: &memoryContent{Blob: blob, digest: h, users: 1}, memory: m}
	if err := m.add(r.memoryContent); err != nil {
		return nil, closing(err, r)
	}
	return r, nil
}

// warn is called by a spool that cannot make a file.
func (m *cacheMemory) warn(message string) {
	m.mu.Lock()
	first := !m.noFile
	m.noFile = true
	m.mu.Unlock()
	if first && m.opts.Warn != nil {
		m.opts.Warn(message)
	}
}

// add makes content possible to find, in the place of what was used least recently.
func (m *cacheMemory) add(content *memoryContent) error {
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
		content.weight = min(content.weight, memoryBlob)
	}
	m.weight += content.weight
	m.blobs[content.digest] = m.recent.PushFront(content)
	for m.weight > memoryBudget && m.recent.Len() > 1 {
		errs = append(errs, m.remove(m.recent.Back()))
	}
	return errors.Join(errs...)
}

// remove makes content impossible to find. Those who read it go on.
func (m *cacheMemory) remove(e *list.Element) error {
	content := m.recent.Remove(e).(*memoryContent)
	delete(m.blobs, content.digest)
	m.weight -= content.weight
	content.gone = true
	if content.users > 0 {
		return nil
	}
	return content.Close()
}

// open returns the content with digest h, or nil.
func (m *cacheMemory) open(h v1.Hash) stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.blobs[h]
	if e == nil {
		return nil
	}
	m.recent.MoveToFront(e)
	content := e.Value.(*memoryContent)
	content.users++
	return &memoryReader{memoryContent: content, memory: m}
}

func (m *cacheMemory) close() error {
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
	*memoryContent
	memory *cacheMemory
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
		return r.memoryContent.Close()
	}
	return nil
}
