package image

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/internal/tarfs"
)

// A Content is the content of an image layer: a directory, Files, or both.
type Content struct {
	Source fs.FS
	Dir    string   // in Source; "" or "." is the root
	Names  []string // files and empty directories in Dir to copy; nil means all
	Links  bool     // keep symbolic links that stay within Source, instead of failing
	Target string   // the path of Dir in the image, such as manifests/; "" or "/" is the root

	// Files are written first, without their parent directories.
	Files []File
}

// A File is a file or a directory in an image.
type File struct {
	Name    string      // the path in the image, without leading or trailing slash
	Mode    fs.FileMode // permissions, [fs.ModeSticky], and [fs.ModeDir] for a directory
	Size    int64
	Content io.ReaderAt
}

// A Layer is a layer of an image to build. Its methods may be called concurrently.
type Layer struct {
	content        io.ReaderAt // compressed; a temporary file from Pack is an io.Closer
	size, unpacked int64       // of the compressed layer, and of the archive
	digest, diffID v1.Hash     // of the compressed layer, and of the archive
	createdBy      string
	annotations    map[string]string
}

// Digest returns the digest of the compressed layer.
func (l *Layer) Digest() (v1.Hash, error) { return l.digest, nil }

// DiffID returns the digest of the uncompressed archive.
func (l *Layer) DiffID() (v1.Hash, error) { return l.diffID, nil }

// Size returns the size of the compressed layer in bytes.
func (l *Layer) Size() (int64, error) { return l.size, nil }

// MediaType returns the OCI media type for a gzip-compressed layer.
func (l *Layer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// Compressed returns the compressed layer.
func (l *Layer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(l.content, 0, l.size)), nil
}

// Uncompressed returns the uncompressed archive.
func (l *Layer) Uncompressed() (io.ReadCloser, error) {
	return gzip.NewReader(io.NewSectionReader(l.content, 0, l.size))
}

// Close removes the temporary file of a layer from Pack.
func (l *Layer) Close() error {
	if file, ok := l.content.(io.Closer); ok {
		return file.Close()
	}
	return nil
}

// Pack packs a layer into a temporary file, which exists until the layer is closed. For created see [BuildOptions].
func Pack(ctx context.Context, c Content, created time.Time) (*Layer, error) {
	f, err := atomicfile.NewUnnamed("")
	if err != nil {
		return nil, fmt.Errorf("pack layer: %w", err)
	}
	l, err := pack(c, contextWriter{ctx, f}, gzip.DefaultCompression, created)
	if err != nil {
		return nil, closing(fmt.Errorf("pack layer: %w", err), f)
	}
	l.content = f
	return l, nil
}

// A contextWriter fails when its context is done.
type contextWriter struct {
	ctx context.Context
	io.Writer
}

func (w contextWriter) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// pack writes c to w, and returns the layer without its content.
func pack(c Content, w io.Writer, level int, created time.Time) (*Layer, error) {
	packed := newHashingWriter(w)
	zip, err := gzip.NewWriterLevel(packed, level)
	if err != nil {
		return nil, err
	}
	plain := newHashingWriter(zip)
	lw := &layerWriter{tar: tar.NewWriter(plain), created: buildTime(created), links: c.Links, dirs: map[string]bool{}}
	for _, f := range c.Files {
		if err := lw.addFile(f); err != nil {
			return nil, err
		}
	}
	if c.Source != nil {
		err = lw.copy(&c)
	}
	if err == nil {
		err = errors.Join(lw.tar.Close(), zip.Close())
	}
	l := &Layer{size: packed.n, unpacked: plain.n, digest: packed.digest(), diffID: plain.digest()}
	l.createdBy, l.annotations = c.describe()
	return l, err
}

// A hashingWriter forwards bytes, and computes their number and digest.
type hashingWriter struct {
	to   io.Writer
	hash hash.Hash
	n    int64
}

func newHashingWriter(to io.Writer) *hashingWriter { return &hashingWriter{to: to, hash: sha256.New()} }

func (w *hashingWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.hash.Write(p[:n])
	w.n += int64(n)
	return n, err
}

func (w *hashingWriter) digest() v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(w.hash.Sum(nil))}
}

// describe returns the history entry of the layer, and annotations that list the names in it if it has nothing but
// Files, so that readers of other files can skip it.
func (c *Content) describe() (createdBy string, annotations map[string]string) {
	if c.Source != nil {
		return fmt.Sprintf("COPY %s /%s", path.Clean(c.Dir), strings.Trim(c.Target, "/")), nil
	}
	var names, files []string
	for _, f := range c.Files {
		names = append(names, f.Name)
		if !f.Mode.IsDir() {
			files = append(files, "/"+f.Name)
		}
	}
	if text, err := json.Marshal(names); err == nil { // all names are UTF-8
		annotations = map[string]string{annotationNames: string(text)}
	}
	return "ADD " + strings.Join(files, " "), annotations
}

