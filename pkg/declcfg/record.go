package declcfg

import (
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/opm-toolchain/opm/internal/document"
)

// ErrChanged is wrapped by errors about a file that has changed since it was first read.
var ErrChanged = document.ErrChanged

// A Record remembers the files that were read, with their size and time. It detects a change that the hashes of objects
// do not: a file that was read while it was being written, and had fewer objects than before and after. Its methods may
// be called concurrently. The zero value is ready to use.
type Record struct {
	mu    sync.Mutex
	files map[string]recordedFile // by label
}

// A recordedFile is the state of a file when it was first read.
type recordedFile struct {
	fsys fs.FS
	name string
	stamp
}

// A stamp changes when a file is written to.
type stamp struct {
	size int64
	time time.Time
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime()} }

func (s stamp) equal(other stamp) bool { return s.size == other.size && s.time.Equal(other.time) }

// Add records a file of fsys, with the name label in errors and its info before it was read. A nil Record does nothing.
func (r *Record) Add(label string, fsys fs.FS, name string, info fs.FileInfo) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[string]recordedFile{}
	}
	if _, ok := r.files[label]; !ok {
		r.files[label] = recordedFile{fsys, name, stampOf(info)}
	}
}

// The minimum age of the last write before the writer is assumed to be done. An empty file will probably be filled, and
// the system may take long to truncate a file.
const (
	writerDone      = 20 * time.Millisecond // more than the resolution of file times
	writerDoneEmpty = time.Second
)

// Check returns an error for every file that changed since it was first read, sorted by name. If a file was written to
// just before, it waits a little for further writes. A nil Record has no files.
func (r *Record) Check() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, label := range slices.Sorted(maps.Keys(r.files)) {
		f := r.files[label]
		d := writerDone // usually it has passed; otherwise one wait is enough for all files
		if f.size == 0 {
			d = writerDoneEmpty
		}
		if age := time.Since(f.time); 0 <= age && age < d {
			time.Sleep(d - age)
		}
		info, err := fs.Stat(f.fsys, f.name)
		if err != nil || !f.equal(stampOf(info)) {
			errs = append(errs, &Error{Pos: Pos{File: label}, Err: ErrChanged})
		}
	}
	return errors.Join(errs...)
}
