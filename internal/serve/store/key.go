package store

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/indexignore"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Key identifies a catalog by its content. It is an xxhash of the paths and contents of all files of the catalog,
// including .indexignore files and excluding ignored files and files that are being written. It does not depend on the
// location of the catalog, nor on the mode, owner and times of files.
type Key [8]byte

// String returns the key as 16 hexadecimal digits.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// KeyOf returns the key of the catalog made up of the sources; their order matters. The error is about an unreadable
// file or directory, or ctx.Err().
func KeyOf(ctx context.Context, sources ...declcfg.Source) (Key, error) {
	all := xxhash.New()
	for _, s := range sources {
		files, err := keyFiles(s)
		if err != nil {
			return Key{}, err
		}
		var head []byte
		head = order.AppendUint64(head, uint64(len(files)))
		if s.Ordered {
			head = append(head, 1)
		}
		_, _ = all.Write(head)
		if err := hashFiles(ctx, all, s, files); err != nil {
			return Key{}, err
		}
	}
	var k Key
	order.PutUint64(k[:], all.Sum64())
	return k, ctx.Err()
}

// hashFiles adds the files of s to sum, in order, and reads several at once.
func hashFiles(ctx context.Context, sum io.Writer, s declcfg.Source, files []keyFile) error {
	digest := func(f keyFile) ([]byte, error) {
		d, err := f.digest(s.FS)
		if err != nil {
			err = fmt.Errorf("%s: %w", path.Join(s.Name, f.name), err)
		}
		return d, err
	}
	for d, err := range parallel.Try(ctx, 0, slices.Values(files), digest) {
		if err != nil {
			return err
		}
		_, _ = sum.Write(d)
	}
	return nil
}

// A keyFile is a file or a link that contributes to the key.
type keyFile struct {
	name      string
	target    string // of a link
	noContent bool   // without content to read: not a regular file, nor a link to one
}

// keyFiles returns the files that a catalog may be read from. A link to a directory contributes only its target: the
// reader follows such a link only within the catalog, where the target is listed too.
func keyFiles(s declcfg.Source) ([]keyFile, error) {
	if s.File != "" {
		return []keyFile{{name: s.File}}, nil
	}
	var files []keyFile
	var ignore indexignore.Matcher
	err := fs.WalkDir(s.FS, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case atomicfile.IsTemp(e.Name()) && e.IsDir(): // as reading does
			return fs.SkipDir
		case atomicfile.IsTemp(e.Name()) || e.IsDir():
			return nil
		}
		if e.Name() == indexignore.Filename {
			content, err := regular.ReadFile(s.FS, name, indexignore.MaxSize)
			if err != nil {
				return err
			}
			ignore.Add(path.Dir(name), content)
		}
		files = append(files, newKeyFile(s.FS, name, e))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	files = slices.DeleteFunc(files, func(f keyFile) bool {
		return path.Base(f.name) != indexignore.Filename && ignore.Ignored(f.name)
	})
	slices.SortFunc(files, func(a, b keyFile) int { return cmp.Compare(a.name, b.name) })
	return files, nil
}

func newKeyFile(fsys fs.FS, name string, e fs.DirEntry) keyFile {
	f := keyFile{name: name, noContent: !e.Type().IsRegular()}
	if e.Type()&fs.ModeSymlink != 0 {
		f.target, _ = fs.ReadLink(fsys, name) // a broken link is reported when the catalog is read
		info, err := fs.Stat(fsys, name)
		f.noContent = err != nil || !info.Mode().IsRegular()
	}
	return f
}

// digest returns the contribution of f to the key: its name, its target and the hash of its content.
func (f keyFile) digest(fsys fs.FS) ([]byte, error) {
	d := xxhash.New()
	if !f.noContent {
		if err := hashContent(d, fsys, f.name); err != nil {
			return nil, err
		}
	}
	var out []byte
	for _, s := range []string{f.name, f.target} {
		out = order.AppendUint64(out, uint64(len(s)))
		out = append(out, s...)
	}
	return order.AppendUint64(out, d.Sum64()), nil
}

func hashContent(d *xxhash.Digest, fsys fs.FS, name string) error {
	f, _, err := regular.Open(fsys, name)
	if err != nil {
		return err
	}
	defer f.Close()
	buf := buffers.Get()
	defer func() { buffers.Put(buf) }()
	buf = slices.Grow(buf, hashBlock)[:hashBlock]
	_, err = io.CopyBuffer(writerOnly{d}, readerOnly{f}, buf)
	return err
}

// hashBlock is the number of bytes of a file that are read at once.
const hashBlock = 256 << 10

// readerOnly and writerOnly hide the methods with which io.CopyBuffer would bypass the buffer.
type (
	readerOnly struct{ io.Reader }
	writerOnly struct{ io.Writer }
)
