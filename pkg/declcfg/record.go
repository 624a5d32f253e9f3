package declcfg

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/opm-toolchain/opm/internal/document"
)

// ErrChanged is wrapped by errors about a file that is not what it was when it was first read.
var ErrChanged = document.ErrChanged

// A Record remembers which files were read, and their size and time. It notices what the hashes of objects do not: a
// file that was being written when it was read, and had fewer objects than before and after. Its methods may be called
// at once. The zero value is ready.
type Record struct {
	mu    sync.Mutex
	files map[string]stamped // by label
}

// A stamped is a file as it was when it was first read.
type stamped struct {
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

// Add remembers a file of fsys, which errors call label. Info is what it was before it was read. A nil Record remembers
// nothing.
func (r *Record) Add(label string, fsys fs.FS, name string, info fs.FileInfo) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.files == nil {
		r.files = map[string]stamped{}
	}
	if _, ok := r.files[label]; !ok {
		r.files[label] = stamped{fsys, name, stampOf(info)}
	}
}

// How long ago a file must have been written to for nobody to be still writing. An empty one is likely about to be
// filled, and the system may take long to truncate a file.
const (
	settled      = 20 * time.Millisecond // the clock of the times of files is coarse, too
	settledEmpty = time.Second
)

// wait waits until a file of that stamp is settled.
func (s stamp) wait() {
	d := settled
	if s.size == 0 {
		d = settledEmpty
	}
	if age := time.Since(s.time); 0 <= age && age < d {
		time.Sleep(d - age)
	}
}

// Check returns an error for every file that changed since it was first read, by name. Where a file was written to just
// before, it waits a little, for more to be written. A nil Record has no files.
func (r *Record) Check() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []*Error
	for label, f := range r.files {
		f.wait() // most often for none, and then for one
		info, err := fs.Stat(f.fsys, f.name)
		if err != nil || !f.equal(stampOf(info)) {
			errs = append(errs, &Error{Pos: Pos{File: label}, Err: ErrChanged})
		}
	}
	slices.SortFunc(errs, func(a, b *Error) int { return cmp.Compare(a.Pos.File, b.Pos.File) })
	joined := make([]error, len(errs))
	for i, e := range errs {
		joined[i] = e
	}
	return errors.Join(joined...)
}
