package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A store holds compressed frames by their number. Calls of put may run at once; calls of get may too, once the last
// put has returned.
type store struct {
	opts Options

	mu      sync.Mutex
	frames  []frame
	inMem   int64
	file    *os.File // nil before the limit is reached
	fileEnd int64
	leave   string // the name of the file where it could not be removed while open
	noFile  bool   // no file could be made: everything stays in memory
}

// A frame is in memory, or in the file where data is nil.
type frame struct {
	data   []byte
	offset int64
	length int
}

// put stores a copy of data as frame number index. Frames may come in any order.
func (s *store) put(index int, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.frames) <= index {
		s.frames = append(s.frames, frame{})
	}
	if s.keepInMemory(len(data)) {
		s.inMem += int64(len(data))
		s.frames[index] = frame{data: bytes.Clone(data), length: len(data)}
		return nil
	}
	if _, err := s.file.WriteAt(data, s.fileEnd); err != nil {
		return s.writeError(err)
	}
	s.frames[index] = frame{offset: s.fileEnd, length: len(data)}
	s.fileEnd += int64(len(data))
	return nil
}

// keepInMemory reports whether n more bytes stay in memory. Where it reports false there is a file.
func (s *store) keepInMemory(n int) bool {
	if s.noFile || s.file == nil && s.inMem+int64(n) <= s.opts.memoryLimit() {
		return true
	}
	if s.file != nil {
		return false
	}
	if err := s.openFile(); err != nil {
		s.noFile = true
		s.opts.warn(fmt.Sprintf("input of more than %d MB (compressed) is held in memory: %v",
			s.opts.memoryLimit()>>20, err))
	}
	return s.noFile
}

// openFile makes the spool file in the first directory where that works, and removes its name.
func (s *store) openFile() error {
	var failed []error
	for _, dir := range []string{s.opts.Dir, os.TempDir()} {
		if dir == "" {
			continue
		}
		file, err := os.CreateTemp(dir, "opm-spool-*")
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s.file = file
		if os.Remove(file.Name()) != nil {
			s.leave = file.Name() // some systems keep the name of an open file; close removes it
		}
		return nil
	}
	return errors.Join(failed...)
}

// writeError says what could not be written, and where, but not the name of a file that nobody can find.
func (s *store) writeError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fmt.Errorf("hold input that cannot be read twice: write spool file in %s, %d MB so far: %w",
		filepath.Dir(s.file.Name()), s.fileEnd>>20, err)
}

// get appends frame number index to buf, which may be nil; a frame in memory is returned as it is.
func (s *store) get(index int, buf []byte) ([]byte, error) {
	f := s.frames[index]
	if f.data != nil {
		return f.data, nil
	}
	if cap(buf) < f.length {
		buf = make([]byte, f.length)
	}
	buf = buf[:f.length]
	if _, err := s.file.ReadAt(buf, f.offset); err != nil {
		return nil, fmt.Errorf("read spool file: %w", err)
	}
	return buf, nil
}

// close gives the file back to the system.
func (s *store) close() error {
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	if s.leave != "" {
		err = errors.Join(err, os.Remove(s.leave))
	}
	return err
}
