// Package place has the places in files that errors name, and the words of errors about values.
//
//	err := &place.Error{Pos: place.Pos{File: "c.yaml", Line: 6, Column: 9}, Pointer: "/entries/2/name", Err: errEmpty}
//	fmt.Println(err) // c.yaml:6:9: entries[2].name: empty
package place

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Pos is a place in a file.
type Pos struct {
	File   string `json:"file"`            // as the user named it; in a catalog, then the path below it, slash separated
	Line   int    `json:"line,omitzero"`   // from 1; 0 where only the file is known
	Column int    `json:"column,omitzero"` // from 1, in characters; 0 where only the line is known
}

// String returns file:line:column, without what is not known.
func (p Pos) String() string {
	s := p.File
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// Compare orders places by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// An Error is one problem in a file, with its place. It prints as file:line:column: what, or,
// about a value in an object, as file:line:column: entries[2].name: what.
type Error struct {
	Pos     Pos
	Pointer jsontext.Pointer // to the value in its object, "" where it is about the whole
	Err     error

	// Lost holds what the unreadable part says for itself: names of packages that may miss objects because of the
	// error. Nil means that it is not known what the text says, so that anything may be missing.
	Lost []string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Message() }

// Message returns what is wrong, without the place in the file.
func (e *Error) Message() string {
	if e.Pointer == "" {
		return e.Err.Error()
	}
	return Path(e.Pointer) + ": " + e.Err.Error()
}

// Unwrap returns what is wrong, without the place.
func (e *Error) Unwrap() error { return e.Err }

// CompareErrors orders errors by place; those without one come first.
func CompareErrors(a, b error) int { return posOf(a).Compare(posOf(b)) }

func posOf(err error) Pos {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Pos
	}
	return Pos{}
}

// Path writes a JSON pointer the way people do: entries[2].name.
func Path(ptr jsontext.Pointer) string {
	var b strings.Builder
	for token := range ptr.Tokens() {
		switch {
		case isIndex(token):
			fmt.Fprintf(&b, "[%s]", token)
		case b.Len() > 0:
			b.WriteByte('.')
			fallthrough
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}

func isIndex(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
