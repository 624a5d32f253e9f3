package declcfg

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/indexignore"
	"github.com/opm-toolchain/opm/internal/regular"
)

// ignoreFile is the name of files that list the ignored files of a catalog.
const ignoreFile = indexignore.Filename

// A Source is one tree of catalog files, or a single file.
type Source struct {
	Name string // beginning of positions, such as the path that the user gave
	FS   fs.FS  // its files must implement io.ReaderAt, like the files of os.DirFS
	File string // the only file to read, a name in FS; "" reads every file that .indexignore does not exclude

	// Record records the files that are read; nil records none. Several sources may share it.
	Record *Record

	// Note, if not nil, is called for input that upstream refuses and that is read here: empty documents, byte order
	// marks, links to directories, and files that several paths lead to. [Map] calls it between two objects, in their
	// order.
	Note func(*Error)

	// Read, if not nil, is called with the number of bytes of each read. Calls may run concurrently.
	Read func(bytes int64)

	// MaxObject is the maximum size of an object in bytes; 0 means 256 MB. Values below 512 KB mean 512 KB.
	MaxObject int64

	// Withheld has the owners, as returned by [Meta.Owner], whose objects [Map] leaves out. Unless it is nil, Map also
	// leaves out unreadable documents and files.
	Withheld map[string]bool

	// Omit, if not nil, reports whether [Map] leaves out an object. Calls may run concurrently.
	Omit func(*Meta) bool

	// Ordered reports whether opm itself wrote the objects, so that the keys within values of properties are in their
	// final order; see [Property].
	Ordered bool
}

type file struct {
	label string // for positions
	name  string // in fsys
	fsys  fs.FS
	named bool // the user named the file itself, so that .indexignore does not apply

	record    *Record // as the source
	maxObject int64   // as the source
	ordered   bool    // as the source
	withheld  map[string]bool
	omit      func(*Meta) bool
	note      func(*Error)
	read      func(int64)
}

// files lists the files of s in the lexical order of the walk. It reports and skips paths that cannot be read, and
// calls note for paths that upstream does not walk.
func (s Source) files(report func(error), note func(*Error)) []*file {
	if s.File != "" {
		f := s.file(s.Name, s.File)
		f.named = true
		return []*file{f}
	}
	w := walker{src: s, report: report, note: note}
	w.dir(".", nil)
	return w.result()
}

// Files returns the names in FS of the files that [Map] reads, in the same order. The error joins the errors of all
// paths that cannot be read.
func (s Source) Files() ([]string, error) {
	var errs []error
	report := func(err error) { errs = append(errs, err) }
	var names []string
	for _, f := range s.files(report, func(*Error) {}) {
		names = append(names, f.name)
	}
	return names, errors.Join(errs...)
}

// Bundle returns the Meta of b without reading it: text is the encoding of b by [Format.Append], and all content of the
// file of s.
func (s Source) Bundle(b *Bundle, text []byte) *Meta {
	f, start := s.file(s.Name, s.File), document.Place{Line: 1, Column: 1}
	return &Meta{
		Schema: b.Schema, Package: b.Package, Name: b.Name, Pos: f.pos(start),
		src: source{file: f, size: len(text), start: start, sum: maphash.Bytes(seed, text)},
	}
}

func (s Source) file(label, name string) *file {
	return &file{
		label: label, name: name, fsys: s.FS, record: s.Record, maxObject: s.MaxObject, ordered: s.Ordered, note: s.Note,
		read: s.Read, withheld: s.Withheld, omit: s.Omit,
	}
}

// isWithheld reports whether [Map] leaves out an object, or the error of reading it. The error about a file that
// changes while it is read is never left out.
func isWithheld(withheld map[string]bool, o *Object, err error) bool {
	switch {
	case withheld == nil:
		return false
	case err != nil:
		return !errors.Is(err, ErrChanged)
	}
	return withheld[o.Owner()]
}

