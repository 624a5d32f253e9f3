package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxPath is the longest name and link that is read, in bytes: that of most systems.
	maxPath = 4096
	// maxWindow bounds the memory that a zstd frame may ask for.
	maxWindow = 64 << 20
)

// What the names of entries begin with that hide something of the layers below.
const (
	whiteout = ".wh."
	reserved = ".wh..wh." // of union file systems
	opaque   = ".wh..wh..opq"
)

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// A layer is what one layer does to the files that are wanted. Names are clean, without a slash in front.
type layer struct {
	hidden  []string // what is removed of the layers below
	opaque  []string // directories that hide what the layers below have in them
	entries []entry  // in the order of the archive
}

// An entry is one file, directory or link.
type entry struct {
	name string
	node *node  // nil for a hard link
	hard string // the name that a hard link gives another name to
}

// readLayer reads a layer, an archive that may be compressed, to its end. The files that are wanted go to content.
func readLayer(ctx context.Context, r io.Reader, want *wanted, b *budget, content *held) (*layer, error) {
	packed := bufio.NewReaderSize(contextReader{ctx, r}, 64<<10)
	plain, err := decompress(packed)
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	l := &layerReader{tar: tar.NewReader(b.reader(plain)), content: content, want: want, budget: b}
	if err := l.read(); err != nil {
		return nil, err
	}
	// What follows the end of the archive belongs to the content that the digest is of.
	_, err = io.Copy(io.Discard, b.reader(packed))
	return &l.layer, err
}

// decompress tells how r is compressed by how it begins; media types are often wrong.
func decompress(r *bufio.Reader) (io.ReadCloser, error) {
	magic, err := r.Peek(len(zstdMagic))
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		return gzip.NewReader(r)
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
			zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

// A contextReader fails when its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// A layerReader reads one layer.
type layerReader struct {
	layer   layer
	tar     *tar.Reader
	content *held
	want    *wanted
	budget  *budget
}

func (l *layerReader) read() error {
	for {
		hdr, err := l.tar.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // which is judged below
			return err
		}
		if err := l.add(hdr); err != nil {
			return fmt.Errorf("entry %s: %w", quoteName(hdr.Name), err)
		}
	}
}

// quoteName prints a name that may be anything.
func quoteName(name string) string {
	const enough = 200
	if len(name) > enough {
		name = name[:enough] + "..."
	}
	return fmt.Sprintf("%q", name)
}

// add notes what the entry does to the files that are wanted.
func (l *layerReader) add(hdr *tar.Header) error {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return nil // holds no file, only what others have in common
	}
	name, err := cleanName(hdr.Name)
	if err != nil {
		return err
	}
	if dir, base := path.Split(name); strings.HasPrefix(base, whiteout) {
		return l.hide(path.Clean(dir), base)
	}
	if hdr.Typeflag == tar.TypeLink {
		return l.addHardLink(name, hdr)
	}
	actual := l.want.real(name)
	inside := l.want.within(actual)
	if !inside && !l.want.above(actual) && hdr.Typeflag != tar.TypeSymlink {
		return nil
	}
	// A link elsewhere may lead to what is wanted, or be on the way of one that leads from there.
	n, err := newNode(hdr)
	if err != nil {
		return err
	}
	if inside && n.special() && !belowDev(actual) {
		return errSpecial
	}
	if inside && n.mode.IsRegular() {
		if err := l.hold(n, hdr); err != nil {
			return err
		}
	}
	return l.keep(entry{name: name, node: n})
}

// counts reports whether what happens to name matters to what is wanted.
func (l *layerReader) counts(name string) bool {
	actual := l.want.real(name)
	return l.want.within(actual) || l.want.above(actual)
}

// belowDev reports whether name is where container engines put devices of their own.
func belowDev(name string) bool {
	_, ok := inside("dev", name)
	return ok
}

func (l *layerReader) keep(e entry) error {
	// The texts of a header may be parts of a far larger one.
	e.name, e.hard = strings.Clone(e.name), strings.Clone(e.hard)
	size := len(e.name) + len(e.hard)
	if e.node != nil {
		e.node.link = strings.Clone(e.node.link)
		size += len(e.node.link)
	}
	l.layer.entries = append(l.layer.entries, e)
	return l.budget.hold(size)
}

// hide notes a whiteout in the directory dir.
func (l *layerReader) hide(dir, base string) error {
	if base == opaque {
		if l.counts(dir) {
			l.layer.opaque = append(l.layer.opaque, strings.Clone(dir))
			return l.budget.hold(len(dir))
		}
		return nil
	}
	if strings.HasPrefix(base, reserved) {
		return nil
	}
	base = strings.TrimPrefix(base, whiteout)
	if base == "" || base == "." || base == ".." {
		return errors.New("it is a whiteout of nothing")
	}
	if name := path.Join(dir, base); l.counts(name) {
		l.layer.hidden = append(l.layer.hidden, name)
		return l.budget.hold(len(name))
	}
	return nil
}

func (l *layerReader) addHardLink(name string, hdr *tar.Header) error {
	if !l.counts(name) {
		return nil
	}
	target, err := cleanName(hdr.Linkname)
	if err != nil {
		return fmt.Errorf("hard link to %s: %w", quoteName(hdr.Linkname), err)
	}
	return l.keep(entry{name: name, hard: target})
}

// hold copies the data of a file.
func (l *layerReader) hold(n *node, hdr *tar.Header) error {
	if isSparse(hdr) { // its holes are not in what the archive decompresses to
		if err := l.budget.unpack(hdr.Size); err != nil {
			return err
		}
	}
	n.data, n.offset, n.size = l.content, l.content.Size(), hdr.Size
	written, err := io.Copy(l.content, l.tar)
	if err == nil && written != hdr.Size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

func isSparse(hdr *tar.Header) bool {
	if hdr.Typeflag == tar.TypeGNUSparse {
		return true
	}
	for key := range hdr.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return false
}

// newNode returns what an entry describes, without data.
func newNode(hdr *tar.Header) (*node, error) {
	n := &node{mode: fs.FileMode(hdr.Mode).Perm(), modTime: hdr.ModTime}
	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
	case tar.TypeDir:
		n.mode |= fs.ModeDir
	case tar.TypeSymlink:
		if len(hdr.Linkname) > maxPath {
			return nil, fmt.Errorf("the link is longer than %d bytes", maxPath)
		}
		n.mode |= fs.ModeSymlink
		n.link = hdr.Linkname
	case tar.TypeChar, tar.TypeBlock:
		n.mode |= fs.ModeDevice
	case tar.TypeFifo:
		n.mode |= fs.ModeNamedPipe
	default:
		return nil, fmt.Errorf("it is of type %q, which no image holds", hdr.Typeflag)
	}
	return n, nil
}

// cleanName returns a name as the tree has it. As container engines do, it takes absolute names for relative ones.
func cleanName(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("the name is longer than %d bytes", maxPath)
	}
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("it leads out of the image")
	}
	return clean, nil
}
