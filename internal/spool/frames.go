package spool

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/regular"
)

// Frames are compressed frames by their number. Calls of put may be concurrent; calls of get may be, too, after the
// last put has returned.
type frames struct {
	opts Options
	raw  bool // they are stored as they are, since the input is already compressed

	mu       sync.Mutex
	all      []frame
	inMemory int64
	file     *atomicfile.Unnamed // nil until the memory limit is reached
	fileEnd  int64
	noFile   bool // no file could be created: everything stays in memory
	closed   bool
}

// A frame is in memory or, if data is nil, in the file.
type frame struct {
	data   []byte
	offset int64
	length int
}

// put stores a copy of data, and returns the number of its frame.
func (f *frames) put(data []byte) (number int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit := f.opts.memoryLimit() + f.opts.fileLimit()
	if f.inMemory+f.fileEnd+int64(len(data)) > limit {
		return 0, fmt.Errorf("buffer input: %w: more than %s when compressed", ErrLimit, plural.Bytes(limit))
	}
	added := frame{offset: f.fileEnd, length: len(data)}
	if f.keepInMemory(len(data)) {
		f.inMemory += int64(len(data))
		added = frame{data: bytes.Clone(data)}
	} else if _, err := f.file.WriteAt(data, f.fileEnd); err != nil {
		return 0, f.writeError(err)
	} else {
		f.fileEnd += int64(len(data))
	}
	f.all = append(f.all, added)
	return len(f.all) - 1, nil
}

// keepInMemory reports whether n more bytes are kept in memory. If not, f.file is set.
func (f *frames) keepInMemory(n int) bool {
	if f.file != nil || f.noFile {
		return f.noFile
	}
	if f.inMemory+int64(n) <= f.opts.memoryLimit() {
		return true
	}
	if err := f.createFile(); err != nil {
		f.noFile = true
		f.opts.warn(fmt.Sprintf("input of more than %d MB (compressed) is held in memory: %v",
			f.opts.memoryLimit()>>20, err))
	}
	return f.noFile
}

// createFile creates the spool file in the first writable directory.
func (f *frames) createFile() error {
	var failed []error
	for _, dir := range []string{f.opts.Dir, os.TempDir()} {
		if dir == "" {
			continue
		}
		file, err := atomicfile.NewUnnamed(dir)
		if err == nil {
			f.file = file
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// writeError reports the failed write with its directory, but without the name of the file, which is unlinked.
func (f *frames) writeError(err error) error {
	return fmt.Errorf("buffer input: write spool file in %s, %d MB so far: %w",
		filepath.Dir(f.file.Name()), f.fileEnd>>20, regular.WithoutPath(err))
}

// get returns a frame. A frame in the file is read into buf, which grows if needed.
func (f *frames) get(number int, buf *[]byte) ([]byte, error) {
	frame := f.all[number]
	if frame.data != nil {
		return frame.data, nil
	}
	if cap(*buf) < frame.length {
		*buf = make([]byte, frame.length)
	}
	data := (*buf)[:frame.length]
	if _, err := f.file.ReadAt(data, frame.offset); err != nil {
		return nil, fmt.Errorf("read spool file: %w", err)
	}
	return data, nil
}

// readAt copies from a raw frame, starting at byte start.
func (f *frames) readAt(p []byte, number, start int) (int, error) {
	frame := f.all[number]
	if frame.data != nil {
		return copy(p, frame.data[start:]), nil
	}
	n, err := f.file.ReadAt(p[:min(len(p), frame.length-start)], frame.offset+int64(start))
	if err != nil {
		err = fmt.Errorf("read spool file: %w", err)
	}
	return n, err
}

// close closes the file, once.
func (f *frames) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil || f.closed {
		return nil
	}
	f.closed = true
	return f.file.Close()
}
