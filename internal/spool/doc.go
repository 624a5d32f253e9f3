// Package spool buffers input that cannot be read twice, such as standard input or the output of a decompressor, so
// that several readers can then read it at any offset and at the same time.
//
// Up to 512 KB are buffered uncompressed. Larger input is compressed with s2, in independent frames: in memory up to a
// limit, and beyond it in an unlinked file, which disappears with the process, however the process ends.
//
//	blob, err := spool.Read(os.Stdin, spool.Options{})
//	if err != nil {
//		return err
//	}
//	defer blob.Close()
//	r := io.NewSectionReader(blob, 0, blob.Size())
package spool

import (
	"cmp"
	"errors"
	"io"
)

// frameSize is the uncompressed size of a frame, in bytes: large enough to compress well, and small enough that a read
// of a few bytes does not decompress much else.
const frameSize = 512 << 10

// The limits of zero Options.
const (
	defaultMemoryLimit = 64 << 20
	defaultFileLimit   = 2 << 30
)

// ErrLimit is wrapped by the error about input that is larger than the limits.
var ErrLimit = errors.New("larger than allowed")

// Options are the limits and the places of buffered input. The zero value is the default.
type Options struct {
	// Dir is the first directory to try for the spool file. If it is "" or not writable, os.TempDir is used.
	Dir string
	// MemoryLimit is the number of compressed bytes to keep in memory before a file is used. Zero means 64 MB; with a
	// negative limit, all input larger than 512 KB is written to the file.
	MemoryLimit int64
	// FileLimit is the maximum number of compressed bytes in the file. Zero means 2 GB. More is an error: untrusted
	// input must not fill the disk, or the memory if there is no file.
	FileLimit int64
	// Warn is called once if more than MemoryLimit is kept in memory because no file can be created. Nil drops the
	// warning.
	Warn func(message string)
}

func (o Options) memoryLimit() int64 {
	return max(0, cmp.Or(o.MemoryLimit, defaultMemoryLimit))
}

func (o Options) fileLimit() int64 { return cmp.Or(o.FileLimit, defaultFileLimit) }

func (o Options) warn(message string) {
	if o.Warn != nil {
		o.Warn(message)
	}
}

// Read reads r to its end into a Blob. It returns an error of r unchanged.
func Read(r io.Reader, opts Options) (*Blob, error) {
	w := NewWriter(opts)
	defer w.Close()
	if _, err := io.Copy(w, r); err != nil {
		return nil, err
	}
	return w.Finish()
}
