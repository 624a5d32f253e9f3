package image

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
)

// A cacheDir is the directory of a Cache:
//
//	blobs/sha256/<hex>      content by digest, as in an OCI layout; the modification time is the time of last use
//	tmp/.opm-<random>.tmp   content that is being downloaded
type cacheDir struct {
	root    string
	maxSize int64
	log     *slog.Logger

	written atomic.Int64 // bytes written since the last eviction
	once    sync.Once    // evicts at the first write
	checked sync.Map     // digests of content verified by this process
}

// touchAfter is the precision of the time of last use, so that not every read is also a write.
const touchAfter = time.Minute

func (d *cacheDir) path(h v1.Hash) string { return filepath.Join(d.root, "blobs", h.Algorithm, h.Hex) }
func (d *cacheDir) tmp() string           { return filepath.Join(d.root, "tmp") }

// open returns the content with digest h, or nil if it is missing or damaged.
func (d *cacheDir) open(h v1.Hash) stored {
	name := d.path(h)
	opened, info, err := regular.Open(os.DirFS(filepath.Dir(name)), filepath.Base(name))
	switch {
	case errors.Is(err, regular.ErrNotRegular):
		d.drop(name, err)
		return nil
	case err != nil:
		if !errors.Is(err, fs.ErrNotExist) {
			d.log.Warn("cannot read the image cache", "error", err)
		}
		return nil
	}
	f := opened.(*os.File) // as for every os.DirFS
	if _, known := d.checked.Load(h); !known {
		v := newVerifier(h)
		if _, err = io.Copy(v, f); err == nil {
			err = v.verify()
		}
	}
	if err != nil {
		f.Close()
		d.drop(name, err)
		return nil
	}
	d.checked.Store(h, true)
	if now := time.Now(); now.Sub(info.ModTime()) > touchAfter {
		_ = os.Chtimes(name, now, now) // fails for a read-only cache
	}
	return &cacheFile{f, info.Size()}
}

// drop removes a file that does not match its digest.
func (d *cacheDir) drop(name string, why error) {
	d.log.Warn("damaged file in the image cache; downloading it again", "file", name, "error", why)
	_ = os.Remove(name) // if this fails, the rename of the new content replaces it
}

// fill stores and returns the content written by download. A failure to store is a *cacheError.
func (d *cacheDir) fill(h v1.Hash, download func(io.Writer) error) (stored, error) {
	f, unlock, err := d.create()
	if err != nil {
		return nil, &cacheError{err}
	}
	defer unlock()
	defer os.Remove(f.Name()) // fails after a successful rename
	defer f.Close()
	if err := download(f); err != nil {
		return nil, err
	}
	s, err := d.commit(f, h)
	if err != nil {
		return nil, &cacheError{err}
	}
	if d.written.Add(s.size) > d.maxSize/4 {
		d.evict()
	}
	return s, nil
}

func (d *cacheDir) create() (f *os.File, unlock func(), err error) {
	// Images may be private: a layer is as secret as the credentials it was pulled with.
	if err := os.MkdirAll(d.tmp(), 0o700); err != nil {
		return nil, nil, err
	}
	d.once.Do(d.evict)
	return atomicfile.Temp(d.tmp()) // also removes the files of killed processes
}

// commit renames the file to its final name. It returns the file, opened before another process can evict it. The
// file is not synced: after a power failure, damage is detected by the digest.
func (d *cacheDir) commit(f *os.File, h v1.Hash) (*cacheFile, error) {
	size, err := f.Seek(0, io.SeekCurrent)
	if err == nil {
		err = f.Close()
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(d.path(h)), 0o700)
	}
	if err != nil {
		return nil, err
	}
	r, err := os.Open(f.Name())
	if err != nil {
		return nil, err
	}
	if err := os.Rename(f.Name(), d.path(h)); err != nil {
		r.Close()
		return nil, err
	}
	d.checked.Store(h, true)
	return &cacheFile{r, size}, nil
}

// A cacheFile is content in the directory. It remains readable after another process has removed the file.
type cacheFile struct {
	*os.File
	size int64
}

func (f *cacheFile) Size() int64 { return f.size }

// A cachedFile is a candidate for eviction.
type cachedFile struct {
	name string
	size int64
	used time.Time
}

// evict removes the least recently used files until the directory is 10% below its maximum size. It ignores files
// that cannot be removed or that another process has removed.
func (d *cacheDir) evict() {
	d.written.Store(0)
	files, total := d.files()
	if total <= d.maxSize {
		return
	}
	slices.SortFunc(files, func(a, b cachedFile) int { return a.used.Compare(b.used) })
	for _, f := range files {
		if total <= d.maxSize/10*9 {
			return
		}
		if os.Remove(f.name) == nil {
			total -= f.size
		}
	}
}

// files returns the files in the directory and their total size.
func (d *cacheDir) files() (files []cachedFile, total int64) {
	_ = filepath.WalkDir(filepath.Join(d.root, "blobs"), func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // another process may be removing files
		}
		if info, err := e.Info(); err == nil {
			files = append(files, cachedFile{name, info.Size(), info.ModTime()})
			total += info.Size()
		}
		return nil
	})
	return files, total
}
