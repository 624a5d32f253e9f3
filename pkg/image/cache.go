package image

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"golang.org/x/sync/singleflight"
)

// A Cache keeps the manifests, configs and layers that registries sent, each under its digest, in a directory that any
// number of processes may share or, without one, for as long as the Cache lives. Its content always has the digest that
// was asked for: a damaged file is fetched again.
//
// A file takes its name once all of it was written and checked, so a process that is killed leaves nothing that others
// would see. There are no locks; a file that another process removes is fetched again. Calls may run at once, and those
// that want one digest at once share one download.
type Cache struct {
	dir     *cacheDir // nil without a directory
	memory  memoryCache
	flights singleflight.Group
	log     *slog.Logger
	noDir   atomic.Bool // the directory cannot be written
}

// CacheOptions are the options of OpenCache. The zero value is the default.
type CacheOptions struct {
	// MaxSize is how many bytes the directory may hold: what was not used for the longest time is removed when the
	// Cache is first written to, as it grows, and when it is closed. Zero means 2 GB.
	MaxSize int64
	// Spool says where what cannot be written to the directory is held.
	Spool SpoolOptions
	// Log gets warnings about damaged files and a directory that cannot be written. Nil drops them.
	Log *slog.Logger
}

// defaultCacheSize is the size that a zero MaxSize means.
const defaultCacheSize = 2 << 30

// OpenCache returns the cache in dir, which is made when there is something to write. A directory that can only be read
// is read; what is new is then kept while the Cache lives, as all is where dir is empty.
func OpenCache(dir string, opts CacheOptions) *Cache {
	c := &Cache{log: logger(opts.Log), memory: memoryCache{opts: opts.Spool.internal()}}
	if dir != "" {
		c.dir = &cacheDir{root: dir, maxSize: cmp.Or(opts.MaxSize, defaultCacheSize), log: c.log}
		c.memory.opts.Dir = cmp.Or(c.memory.opts.Dir, dir)
	}
	return c
}

// Close shrinks the directory to its size and releases what is held outside it. Open content can still be read.
func (c *Cache) Close() error {
	c.memory.close()
	if c.dir != nil {
		c.dir.close()
	}
	return nil
}

// A stored is content that a Cache holds. It has the digest that it was asked for by.
type stored interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// errDigest is in the chain of errors about content that is not what its digest says.
var errDigest = errors.New("digest mismatch")

// maxLost is how often a download is repeated because another goroutine's was gone before it was read, or given up.
const maxLost = 10

// fetch returns the content with digest h. If the cache lacks it, download writes it, and the digest is checked. Errors
// of download are returned as they are. Goroutines that want the same content at once share one download, unless the
// context of the one that downloads ends.
func (c *Cache) fetch(ctx context.Context, h v1.Hash, download func(io.Writer) error) (stored, error) {
	for range maxLost {
		if s := c.open(h); s != nil {
			return s, nil
		}
		var filled stored
		_, err, _ := c.flights.Do(h.String(), func() (_ any, err error) {
			if filled = c.open(h); filled == nil {
				filled, err = c.fill(h, download)
			}
			if err != nil && ctx.Err() != nil {
				err = errGaveUp
			}
			return nil, err
		})
		switch {
		case ctx.Err() != nil && filled == nil:
			return nil, ctx.Err()
		case filled != nil || err != nil && err != errGaveUp:
			return filled, err
		}
	}
	return nil, fmt.Errorf("%s was repeatedly removed from the image cache while it was read", h)
}

// errGaveUp is the error of a download whose context ended.
var errGaveUp = errors.New("gave up")

// add stores data, which has the digest h.
func (c *Cache) add(ctx context.Context, h v1.Hash, data []byte) error {
	s, err := c.fetch(ctx, h, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return s.Close()
}

// has reports whether the content with digest h is there.
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

// fill stores what download writes: in the directory, and where that fails in memory. It returns what it stored, or nil
// where that is gone already.
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

// A cacheError is a failure to store, as opposed to one to download.
type cacheError struct{ err error }

func (e *cacheError) Error() string { return fmt.Sprintf("write image cache: %v", e.err) }
func (e *cacheError) Unwrap() error { return e.err }

// A cacheWriter makes the errors of writing cacheErrors.
type cacheWriter struct{ io.Writer }

func (w cacheWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &cacheError{err}
	}
	return n, err
}

// A verifier hashes the content that is written to it.
type verifier struct {
	hash.Hash
	want v1.Hash
}

func newVerifier(want v1.Hash) verifier {
	sum, err := v1.Hasher(want.Algorithm)
	if err != nil { // not after v1.NewHash, which knows the same algorithms
		sum = sha256.New()
	}
	return verifier{sum, want}
}

// verify returns an error unless the content has the digest.
func (v verifier) verify() error {
	if got := hex.EncodeToString(v.Sum(nil)); got != v.want.Hex {
		return fmt.Errorf("%w: the content of %s has the digest %s:%s", errDigest, v.want, v.want.Algorithm, got)
	}
	return nil
}

// logger returns log, or one that drops everything.
func logger(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
