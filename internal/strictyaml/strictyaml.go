// Package strictyaml reads files that users write for opm, such as a configuration. Every unknown key, every value of a
// wrong type and every repeated key is an error with a position, and all of them are reported.
//
//	var config struct {
//		Name string `json:"name"`
//	}
//	file, err := strictyaml.Unmarshal("catalog.yaml", text, &config)
//	if config.Name == "" {
//		err = file.Errorf("/name", "a catalog needs a name") // catalog.yaml:1:7: name: a catalog needs a name
//	}
package strictyaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/place"
)

// A File is a file that was read, with the positions of its values.
type File struct {
	name    string
	doc     *document.Document
	further *document.Place // the place of content after the document, or nil
}

// options decode as upstream does: the case of keys does not matter.
var options = json.JoinOptions(
	document.Lenient, json.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true),
)

// Options accept further input. The zero value is the strictest.
type Options struct {
	// Warn is called for documents after the first one, which are ignored; nil makes them an error.
	Warn func(*place.Error)

	// Tolerant also warns of unknown keys, which are ignored, and of repeated keys, of which the last counts.
	Tolerant bool
}

// Unmarshal reads the only document of a YAML or JSON file into v, a pointer to a struct with json tags. The error
// joins a [*place.Error] for each of the first [MaxProblems] problems, sorted by position, and has the number of the
// others; v has all valid values. The File is nil if the text cannot be parsed.
func Unmarshal(name string, text []byte, v any) (*File, error) {
	f, err := Read(name, text)
	if err != nil {
		return nil, err
	}
	return f, f.Decode(v, Options{})
}

// Read reads the first document of a YAML or JSON file.
func Read(name string, text []byte) (*File, error) {
	doc, further, err := document.First(withoutPrologue(text), nil)
	if err != nil {
		failure, _ := errors.AsType[*document.Error](err) // nothing else is returned
		return nil, failure.In(name)
	}
	return &File{name, doc, further}, nil
}

// Each calls fn for every document of a YAML or JSON file, with a File that is valid until fn returns. The error joins
// a [*place.Error] for each document that cannot be read.
func Each(name string, text []byte, fn func(*File)) error {
	var errs []error
	for doc, err := range document.All(bytes.NewReader(text), int64(len(text))) {
		if doc != nil {
			fn(&File{name, doc, nil})
		} else if failure, ok := errors.AsType[*document.Error](err); ok {
			errs = append(errs, failure.In(name))
		}
	}
	return errors.Join(errs...)
}

// ReadAll reads every document of a YAML or JSON file. It is an error if there is none.
func ReadAll(name string, text []byte) ([]*File, error) {
	first, err := Read(name, text)
	if err == nil && first.further == nil {
		return []*File{first}, nil
	}
	var all []*File
	failed := Each(name, text, func(f *File) { all = append(all, &File{f.name, f.doc.Clone(), nil}) })
	if failed == nil && len(all) > 0 {
		return all, nil
	}
	return nil, cmp.Or(err, failed)
}

// withoutPrologue returns a text of the same size without the prologue of the first document of a YAML file: blanks and
// comments before ---, directives, and the tag !!map of the document. Upstream reads templates as a whole, with a
// library that supports these, and catalogs document by document.
func withoutPrologue(text []byte) []byte {
	blank := bytes.Clone(text)
	for at := 0; at < len(text); {
		line, _, _ := bytes.Cut(text[at:], []byte("\n"))
		word := bytes.TrimSpace(line)
		switch {
		case len(word) == 0 || word[0] == '#':
		case line[0] == '%':
			blank[at] = '#'
		case bytes.HasPrefix(line, []byte("---")):
			copy(blank[at:], "   ")
			if tag := bytes.TrimSpace(line[3:]); bytes.Equal(tag, []byte("!!map")) {
				copy(blank[at+bytes.Index(line, tag):], "     ")
			}
			return blank
		default:
			return text
		}
		at += len(line) + 1
	}
	return text
}

// Name returns the name of the file.
func (f *File) Name() string { return f.name }

// JSON returns the document.
func (f *File) JSON() jsontext.Value { return f.doc.JSON }

// Decode reads the document into v; see [Unmarshal].
func (f *File) Decode(v any, o Options) error {
	var wrong, flaws Problems
	r := reader{file: f, wrong: &wrong, keys: &wrong}
	if o.Tolerant {
		r.keys = &flaws
	}
	r.value(f.doc.JSON, reflect.ValueOf(v).Elem(), "")
	for d := range f.doc.Duplicates() {
		r.keys.Add(func() *place.Error {
			err := fmt.Errorf("key %q is already defined at %s", d.Key, d.First.Pos(f.name))
			return &place.Error{Pos: d.Repeat.Pos(f.name), Err: err}
		})
	}
	if len(flaws.errs) > 0 {
		f.doc.JSON = format.AppendCompact(nil, f.doc.JSON) // without repeated keys
		reflect.ValueOf(v).Elem().SetZero()
		again := reader{file: f, wrong: new(Problems), keys: new(Problems)} // the problems are known
		again.value(f.doc.JSON, reflect.ValueOf(v).Elem(), "")
	}
	if f.further != nil {
		more := &wrong
		if o.Warn != nil {
			more = &flaws
		}
		more.Add(func() *place.Error { return &place.Error{Pos: f.further.Pos(f.name), Err: errFurther} })
	}
	for _, flaw := range flaws.Sorted() {
		if o.Warn != nil {
			o.Warn(flaw)
		}
	}
	return wrong.Err()
}

var errFurther = errors.New("only one document is read: remove this and what follows it")

// Pos returns the positions of the values at ptrs. For a missing value, it is the position of the nearest value around
// it.
func (f *File) Pos(ptrs ...jsontext.Pointer) []place.Pos {
	places := make([]place.Pos, len(ptrs))
	for i, v := range f.doc.Find(ptrs...) {
		places[i] = v.Place.Pos(f.name)
	}
	return places
}

// Errorf returns an error about the value at ptr, at its position by [File.Pos].
func (f *File) Errorf(ptr jsontext.Pointer, format string, args ...any) *place.Error {
	return &place.Error{Pos: f.Pos(ptr)[0], Pointer: ptr, Err: fmt.Errorf(format, args...)}
}

// KeyErrorf returns an error about the key at ptr, which the text names, at the position of the key.
func (f *File) KeyErrorf(ptr jsontext.Pointer, format string, args ...any) *place.Error {
	pos := f.doc.Find(ptr)[0].Key.Pos(f.name)
	return &place.Error{Pos: pos, Pointer: ptr.Parent(), Err: fmt.Errorf(format, args...)}
}
