package image

import (
	"cmp"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sync/singleflight"

	"github.com/opm-toolchain/opm/internal/spool"
)

// A Cache stores manifests, configs and layers from registries by digest: in a directory, which any number of
// processes may share, or without one for the lifetime of the Cache. Content always matches the requested digest: a
// damaged file is fetched again.
//
// A file gets its final name after it was written and verified completely, so a killed process leaves no partial file
// that others could see. There are no locks; a file removed by another process is fetched again. Calls may be
// concurrent, and concurrent calls for one digest share one download. Its failure is shared only by calls for the same
// origin.
type Cache struct {
	dir     *cacheDir // nil without a directory
	memory  memoryCache
	flights singleflight.Group
	log     *slog.Logger
	noDir   atomic.Bool // the directory is not writable
}

// CacheOptions are the options of OpenCache. The zero value is the default.
type CacheOptions struct {
	// MaxSize is the maximum size of the directory in bytes. The least recently used files are removed at the first
	// write to the Cache, as it grows, and when it is closed. Zero means 2 GB.
	MaxSize int64
	// Spool configures the buffer for content that cannot be written to the directory.
	Spool SpoolOptions
	// Log gets warnings about damaged files and an unwritable directory. Nil discards them.
	Log *slog.Logger
}

// OpenCache returns the cache in dir, which is created at the first write. A read-only directory is read, and new
// content is then stored for the lifetime of the Cache, as is all content if dir is "".
func OpenCache(dir string, opts CacheOptions) *Cache {
	c := &Cache{
		log: logger(opts.Log), memory: memoryCache{opts: opts.Spool, blobs: map[v1.Hash]*list.Element{}},
	}
	if dir != "" {
		c.dir = &cacheDir{root: dir, maxSize: cmp.Or(opts.MaxSize, 2<<30), log: c.log}
		c.memory.opts.Dir = cmp.Or(c.memory.opts.Dir, dir)
	}
	return c
}

// Close shrinks the directory to its maximum size and releases content stored elsewhere. Open content remains
// readable.
func (c *Cache) Close() error {
	c.memory.close()
	if c.dir != nil && c.dir.written.Load() > 0 {
		c.dir.evict()
	}
	return nil
}

// A stored is open content of a Cache. It matches the requested digest.
type stored interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// errDigest is wrapped by errors about content that does not match its digest.
var errDigest = errors.New("digest mismatch")

// fetchAttempts is the number of attempts to download content that another goroutine's canceled download did not
// provide, or that was evicted before it could be read.
const fetchAttempts = 10

// An origin is what a download depends on besides its digest.
type origin struct {
	client    *remote.Puller // with its settings and credentials
	repo      name.Repository
	size      int64 // expected number of bytes; 0 if unknown
	mediaType types.MediaType
}

// fetch returns the content with digest h. If it is not cached, download writes it, and its digest is verified. Errors
// of download are returned unchanged. Concurrent calls for the same content share one download, unless the context of
// the downloading goroutine ends. If it fails, a call with another origin shares only downloads from its own origin.
func (c *Cache) fetch(ctx context.Context, h v1.Hash, from origin, download func(io.Writer) error) (stored, error) {
	flight := h.String()
	for range fetchAttempts {
		if s := c.open(h); s != nil {
			return s, nil
		}
		var filled stored
		tried, err, _ := c.flights.Do(flight, func() (_ any, err error) {
			if filled = c.open(h); filled == nil {
				filled, err = c.fill(h, download)
			}
			if err != nil && ctx.Err() != nil {
				err = errGaveUp
			}
			return from, err
		})
		switch {
		case ctx.Err() != nil && filled == nil:
			return nil, ctx.Err()
		case filled != nil || err != nil && err != errGaveUp && tried == from:
			return filled, err
		case err != nil && err != errGaveUp:
			flight = fmt.Sprintf("%s %p %s %d %s", h, from.client, from.repo, from.size, from.mediaType)
		}
	}
	return nil, fmt.Errorf("%s was repeatedly removed from the image cache while it was read", h)
}

// errGaveUp is the error of a download whose context ended.
var errGaveUp = errors.New("gave up")

// add stores data with its digest h.
func (c *Cache) add(ctx context.Context, h v1.Hash, data []byte) error {
	s, err := c.fetch(ctx, h, origin{}, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return s.Close()
}

// has reports whether the content with digest h is cached.
func (c *Cache) has(h v1.Hash) bool {
	s := c.open(h)
	if s == nil {
		return false
	}
	_ = s.Close() // opened for reading only
	return true
}

// open returns the content with digest h, or nil.
func (c *Cache) open(h v1.Hash) stored {
	if s := c.memory.open(h); s != nil {
		return s
	}
	if c.dir == nil {
		return nil
	}
	return c.dir.open(h)
}

// fill stores the content written by download, in the directory or, if that fails, in memory. It returns the stored
// content, or nil if it was evicted already.
func (c *Cache) fill(h v1.Hash, download func(io.Writer) error) (stored, error) {
	checked := func(w io.Writer) error {
		v := newVerifier(h)
		if err := download(io.MultiWriter(cacheWriter{w}, v)); err != nil {
			return err
		}
		return v.verify()
	}
	if c.dir != nil && !c.noDir.Load() {
		s, err := c.dir.fill(h, checked)
		failed, ok := errors.AsType[*cacheError](err)
		if !ok {
			return s, err
		}
		if !c.noDir.Swap(true) {
			c.log.Warn("cannot write the image cache; images are kept for this run only",
				"dir", c.dir.root, "error", failed.err)
		}
	}
	return c.memory.fill(h, checked)
}

// A cacheError is a failure to store, as opposed to a failure to download.
type cacheError struct{ err error }

func (e *cacheError) Error() string { return fmt.Sprintf("write image cache: %v", e.err) }
func (e *cacheError) Unwrap() error { return e.err }

// A cacheWriter wraps write errors in cacheErrors.
type cacheWriter struct{ io.Writer }

func (w cacheWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &cacheError{err}
	}
	return n, err
}

// A verifier hashes the content written to it.
type verifier struct {
	hash.Hash
	want v1.Hash
}

func newVerifier(want v1.Hash) verifier {
	sum, err := v1.Hasher(want.Algorithm)
	if err != nil { // impossible after v1.NewHash, which accepts the same algorithms
		sum = sha256.New()
	}
	return verifier{sum, want}
}

// verify returns an error if the content does not match the digest.
func (v verifier) verify() error {
	if got := hex.EncodeToString(v.Sum(nil)); got != v.want.Hex {
		return fmt.Errorf("%w: the content of %s has the digest %s:%s", errDigest, v.want, v.want.Algorithm, got)
	}
	return nil
}

// logger returns log, or a logger that discards everything if log is nil.
func logger(log *slog.Logger) *slog.Logger {
	return cmp.Or(log, slog.New(slog.DiscardHandler))
}

const (
	// memoryBudget is the memory that a memoryCache may use. The least recently used content is evicted first.
	memoryBudget = 2 << 20
	// memoryBlobMax is the maximum size of one blob in memory, and of the compressed files of one image; more goes to a
	// spool file if one can be created.
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
	content := spool.NewRawWriter(opts)
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
