// Package tarfs reads tar archives, plain or compressed with gzip or zstd, as an io/fs.FS. Nothing is unpacked to disk.
//
// [Open] reads one archive with random access, such as a catalog. The files of a plain archive are sections of it; a
// compressed archive is decompressed into package spool.
//
//	fsys, err := tarfs.Open(ctx, f, size, tarfs.Options{})
//	if err != nil {
//		return err
//	}
//	defer fsys.Close()
//	data, err := fs.ReadFile(fsys, "foo/catalog.yaml")
//
// [Union] reads the layers of an image as streams and stacks them, as in a container. It buffers only the wanted files.
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

// Options are the limits of archives and the place of buffered files. The zero value has no limits.
type Options struct {
	Limits Limits
	Spool  spool.Options
}

// HeaderSize is the number of bytes at the start of a file that Is needs.
const HeaderSize = blockSize

// The maximum memory of a zstd frame: for an archive, the default limit of the zstd tool.
const (
	archiveWindow = 128 << 20
	layerWindow   = 64 << 20
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Is reports whether Open can read a file that starts with header: a tar archive, or any gzip or zstd file, because
// only decompressing it shows whether it is an archive. Names and extensions do not matter.
func Is(header []byte) bool {
	return isCompressed(header) || isTar(header)
}

func isCompressed(header []byte) bool {
	return bytes.HasPrefix(header, gzipMagic) || bytes.HasPrefix(header, zstdMagic)
}

// Open reads the headers of the archive in the first size bytes of r, which must stay readable as long as the FS is
// used. It first decompresses a compressed archive completely into the spool of opts.
//
// It is an error if the archive is damaged or truncated, or has an entry that a catalog directory cannot have; the
// error names the entry. An error of r is wrapped.
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

// openPlain reads the headers of an uncompressed archive. The files of the FS are sections of r.
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
	// The tar reader treats the end of the file as the end of the archive, so it does not detect an interrupted
	// download.
	if at, _ := r.Seek(0, io.SeekCurrent); at <= end {
		return errors.New("it is cut short: it has no end marker")
	}
	return nil
}

// Decompress returns a reader of the content of a layer, which may be compressed with gzip or zstd, or plain.
func Decompress(r io.Reader) (io.ReadCloser, error) {
	return decompress(bufio.NewReader(r), layerWindow)
}

// decompress detects the compression of r by its first bytes, because media types are often wrong.
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

// cutShort adds an explanation to the error of a stream that ended too early.
func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return fmt.Errorf("it is cut short: %w", err)
	}
	return err
}
