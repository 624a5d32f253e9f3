package declcfg

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"path"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/regular"
)

// A chunk is a run of whole documents of one file.
type chunk struct {
	*document.Chunk
	file *file
	err  error // the file cannot be opened; there is no Chunk
	note *note // of the walk; the chunk has no other content
}

// A note is a difference to upstream: input that upstream rejects, and that is read here.
type note struct {
	to  func(*Error) // see [Source].Note; may be nil
	err *Error
}

// withheld returns the withheld owners of the source. It is nil for an error of the walk.
func (c *chunk) withheld() map[string]bool {
	if c.file == nil {
		return nil
	}
	return c.file.withheld
}

// chunks yields the documents of f in order, several in each chunk.
func (f *file) chunks() iter.Seq[*chunk] {
	return func(yield func(*chunk) bool) {
		h, info, err := f.open()
		if err != nil {
			yield(&chunk{file: f, err: err})
			return
		}
		defer h.Close()
		f.record.Add(f.label, f.fsys, f.name, info)
		for c := range document.Split(h, info.Size(), f.maxObject) {
			if f.read != nil {
				f.read(c.Size())
			}
			if !yield(&chunk{Chunk: c, file: f}) {
				return
			}
		}
		if now, err := h.Stat(); err != nil || !stampOf(now).equal(stampOf(info)) {
			yield(&chunk{file: f, err: &Error{Pos: Pos{File: f.label}, Err: ErrChanged}})
		}
	}
}

// read calls visit with every object of c, or with the error of reading it. Text and JSON of an object are valid until
// visit returns. An error of read itself means that the rest of the file cannot be read.
func (c *chunk) read(visit func(*Object, error)) error {
	if c.Chunk == nil {
		return c.err
	}
	var o Object
	parse := func(d *jsontext.Decoder, text []byte) error { return o.scanned.read(reader{d, text}) }
	err := c.Read(parse, func(doc *document.Document, err error) {
		if doc == nil {
			visit(nil, c.file.unreadable(err))
			return
		}
		last := o.Meta
		o.Meta = o.scanned.meta(c.file.pos(doc.Place))
		if last != nil && last.Package == o.Package {
			o.Package = last.Package // one copy for all objects of a package
		}
		o.src = source{
			file: c.file, off: doc.Offset, size: len(doc.Text), start: doc.Start, sum: maphash.Bytes(seed, doc.Text),
			yaml: doc.YAML, repaired: doc.Repaired,
		}
		o.doc, o.ready = *doc, err == nil
		if bad, ok := errors.AsType[*headError](err); ok {
			visit(nil, c.file.errorAt(o.Place(bad.ptr), doc.Text, err))
			return
		}
		visit(&o, nil)
	})
	if err != nil {
		return c.file.unreadable(err)
	}
	return nil
}

func (s *scannedObject) meta(pos Pos) *Meta {
	return &Meta{Schema: s.schema, Package: s.pkg, Name: s.name, Pos: pos}
}

func (f *file) pos(p document.Place) Pos { return p.Pos(f.label) }

// unreadable returns the error about a document that cannot be read.
func (f *file) unreadable(err error) error {
	if e, ok := errors.AsType[*document.Error](err); ok {
		return f.errorAt(f.pos(e.Place), e.Text, e.Err)
	}
	return &Error{Pos: Pos{File: f.label}, Err: regular.WithoutPath(err)}
}

// configFile is the configuration file of opm validate, which users put into the catalog by mistake.
const configFile = "opm.yaml"

// mentions finds the names of packages in text that cannot be parsed.
var mentions = regexp.MustCompile(`(?m)["']?\b(?:package|name|packageName)["']?[ \t]*:[ \t]*["']?([^"'\s,}{\]\[]+)`)

// maxMentions is the maximum size of text that is searched for names. The search takes far longer than reading.
const maxMentions = 8 << 20

// errorAt returns the error about text that cannot be read, with the names of packages in it, and with a hint if the
// file does not look like a catalog file. If text is nil or too large to be searched, the names are nil: any package
// may be incomplete.
func (f *file) errorAt(pos Pos, text []byte, err error) *Error {
	switch base := path.Base(pos.File); {
	case f.named:
	case base == configFile:
		err = fmt.Errorf("%w (the configuration of opm belongs beside the directory of the catalog; or add it to %s)",
			err, ignoreFile)
	case !slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(base)):
		err = fmt.Errorf("%w (if this is not a catalog file, add it to %s)", err, ignoreFile)
	}
	if text == nil || len(text) > maxMentions {
		return &Error{Pos: pos, Err: err}
	}
	names := []string{}
	for _, match := range mentions.FindAllSubmatch(text, -1) {
		names = append(names, string(match[1]))
	}
	return &Error{Pos: pos, Err: err, Lost: names}
}

// An Object is one object of a catalog with its text in memory. The one that [Map] passes to its callback is valid
// until the callback returns, like everything that shares its memory: its JSON, and the values of properties of a
// decoded bundle. Only its Meta may be kept.
type Object struct {
	*Meta

	doc document.Document // without text if the object is in no file

	scanned scannedObject // the JSON
	ready   bool          // whether scanned is complete, and not yet returned by Decode
}

// NewObject returns the object raw, which must be a JSON object with a non-empty string at the key schema. It shares
// the memory of raw. Its Meta cannot be read again. Errors are at pos.
func NewObject(pos Pos, raw jsontext.Value) (*Object, error) {
	o := &Object{doc: document.Document{JSON: raw}, ready: true}
	r := newReader(raw)
	err := o.scanned.read(r)
	if err == nil && r.SkipValue() != io.EOF {
		err = errors.New("want one object, found more after it")
	}
	if err != nil {
		return nil, &Error{Pos: pos, Err: err}
	}
	o.Meta = o.scanned.meta(pos)
	return o, nil
}

// JSON returns the object as JSON, valid and without equal keys, in the order and spelling of its author. The caller
// must not change it.
func (o *Object) JSON() jsontext.Value { return o.doc.JSON }

// Document returns the text of the object, with its position in its file.
func (o *Object) Document() *document.Document { return &o.doc }

// Place is [Meta.Place] without reading the object again.
func (o *Object) Place(ptr jsontext.Pointer) Pos { return o.Places([]jsontext.Pointer{ptr})[0] }

// Places is [Meta.Places] without reading the object again.
func (o *Object) Places(ptrs []jsontext.Pointer) []Pos { return o.placesIn(&o.doc, ptrs) }
