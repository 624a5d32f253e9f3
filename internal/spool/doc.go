// Package spool holds input that cannot be read twice, such as standard input or an archive while it is
// decompressed, so that it can then be read at any place and by several readers at once.
//
// Up to 512 KB is held as it is. More is held in s2, in frames that are compressed one by one: in memory up to a
// limit, beyond it in a file that has no name any more and so is gone with the process, however the process ends.
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

// frameSize is how much of the input goes into one frame: enough to compress well, and little enough that a read
// of a few bytes does not decompress much else.
const frameSize = 512 << 10

// The limits of zero Options.
const (
	defaultMemoryLimit = 64 << 20
	defaultFileLimit   = 2 << 30
)

// ErrLimit is in the chain of the error about input that is larger than the limits.
var ErrLimit = errors.New("larger than allowed")

// Options say where the bytes may be held. The zero value is the default.
type Options struct {
	// Dir is where the spool file is tried first. Empty, or where it cannot be written, it is os.TempDir.
	Dir string
	// MemoryLimit is how many compressed bytes are held in memory before a file is used. Zero means 64 MB; a
	// negative limit sends everything to the file that is larger than 512 KB.
	MemoryLimit int64
	// FileLimit is how many compressed bytes are held in the file. Zero means 2 GB. More is an error: input that comes
	// from anybody must not fill the disk, or memory where there is no file.
	FileLimit int64
	// Warn is called once if more than the limit is held in memory because no file can be created. Nil drops the
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

// Read reads r to its end into a Blob. An error of r is returned as it is.
func Read(r io.Reader, opts Options) (*Blob, error) {
	w := NewWriter(opts)
	defer w.Close()
	if _, err := io.Copy(w, r); err != nil {
		return nil, err
	}
	return w.Finish()
}
