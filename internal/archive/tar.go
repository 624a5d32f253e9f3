package archive

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

// maxPath is the longest name that is read, in bytes: that of most systems.
const maxPath = 4096

// isTar reports whether the block is the first of a tar archive. The sum over it is in every format of tar, a magic
// word only in the later ones.
func isTar(block []byte) bool {
	if len(block) < blockSize || block[0] == 0 {
		return false
	}
	const start, end = 148, 156 // the sum itself, taken for spaces
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

// checkTar tells what is no tar archive at all from one that is damaged. An archive without entries begins with zeros.
func checkTar(r io.ReaderAt) error {
	block := make([]byte, blockSize)
	n, err := r.ReadAt(block, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if n < blockSize || !isTar(block) && !bytes.Equal(block, make([]byte, blockSize)) {
		return errors.New("it is not a tar archive")
	}
	return nil
}

// newFS reads the headers of a tar archive. The files of the FS are sections of r.
func newFS(r *io.SectionReader, closer io.Closer) (*FS, error) {
	if err := checkTar(r); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	f := &FS{data: r, closer: closer, root: newDir()}
	tr := tar.NewReader(r)
	var end int64 // of the last entry
	for {
		hdr, err := tr.Next()
		offset, _ := r.Seek(0, io.SeekCurrent)
		if err == io.EOF {
			// A reader of tar takes the end of the file for the end of the archive, and would miss what a
			// download that broke off has not brought.
			if offset <= end {
				return nil, errors.New("read archive: it is cut short: it has no end marker")
			}
			return f, nil
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, fmt.Errorf("read archive: %w", cutShort(err))
		}
		end = offset
		if isRegular(hdr) {
			end += (hdr.Size + blockSize - 1) / blockSize * blockSize
		}
		if err := f.add(hdr, offset); err != nil {
			return nil, fmt.Errorf("read archive: entry %q: %w", hdr.Name, err)
		}
	}
}

func isRegular(hdr *tar.Header) bool {
	return hdr.Typeflag == tar.TypeReg || hdr.Typeflag == tar.TypeCont
}

// add puts one entry, whose data begins at offset, into the tree.
func (f *FS) add(hdr *tar.Header, offset int64) error {
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return nil // holds no file, only what others have in common
	}
	name, err := cleanName(hdr.Name)
	if err != nil {
		return err
	}
	n := &node{modTime: hdr.ModTime, mode: fs.FileMode(hdr.Mode).Perm()}
	switch {
	case isSparse(hdr):
		return errors.New("it is a sparse file, which is not supported")
	case isRegular(hdr):
		n.offset, n.size = offset, hdr.Size
	case hdr.Typeflag == tar.TypeDir:
		n.mode |= fs.ModeDir
	case hdr.Typeflag == tar.TypeSymlink:
		n.mode |= fs.ModeSymlink
		n.link = hdr.Linkname
	case hdr.Typeflag == tar.TypeLink:
		if n, err = f.linked(hdr.Linkname); err != nil {
			return err
		}
	default:
		return fmt.Errorf("it is %s, which no catalog holds", typeName(hdr.Typeflag))
	}
	return f.insert(name, n)
}

// linked returns what a hard link leads to: a copy, so that an entry which replaces the target leaves the link as it
// was.
func (f *FS) linked(target string) (*node, error) {
	name, err := cleanName(target)
	if err != nil {
		return nil, fmt.Errorf("hard link to %q: %w", target, err)
	}
	n := f.find(name)
	if n == nil {
		return nil, fmt.Errorf("hard link to %q, which does not come before it", target)
	}
	if n.mode.IsDir() {
		return nil, fmt.Errorf("hard link to %q, which is a directory", target)
	}
	same := *n
	return &same, nil
}

// cleanName returns name as io/fs writes names. As tar does, it takes absolute names for relative ones.
func cleanName(name string) (string, error) {
	if len(name) > maxPath {
		return "", fmt.Errorf("its name is longer than %d bytes", maxPath)
	}
	if !utf8.ValidString(name) {
		return "", errors.New("its name is not UTF-8")
	}
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", errors.New("it leads out of the archive")
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

func typeName(flag byte) string {
	switch flag {
	case tar.TypeChar, tar.TypeBlock:
		return "a device"
	case tar.TypeFifo:
		return "a named pipe"
	}
	return fmt.Sprintf("of type %q", flag)
}
