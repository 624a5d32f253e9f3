// Package tarfs reads tar archives, plain or compressed with gzip or zstd, as an io/fs.FS. Nothing is unpacked to disk.
//
// [Open] reads one archive that can be read at any place, such as a catalog. The files of a plain archive are sections
// of it; what a compressed one decompresses to is held by package spool.
//
//	fsys, err := tarfs.Open(ctx, f, size, tarfs.Options{})
//	if err != nil {
//		return err
//	}
//	defer fsys.Close()
//	data, err := fs.ReadFile(fsys, "foo/catalog.yaml")
//
// [Union] reads the layers of an image as streams and puts them over each other, as a container has them. It holds only
// the files that are wanted.
package tarfs

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/opm-toolchain/opm/internal/spool"
)

// Options are the limits of archives and where their files are buffered. The zero value has no limits.
type Options struct {
	Limits Limits
	Spool  spool.Options
}

// HeaderSize is the number of bytes of a file that Is needs.
const HeaderSize = blockSize

// The memory that a zstd frame may ask for: of an archive as much as the zstd tool itself grants.
const (
	archiveWindow = 128 << 20
	layerWindow   = 64 << 20
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Is reports whether a file that begins with header is for Open: a tar archive, or anything in gzip or zstd, which
// cannot be distinguished from a compressed archive without decompressing it. Names and extensions do not matter.
func Is(header []byte) bool {
	return isCompressed(header) || isTar(header)
}

func isCompressed(header []byte) bool {
	return bytes.HasPrefix(header, gzipMagic) || bytes.HasPrefix(header, zstdMagic)
}

// Open reads the headers of the archive in the first size bytes of r, which must stay readable as long as the FS is
// used. A compressed archive is first decompressed completely into the spool of opts.
//
// An archive that is damaged, truncated or has entries that a catalog directory cannot have is an error, which names
// the entry. An error of r is wrapped.
func Open(ctx context.Context, r io.ReaderAt, size int64, opts Options) (*FS, error) {
	b := &budget{limits: opts.Limits}
	section := io.NewSectionReader(r, 0, size)
	magic := make([]byte, len(zstdMagic))
	if _, err := section.ReadAt(magic, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	if !isCompressed(magic) {
		return openPlain(ctx, section, b, nil)
	}
	plain, err := decompress(bufio.NewReader(section), archiveWindow)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	defer plain.Close()
	blob, err := spool.Read(b.reader(ctx, plain), opts.Spool)
	if err != nil {
		return nil, fmt.Errorf("decompress archive: %w", cutShort(err))
	}
	fsys, err := openPlain(ctx, io.NewSectionReader(blob, 0, blob.Size()), b, blob)
	if err != nil {
		return nil, errors.Join(err, blob.Close())
	}
	return fsys, nil
}

// openPlain reads the headers of an archive that is not compressed. The files of the FS are sections of r.
func openPlain(ctx context.Context, r *io.SectionReader, b *budget, closer io.Closer) (*FS, error) {
	t := newTree(b, ".")
	l := &layer{}
	err := checkTar(r)
	if err == nil {
		err = readInPlace(r, t, l)
	}
	if err == nil {
		err = t.apply(ctx, l)
	}
	if err == nil {
		err = t.reach(t.want)
	}
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	return &FS{tree: t, dir: t.root, closer: closer}, nil
}

// readInPlace adds the entries of an archive to l.
func readInPlace(r *io.SectionReader, t *tree, l *layer) error {
	var end int64 // of the last entry
	err := t.readEntries(tar.NewReader(r), l, func(_ *tar.Header, n *node) error {
		end, _ = r.Seek(0, io.SeekCurrent)
		if n != nil && n.mode.IsRegular() {
			n.data.ReaderAt = io.NewSectionReader(r, end, n.size)
			end += (n.size + blockSize - 1) / blockSize * blockSize
		}
		return nil
	})
	if err != nil {
		return cutShort(err)
	}
	// A reader of tar takes the end of the file for the end of the archive, and would miss what a download that
	// broke off has not brought.
	if at, _ := r.Seek(0, io.SeekCurrent); at <= end {
		return errors.New("it is cut short: it has no end marker")
	}
	return nil
}

// Decompress returns a reader of a layer as it was before it was compressed with gzip or zstd, if it was.
func Decompress(r io.Reader) (io.ReadCloser, error) {
	return decompress(bufio.NewReader(r), layerWindow)
}

// decompress detects the compression of r by its first bytes; media types are often wrong.
func decompress(r *bufio.Reader, window uint64) (io.ReadCloser, error) {
	magic, err := r.Peek(len(zstdMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.HasPrefix(magic, gzipMagic) {
		z, err := gzip.NewReader(r)
		return z, cutShort(err)
	}
	if bytes.HasPrefix(magic, zstdMagic) {
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(window),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// cutShort explains the error of a stream that ended too early.
func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return fmt.Errorf("it is cut short: %w", err)
	}
	return err
}