// label returns the name of a file in positions.
func (s Source) label(name string) string {
	if name == "." {
		return s.Name
	}
	return strings.TrimSuffix(s.Name, "/") + "/" + name
}

// Ignored returns a function that reports whether the current .indexignore files of s exclude a file, by its name in
// FS. The file need not exist.
func (s Source) Ignored() func(name string) bool {
	w := walker{src: s, report: func(error) {}}
	w.dir(".", nil)
	return w.ignore.Ignored
}

// A walker collects the files of a source. Unlike upstream it follows links to directories inside the root, so that a
// mounted ConfigMap is a catalog; each file counts once, however many paths lead to it.
type walker struct {
	src    Source
	report func(error)
	note   func(*Error)
	found  []foundFile
	ignore indexignore.Matcher
	broken []brokenPath
	linked []string // links to directories, once for each time they were followed
	within int      // number of links to directories on the path to the current directory
}

// maxDirLinks is the maximum number of times that links to directories are followed. A few links to each other can make
// more paths than could ever be walked.
const maxDirLinks = 10_000

type foundFile struct {
	name   string
	real   string // the path without links, the same for all names of a file
	linked bool   // a link to a directory is on the path
}

// A brokenPath is a path that cannot be read. That is an error unless the path is ignored, which is known after the
// whole walk.
type brokenPath struct {
	name string
	err  error
}

// dir walks a directory; trail holds the real paths of the directories above it.
func (w *walker) dir(name string, trail []string) {
	resolved, err := w.resolve(name, trail)
	if err != nil {
		w.fail(name, err)
		return
	}
	if slices.Contains(trail, resolved) {
		w.fail(name, errors.New("symbolic link to a directory that holds it"))
		return
	}
	trail = append(trail, resolved)
	entries, err := fs.ReadDir(w.src.FS, name)
	if err != nil {
		w.fail(name, regular.WithoutPath(err))
	}
	for _, e := range entries {
		if atomicfile.IsTemp(e.Name()) { // a process is writing it, or did not finish
			continue
		}
		if e.Name() == ignoreFile {
			w.readIgnore(name, path.Join(name, ignoreFile))
			continue
		}
		w.entry(path.Join(name, e.Name()), e, trail)
	}
}

func (w *walker) fail(name string, err error) { w.broken = append(w.broken, brokenPath{name, err}) }

func (w *walker) entry(name string, e fs.DirEntry, trail []string) {
	mode := e.Type()
	isLink := mode&fs.ModeSymlink != 0
	if isLink {
		info, err := fs.Stat(w.src.FS, name)
		if err != nil {
			w.fail(name, linkError(err))
			return
		}
		mode = info.Mode().Type()
	}
	switch {
	case mode.IsDir() && isLink && len(w.linked) == maxDirLinks:
		w.fail(name, errors.New("too many symbolic links to directories"))
	case mode.IsDir() && isLink:
		w.linked = append(w.linked, name)
		w.within++
		w.dir(name, trail)
		w.within--
	case mode.IsDir():
		w.dir(name, trail)
	case mode.IsRegular():
		resolved, err := w.resolve(name, trail)
		if err != nil && !errors.Is(err, errOutside) {
			w.fail(name, err)
			return
		}
		w.found = append(w.found, foundFile{name, resolved, w.within > 0})
	default:
		w.fail(name, regular.Check(mode))
	}
}

func (w *walker) readIgnore(dir, name string) {
	info, err := fs.Stat(w.src.FS, name)
	if err == nil {
		w.src.Record.Add(w.src.label(name), w.src.FS, name, info)
	}
	content, err := regular.ReadFile(w.src.FS, name, indexignore.MaxSize)
	if err != nil {
		w.report(&Error{Pos: Pos{File: w.src.label(name)}, Err: regular.WithoutPath(err)})
		return
	}
	w.ignore.Add(dir, content)
}