// A layerWriter writes the archive of a layer.
type layerWriter struct {
	tar     *tar.Writer
	created time.Time
	links   bool
	dirs    map[string]bool // parent directories already written
}

// copy writes the directory of a Content with its parents in the image and everything in it.
func (w *layerWriter) copy(c *Content) error {
	target, err := tarfs.CleanName(c.Target)
	if err != nil {
		return fmt.Errorf("target %q: %w", c.Target, err)
	}
	root := path.Clean(c.Dir)
	info, err := fs.Lstat(c.Source, root)
	if err != nil {
		return err
	}
	if !info.IsDir() && info.Mode().Type() != fs.ModeSymlink { // add reports a link with a better error
		return fmt.Errorf("%s: not a directory", root)
	}
	for _, name := range slices.Sorted(slices.Values(c.Names)) {
		to := path.Join(target, name)
		err := w.makeParents(to)
		if err == nil {
			err = w.add(c.Source, path.Join(root, name), to, 0)
		}
		if err != nil {
			return err
		}
	}
	if c.Names != nil {
		return nil
	}
	if err := w.makeParents(target); err != nil {
		return err
	}
	return fs.WalkDir(c.Source, root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below := name
		if root != "." {
			below = name[len(root):]
		}
		return w.add(c.Source, name, path.Join(target, below), e.Type())
	})
}

// makeParents writes the parent directories of a name that are not written yet.
func (w *layerWriter) makeParents(name string) error {
	for i, char := range name {
		if char != '/' || w.dirs[name[:i]] {
			continue
		}
		w.dirs[name[:i]] = true
		if err := w.directory(name[:i]); err != nil {
			return err
		}
	}
	return nil
}

// add writes the file or directory name of fsys as target. listed is its type from ReadDir.
func (w *layerWriter) add(fsys fs.FS, name, target string, listed fs.FileMode) error {
	info, err := fs.Lstat(fsys, name)
	if err != nil {
		return err
	}
	if strings.Contains("/"+target, "/"+tarfs.WhiteoutPrefix) {
		return fmt.Errorf("%s: in an image, a name that begins with %s hides other files", name, tarfs.WhiteoutPrefix)
	}
	isLink := (info.Mode()|listed)&fs.ModeSymlink != 0 // not every file system detects links in Lstat
	switch {
	case isLink && w.links:
		return w.link(fsys, name, target)
	case isLink:
		return fmt.Errorf("%s: it is a symbolic link; replace it by its target", name)
	case info.IsDir() && target == ".":
		return nil // every image has a root
	case info.IsDir():
		return w.directory(target)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: neither a file nor a directory", name)
	}
	f, _, err := regular.Open(fsys, name)
	if err != nil {
		return err
	}
	defer f.Close()
	hdr := &tar.Header{Typeflag: tar.TypeReg, Name: target, Size: info.Size(), Mode: 0o644, ModTime: w.created}
	return w.write(name, hdr, f)
}

// link writes a symbolic link, which must not point outside fsys.
func (w *layerWriter) link(fsys fs.FS, name, target string) error {
	to, err := fs.ReadLink(fsys, name)
	if err != nil {
		return err
	}
	if path.IsAbs(to) || !fs.ValidPath(path.Join(path.Dir(name), to)) {
		return fmt.Errorf("%s: the symbolic link leads out of the directory; replace it by its target", name)
	}
	return w.tar.WriteHeader(&tar.Header{
		Typeflag: tar.TypeSymlink, Name: target, Linkname: to, Mode: 0o777, ModTime: w.created,
	})
}

func (w *layerWriter) directory(target string) error {
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: target + "/", Mode: 0o755, ModTime: w.created})
}

// addFile writes a file or directory of [Content.Files].
func (w *layerWriter) addFile(f File) error {
	mode := int64(f.Mode.Perm())
	if f.Mode&fs.ModeSticky != 0 {
		mode |= 0o1000
	}
	hdr := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: f.Size, Mode: mode, ModTime: w.created}
	if f.Mode.IsDir() {
		hdr.Typeflag, hdr.Name = tar.TypeDir, f.Name+"/"
		return w.tar.WriteHeader(hdr)
	}
	return w.write(f.Name, hdr, io.NewSectionReader(f.Content, 0, f.Size))
}

// write writes a file; name is its name in errors.
func (w *layerWriter) write(name string, hdr *tar.Header, content io.Reader) error {
	err := w.tar.WriteHeader(hdr)
	if err == nil {
		var n int64
		n, err = io.Copy(w.tar, content)
		if errors.Is(err, tar.ErrWriteTooLong) || err == nil && n != hdr.Size {
			err = errors.New("it changed while it was read")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
