package legible

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Writer escapes text as [Name] does, but keeps tabs and line breaks as layout: a line break in a value must be
// escaped before the value becomes part of the text. It also breaks up the commands that continuous integration
// services read from logs: "::" at the start of a line, and "##" followed by "[" directly or after a word. It is safe
// for concurrent use.
type Writer struct {
	w io.Writer

	mu      sync.Mutex
	rest    []byte // start of an incomplete character from the last write
	inLine  bool   // the line has a character that is not white space
	command commandStart
	escaped []byte
}

// A commandStart is the part of "##word[" that was written so far.
type commandStart int

const (
	noCommand commandStart = 0
	twoHashes commandStart = 2 // maybe followed by a word
)

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Unwrap returns the writer below w and below the writers that it wraps, which are those with a method Unwrap.
func Unwrap(w io.Writer) io.Writer {
	for {
		wrapper, ok := w.(interface{ Unwrap() io.Writer })
		if !ok {
			return w
		}
		w = wrapper.Unwrap()
	}
}

// Unwrap returns the underlying writer.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write writes text with one call of the underlying writer.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(text)
	text = append(w.rest, text...)
	w.escaped = w.escaped[:0]
	for utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		w.append(r, text[:size], text[size:])
		text = text[size:]
	}
	w.rest = bytes.Clone(text)
	if _, err := w.w.Write(w.escaped); err != nil {
		return 0, err
	}
	return n, nil
}

// append appends a character, given the bytes after it.
func (w *Writer) append(r rune, char, next []byte) {
	switch {
	case r == '\n' || r == '\t':
		w.escaped = append(w.escaped, char...)
	case r == ':' && !w.inLine && (len(next) == 0 || next[0] == ':'), r == '[' && w.command == twoHashes:
		w.escaped = fmt.Appendf(w.escaped, `\x%02x`, r)
	case isEscaped(r), r == utf8.RuneError && len(char) == 1:
		w.escaped = append(w.escaped, Name(string(char))...)
	default:
		w.escaped = append(w.escaped, char...)
	}
	w.inLine = r != '\n' && (w.inLine || !unicode.IsSpace(r))
	switch {
	case r == '#':
		w.command = min(w.command+1, twoHashes)
	case w.command != twoHashes || !unicode.IsLetter(r):
		w.command = noCommand
	}
}