// result returns the files that are not ignored, each once, with the name that is nearest to the root.
func (w *walker) result() []*file {
	for _, b := range w.broken {
		if !w.ignore.Ignored(b.name) {
			w.report(&Error{Pos: Pos{File: w.src.label(b.name)}, Err: b.err})
		}
	}
	kept := slices.DeleteFunc(w.found, func(f foundFile) bool { return w.ignore.Ignored(f.name) })
	w.noteDifferences(kept)
	nearest := make(map[string]string, len(kept))
	for _, f := range kept {
		if n, ok := nearest[f.real]; !ok || strings.Count(f.name, "/") < strings.Count(n, "/") {
			nearest[f.real] = f.name
		}
	}
	var files []*file
	for _, f := range kept {
		if nearest[f.real] == f.name {
			files = append(files, w.src.file(w.src.label(f.name), f.name))
		}
	}
	return files
}

var errLinkedDir = errors.New("symbolic link to a directory, which upstream refuses")

// noteDifferences calls note for the paths that upstream refuses or reads twice.
func (w *walker) noteDifferences(kept []foundFile) {
	broken := make(map[string]bool, len(w.broken)) // already reported as errors
	for _, b := range w.broken {
		broken[b.name] = true
	}
	for _, name := range w.linked {
		if !broken[name] && !w.ignore.Ignored(name) {
			w.note(&Error{Pos: Pos{File: w.src.label(name)}, Err: errLinkedDir})
		}
	}
	first := make(map[string]string, len(kept))
	for _, f := range kept {
		if f.linked { // upstream does not reach it
			continue
		}
		if name, ok := first[f.real]; ok {
			err := fmt.Errorf("the same file as %s, so that upstream reads it twice", w.src.label(name))
			w.note(&Error{Pos: Pos{File: w.src.label(f.name)}, Err: err})
		} else {
			first[f.real] = f.name
		}
	}
}

var errOutside = errors.New("symbolic link to a directory outside the catalog")

// maxLinks is the maximum number of links on a path, as on Linux.
const maxLinks = 40

// resolve returns name without links; trail is the trail of the walk, whose directories are not resolved again. For a
// path that leaves the root the error is errOutside, and the result is the path outside.
func (w *walker) resolve(name string, trail []string) (string, error) {
	var links int
	resolved, rest := ".", []string{path.Base(name)}
	if len(trail) > 0 {
		resolved = trail[len(trail)-1]
	}
	for len(rest) > 0 {
		next := path.Join(resolved, rest[0])
		rest = rest[1:]
		if next == ".." || strings.HasPrefix(next, "../") || path.IsAbs(next) {
			return path.Join(append([]string{next}, rest...)...), errOutside
		}
		target, err := fs.ReadLink(w.src.FS, next)
		if err != nil { // not a link, or a file system without links
			resolved = next
			continue
		}
		if links++; links > maxLinks {
			return "", syscall.ELOOP
		}
		if path.IsAbs(target) {
			return path.Join(append([]string{target}, rest...)...), errOutside
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return resolved, nil
}

func linkError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("symbolic link to a file that does not exist")
	case errors.Is(err, syscall.ELOOP):
		return errors.New("symbolic link that leads back to itself")
	}
	return regular.WithoutPath(err)
}

// open opens the file for reading at any offset, and returns its current info.
func (f *file) open() (openFile, fs.FileInfo, error) {
	h, info, err := regular.Open(f.fsys, f.name)
	if err != nil {
		return nil, nil, &Error{Pos: Pos{File: f.label}, Err: regular.WithoutPath(err)}
	}
	if r, ok := h.(openFile); ok {
		return r, info, nil
	}
	h.Close()
	return nil, nil, &Error{Pos: Pos{File: f.label}, Err: errors.New("the file system cannot read at an offset")}
}

type openFile interface {
	fs.File
	io.ReaderAt
}
