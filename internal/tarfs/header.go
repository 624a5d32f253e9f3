package tarfs

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

const blockSize = 512

const (
	// maxPath is the maximum length of a name and of a link, in bytes, as on most systems.
	maxPath = 4096
	// maxDepth is the maximum number of directories around a file. Every access takes a step for each; images have
	// about 30.
	maxDepth = 100
)

// WhiteoutPrefix starts the names of layer entries that hide files of the layers below.
const WhiteoutPrefix = ".wh."

const (
	reservedPrefix = ".wh..wh." // used by union file systems
	opaqueName     = ".wh..wh..opq"
)

// isTar reports whether the block is the first block of a tar archive. It verifies the checksum, which every tar format
// has; only later formats have a magic word.
func isTar(block []byte) bool {
	if len(block) < blockSize || block[0] == 0 {
		return false
	}
	const start, end = 148, 156 // the checksum field, which counts as spaces
	field := string(bytes.Trim(block[start:end], " \x00"))
	want, err := strconv.ParseInt(field, 8, 64)
	if err != nil {
		return false
	}
	sum := int64(' ' * (end - start))
	for i, b := range block[:blockSize] {
		if i < start || i >= end {
			sum += int64(b)
		}
	}
	return sum == want
}

// checkTar returns an error for a file that is not a tar archive, as opposed to a damaged one. An archive without
// entries starts with zeros.
func checkTar(r io.ReaderAt) error {
	block := make([]byte, blockSize)
	n, err := r.ReadAt(block, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n < blockSize || !isTar(block) && !bytes.Equal(block, make([]byte, blockSize)) {
		return errors.New("not a tar archive")
	}
	return nil
}

// readEntries reads an archive to its end. It adds the entries to l, unless an earlier pass did, and calls fn with each
// header and its node, which is nil for hard links and whiteouts.
func (t *tree) readEntries(r *tar.Reader, l *layer, fn func(*tar.Header, *node) error) error {
	for n := 0; ; {
		hdr, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) { // CleanName checks the path
			return err
		}
		if hdr.Typeflag == tar.TypeXGlobalHeader {
			continue // no file, only defaults for other entries
		}
		if n == len(l.entries) {
			e, err := t.newEntry(l, hdr)
			if err != nil {
				return fmt.Errorf("entry %.200q: %w", hdr.Name, err)
			}
			l.entries = append(l.entries, e)
		}
		if err := fn(hdr, l.entries[n].node); err != nil {
			return fmt.Errorf("entry %.200q: %w", hdr.Name, err)
		}
		n++
	}
}

// newEntry returns the entry for a header.
func (t *tree) newEntry(l *layer, hdr *tar.Header) (entry, error) {
	name, err := CleanName(hdr.Name)
	if err != nil {
		return entry{}, err
	}
	e := entry{name: strings.Clone(name)} // it may be a part of a much larger string
	switch {
	case t.union && strings.HasPrefix(path.Base(name), WhiteoutPrefix):
		err = e.hide()
	case hdr.Typeflag == tar.TypeLink:
		e.hard = strings.Clone(hdr.Linkname)
	default:
		e.node, err = newNode(l, hdr)
		if err == nil && e.node.data != nil && t.wants(name) {
			e.node.data.want = true
			l.missing++
		}
	}
	if err == nil && !t.union {
		err = checkPortable(hdr, e.node)
	}
	if err != nil {
		return entry{}, err
	}
	return e, t.budget.add(len(name) + len(hdr.Linkname))
}

// hide turns an entry into a whiteout, according to its name.
func (e *entry) hide() error {
	dir, base := path.Split(e.name)
	switch hidden := strings.TrimPrefix(base, WhiteoutPrefix); {
	case base == opaqueName:
		e.name, e.hides = path.Clean(dir), hidesContent
	case strings.HasPrefix(base, reservedPrefix):
		e.hides = hidesNothing
	case hidden == "" || hidden == "." || hidden == "..":
		return errors.New("whiteout without a name")
	default:
		e.name, e.hides = path.Join(dir, hidden), hidesFile
	}
	return nil
}

// newNode returns the node for a header, without data.
func newNode(l *layer, hdr *tar.Header) (*node, error) {
	n := &node{mode: fs.FileMode(hdr.Mode).Perm(), modTime: hdr.ModTime, flag: hdr.Typeflag, layer: l}
	switch hdr.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		n.size, n.data = hdr.Size, &data{}
	case tar.TypeDir:
		n.mode |= fs.ModeDir
	case tar.TypeSymlink:
		if len(hdr.Linkname) > maxPath {
			return nil, fmt.Errorf("the link is longer than %d bytes", maxPath)
		}
		n.mode |= fs.ModeSymlink
		n.link = strings.Clone(hdr.Linkname)
	default:
		n.mode |= fs.ModeIrregular
	}
	return n, nil
}

// checkPortable rejects entries that a catalog directory on disk cannot have.
func checkPortable(hdr *tar.Header, n *node) error {
	switch {
	case !utf8.ValidString(hdr.Name):
		return errors.New("its name is not UTF-8")
	case isSparse(hdr):
		return errors.New("it is a sparse file, which is not supported")
	case n != nil && n.special():
		return n.specialError()
	}
	return nil
}

// CleanName converts a name to an io/fs path. Like tar and container engines, it treats absolute names as relative. A
// name that is too long, too deep, or leads out of the root directory is an error.
func CleanName(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("its name is longer than %d bytes", maxPath)
	}
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("it leads out of the root directory")
	}
	if strings.Count(clean, "/") > maxDepth {
		return "", errDeep
	}
	return clean, nil
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
