// Package place has positions in files, errors with positions, and the wording of errors about values.
//
//	err := &place.Error{Pos: place.Pos{File: "c.yaml", Line: 6, Column: 9}, Pointer: "/entries/2/name", Err: errEmpty}
//	fmt.Println(err) // c.yaml:6:9: entries[2].name: empty
package place

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Pos is a position in a file.
type Pos struct {
	File   string `json:"file"`            // as the user named it; for a catalog, followed by the path in it, with slashes
	Line   int    `json:"line,omitzero"`   // from 1; 0 if only the file is known
	Column int    `json:"column,omitzero"` // from 1, in characters; 0 if only the line is known
}

// String returns file:line:column, without the unknown parts.
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

// Compare orders positions by file, line and column.
func (p Pos) Compare(q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// An Error is one problem in a file, with its position. It prints as file:line:column: problem or, for a value in an
// object, as file:line:column: entries[2].name: problem.
type Error struct {
	Pos     Pos
	Pointer jsontext.Pointer // to the value in its object, "" for the whole object
	Err     error

	// Lost holds the names of packages in the unreadable text, which may miss objects because of the error. Nil means that
	// the names are unknown, so that any package may miss objects.
	Lost []string
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Message() }

// Message returns the problem, without the position in the file.
func (e *Error) Message() string {
	if e.Pointer == "" {
		return e.Err.Error()
	}
	return Path(e.Pointer) + ": " + e.Err.Error()
}

// Unwrap returns the problem, without the position and the pointer.
func (e *Error) Unwrap() error { return e.Err }

// CompareErrors orders errors by position; errors without a position come first.
func CompareErrors(a, b error) int { return posOf(a).Compare(posOf(b)) }

// JoinErrors joins errors, which it sorts by position. It returns nil if there are none.
func JoinErrors(errs []error) error {
	slices.SortStableFunc(errs, CompareErrors)
	return errors.Join(errs...)
}

func posOf(err error) Pos {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Pos
	}
	return Pos{}
}

// Item returns the JSON pointer to the item i of a list, from 0.
func Item(list jsontext.Pointer, i int) jsontext.Pointer {
	return list + "/" + jsontext.Pointer(strconv.Itoa(i)) // one allocation, and digits need no escape
}

// Path returns a JSON pointer in the notation of messages: entries[2].name.
func Path(ptr jsontext.Pointer) string {
	var b strings.Builder
	for token := range ptr.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "": // an index
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
