// Package archive reads a catalog directory out of a tar archive, plain or compressed with gzip or zstd, as an
// io/fs.FS. Nothing is unpacked to disk: the files of a plain archive are sections of it, and what a compressed one
// decompresses to is held by package spool.
//
//	fsys, err := archive.Open(f, size, spool.Options{})
//	if err != nil {
//		return err
//	}
//	defer fsys.Close()
//	data, err := fs.ReadFile(fsys, "foo/catalog.yaml")
package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/spool"
)

// HeaderSize is how much of a file Is needs to see.
const HeaderSize = blockSize

// maxWindow bounds the memory that a zstd frame may ask for, to what the zstd tool itself grants.
const maxWindow = 128 << 20

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Is reports whether a file that begins with header is for Open: a tar archive, or anything in gzip or zstd, which
// cannot be told from a compressed archive before it is decompressed. Names and extensions do not count.
func Is(header []byte) bool {
	return bytes.HasPrefix(header, gzipMagic) || bytes.HasPrefix(header, zstdMagic) || isTar(header)
}

// Open reads the table of contents of the archive in the first size bytes of r, which must stay readable as long as
// the FS is used. A compressed archive is decompressed as a whole first, held as opts say.
//
// An archive that is damaged, cut short or holds what no catalog directory holds is an error, which names the entry.
// An error of r itself comes back wrapped, so that a reader which ends with a context can end Open too.
func Open(r io.ReaderAt, size int64, opts spool.Options) (*FS, error) {
	section := io.NewSectionReader(r, 0, size)
	unpacked, err := decompressor(section)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	if unpacked == nil {
		return newFS(section, nil)
	}
	defer unpacked.Close()
	blob, err := spool.Read(unpacked, opts)
	if err != nil {
		return nil, fmt.Errorf("decompress archive: %w", cutShort(err))
	}
	fsys, err := newFS(io.NewSectionReader(blob, 0, blob.Size()), blob)
	if err != nil {
		return nil, errors.Join(err, blob.Close())
	}
	return fsys, nil
}

// decompressor returns a reader of what r is compressed of, or nil where r is not compressed.
func decompressor(r *io.SectionReader) (io.ReadCloser, error) {
	magic := make([]byte, len(zstdMagic))
	if _, err := r.ReadAt(magic, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.HasPrefix(magic, gzipMagic) {
		z, err := gzip.NewReader(r)
		return z, cutShort(err)
	}
	if bytes.HasPrefix(magic, zstdMagic) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return nil, nil
}

// cutShort adds to the error of a stream that ended too early what that means.
func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return fmt.Errorf("it is cut short: %w", err)
	}
	return err
}
