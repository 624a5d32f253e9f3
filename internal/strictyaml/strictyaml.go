// Package strictyaml reads files that people write for opm, such as a configuration. Every unknown key, every value of
// a wrong type and every repeated key is an error at its place, and all of them are reported.
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
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A File is what was read, for the places in it.
type File struct {
	name string
	doc  *document.Document
}

// options are as upstream reads: the case of keys does not matter.
var options = json.JoinOptions(
	document.Lenient, json.MatchCaseInsensitiveNames(true), jsonv1.MatchCaseSensitiveDelimiter(true),
)

// Unmarshal reads the only document of a YAML or JSON file into v, a pointer to a struct with json tags. The error
// joins a [*declcfg.Error] for each thing that is wrong, by place; v has all the rest. The File is nil if the text
// cannot be read at all.
func Unmarshal(name string, text []byte, v any) (*File, error) {
	doc, further, err := document.First(text, nil)
	if err != nil {
		failure, _ := errors.AsType[*document.Error](err) // nothing else is returned
		return nil, &declcfg.Error{Pos: posOf(name, failure.Place), Err: failure.Err}
	}
	f := &File{name, doc}
	errs := f.repeated()
	if further != nil {
		err := errors.New("only one document is read: remove this and what follows it")
		errs = append(errs, &declcfg.Error{Pos: posOf(name, *further), Err: err})
	}
	r := reader{file: f}
	r.value(doc.JSON, reflect.ValueOf(v).Elem(), "")
	errs = append(errs, r.errors()...)
	slices.SortStableFunc(errs, declcfg.CompareErrors)
	return f, errors.Join(errs...)
}

// repeated returns an error for each key that its object has more than once.
func (f *File) repeated() (errs []error) {
	for _, d := range f.doc.Duplicates() {
		err := fmt.Errorf("key %q is already defined at %s", d.Key, posOf(f.name, d.First))
		errs = append(errs, &declcfg.Error{Pos: posOf(f.name, d.Repeat), Err: err})
	}
	return errs
}

// Pos returns where the values at ptrs start, or the nearest values around them.
func (f *File) Pos(ptrs ...jsontext.Pointer) []declcfg.Pos {
	places := make([]declcfg.Pos, len(ptrs))
	for i, v := range f.doc.Find(ptrs...) {
		places[i] = posOf(f.name, v.Place)
	}
	return places
}

// Errorf returns an error about the value at ptr, at its place or that of the nearest value around it.
func (f *File) Errorf(ptr jsontext.Pointer, format string, args ...any) *declcfg.Error {
	return &declcfg.Error{Pos: f.Pos(ptr)[0], Pointer: ptr, Err: fmt.Errorf(format, args...)}
}

func posOf(file string, p document.Place) declcfg.Pos {
	return declcfg.Pos{File: file, Line: p.Line, Column: p.Column}
}
