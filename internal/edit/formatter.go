package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/regular"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Formatter formats files with [Format], or compares them with their format.
type Formatter struct {
	Compare bool // change no file
	Diff    bool // with Compare, call Print

	Changed func(name string) error // called for each file that changes or, with Compare but without Diff, would change
	Print   func(diff []byte) error // called with the changes of each file that would change
	Warn    func(error)             // called with the result of [RemoveLeftovers], maybe nil, before files are changed

	Compared, Different int // the numbers of compared files, and of those that would change
}

// Path formats a file, or all files of the catalog in a directory. Files that cannot be formatted are errors; the
// others are formatted all the same. Of a link, the target is formatted.
func (f *Formatter) Path(ctx context.Context, path string) error {
	if !f.Compare {
		f.Warn(RemoveLeftovers(path))
	}
	source, names, err := filesOf(path)
	errs := []error{err}
	for _, name := range names {
		errs = append(errs, f.file(ctx, source, name))
	}
	return errors.Join(errs...)
}

// filesOf returns the files that a path names.
func filesOf(path string) (source declcfg.Source, names []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return source, nil, fmt.Errorf("format %q: %w", path, regular.WithoutPath(err))
	}
	if info.IsDir() {
		source = declcfg.Source{Name: path, FS: os.DirFS(path)}
		names, err = source.Files()
		return source, names, err
	}
	dir, name := filepath.Split(path)
	return declcfg.Source{Name: filepath.Clean(dir), FS: os.DirFS(filepath.Clean(dir))}, []string{name}, nil
}

// file formats one file of a source.
func (f *Formatter) file(ctx context.Context, source declcfg.Source, name string) error {
	path := filepath.Join(source.Name, name)
	file, info, err := regular.Open(source.FS, name)
	if err != nil {
		return &declcfg.Error{Pos: declcfg.Pos{File: path}, Err: regular.WithoutPath(err)}
	}
	defer file.Close()
	in := io.NewSectionReader(file.(io.ReaderAt), 0, info.Size()) // files of os.DirFS implement io.ReaderAt
	if f.Compare {
		return f.compare(ctx, path, in)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	var record declcfg.Record
	record.Add(path, source.FS, name, info)
	opts := atomicfile.Options{Replace: true, Mode: info.Mode().Perm()}
	err = atomicfile.Write(target, opts, func(w io.Writer) error {
		changed, err := Format(ctx, w, path, in, in.Size())
		switch {
		case err != nil:
			return err
		case !changed:
			return errUnchanged
		}
		return record.Check()
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	if err == nil {
		err = f.Changed(path)
	}
	return err
}

// errUnchanged stops the replacement of a file whose content would stay the same.
var errUnchanged = errors.New("unchanged")

// maxInMemory is the maximum size of a reader, and of a file whose changes are shown, in bytes.
const maxInMemory = 64 << 20

// compare reports the changes that formatting would make to a file.
func (f *Formatter) compare(ctx context.Context, name string, in *io.SectionReader) error {
	var out bytes.Buffer
	var w io.Writer = &out
	if !f.Diff {
		w = io.Discard
	} else if in.Size() > maxInMemory {
		return tooLarge(name)
	}
	changed, err := Format(ctx, w, name, in, in.Size())
	if err != nil {
		return err
	}
	f.Compared++
	if !changed {
		return nil
	}
	f.Different++
	if !f.Diff {
		return f.Changed(name)
	}
	before, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return f.Print(Diff(name, before, name, out.Bytes()))
}

func tooLarge(name string) error {
	return fmt.Errorf("read %s: more than %s; use opm fmt FILE or opm fmt --check FILE", name,
		plural.Bytes(maxInMemory))
}

// Reader formats the text of a reader, which has a name in messages, to w.
func (f *Formatter) Reader(ctx context.Context, w io.Writer, name string, r io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(r, maxInMemory+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	size := int64(len(text))
	if size > maxInMemory {
		return tooLarge(name)
	}
	in := io.NewSectionReader(bytes.NewReader(text), 0, size)
	if f.Compare {
		return f.compare(ctx, name, in)
	}
	var out bytes.Buffer
	if _, err := Format(ctx, &out, name, in, size); err != nil {
		return err
	}
	_, err = w.Write(out.Bytes())
	return err
}
