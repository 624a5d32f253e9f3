package image

import (
	"container/list"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/spool"
)

const (
	// memoryBudget is how much a memoryCache holds in memory. What was used least recently goes first.
	memoryBudget = 2 << 20
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

// A memoryBlob is the content with one digest. Its last user closes it; the cache is one of them.
type memoryBlob struct {
	*spool.Blob
	digest v1.Hash
	weight int64 // what it takes of the memory
	users  int
}

// fill stores what download writes, and returns it.
func (m *memoryCache) fill(h v1.Hash, download func(io.Writer) error) (stored, error) {
	opts := m.opts
	opts.MemoryLimit = memoryBlobMax
	opts.Warn = m.warn
	content := spool.NewWriter(opts)
	defer content.Close()
	if err := download(content); err != nil {
		return nil, err
	}
	blob, err := content.Finish()
	if err != nil {
		return nil, err
	}
	return m.add(&memoryBlob{Blob: blob, digest: h, users: 1}), nil
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

// add adds content, evicts the least recently used, and returns content.
func (m *memoryCache) add(content *memoryBlob) stored {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs == nil {
		m.blobs = map[v1.Hash]*list.Element{}
	}
	if e := m.blobs[content.digest]; e != nil {
		m.remove(e)
	}
	content.weight = content.Size()
	if !m.noFile {
		content.weight = min(content.weight, memoryBlobMax)
	}
	m.weight += content.weight
	m.blobs[content.digest] = m.recent.PushFront(content)
	for m.weight > memoryBudget && m.recent.Len() > 1 {
		m.remove(m.recent.Back())
	}
	return m.use(content)
}

// remove removes content. Its readers can go on.
func (m *memoryCache) remove(e *list.Element) {
	content := m.recent.Remove(e).(*memoryBlob)
	delete(m.blobs, content.digest)
	m.weight -= content.weight
	m.release(content)
}

func (m *memoryCache) release(content *memoryBlob) {
	content.users--
	switch content.users {
	case 0:
		_ = content.Blob.Close() // nothing is written any more
	case 1:
		content.Blob.Forget() // the cache remains, which does not read
	}
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
	return m.use(e.Value.(*memoryBlob))
}

// use returns one use of content, which ends when that is closed.
func (m *memoryCache) use(content *memoryBlob) stored {
	content.users++
	return &memoryReader{content.Blob, sync.OnceFunc(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.release(content)
	})}
}

func (m *memoryCache) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.recent.Len() > 0 {
		m.remove(m.recent.Back())
	}
}

// A memoryReader is one use of a memoryBlob.
type memoryReader struct {
	*spool.Blob
	end func()
}

func (r *memoryReader) Close() error {
	r.end()
	return nil
}
