package image

import (
	"container/list"
	"io"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/spool"
)

const (
	// memoryBudget is the memory that a memoryCache may use. The least recently used content is evicted first.
	memoryBudget = 2 << 20
	// memoryBlobMax is the maximum size of one blob in memory; a larger one goes to a spool file if one can be
	// created.
	memoryBlobMax = 1 << 20
)

// A memoryCache is the part of a Cache without a directory.
type memoryCache struct {
	opts spool.Options

	mu     sync.Mutex
	blobs  map[v1.Hash]*list.Element // elements of recent
	recent list.List                 // of *memoryBlob, most recently used first
	weight int64                     // of all blobs
	noFile bool                      // no spool file could be created
}

// A memoryBlob is the content with one digest. It is reference-counted; the cache holds one reference.
type memoryBlob struct {
	*spool.Blob
	digest v1.Hash
	weight int64 // its share of the memory budget
	users  int
}

// fill stores and returns the content written by download.
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

// warn is called by a spool that cannot create a file. It passes on only the first warning.
func (m *memoryCache) warn(message string) {
	m.mu.Lock()
	first := !m.noFile
	m.noFile = true
	m.mu.Unlock()
	if first && m.opts.Warn != nil {
		m.opts.Warn(message)
	}
}

// add adds content, evicts the least recently used blobs, and returns a reader of content.
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

// remove evicts a blob. Its open readers remain valid.
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
		_ = content.Blob.Close() // nothing more is written
	case 1:
		content.Blob.Forget() // only the cache still refers to it, and does not read
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

// use returns a reader of content, which holds a reference until it is closed.
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

// A memoryReader is an open reference to a memoryBlob.
type memoryReader struct {
	*spool.Blob
	end func()
}

func (r *memoryReader) Close() error {
	r.end()
	return nil
}
