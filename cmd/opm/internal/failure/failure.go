// Package failure is how a command fails: the errors that it prints, and the exit status.
package failure

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/opm-toolchain/opm/pkg/problem"
)

// An Error is the error of a command that has already printed the details.
type Error struct {
	Reason string // for the line that begins with "Error: "; "" for no such line
	After  string // whole lines that follow: counts, notes
}

func (f *Error) Error() string { return f.Reason }

// New returns the failure of a command whose output on standard output has the details.
func New(reason string) error { return &Error{Reason: reason} }

// With returns the failure with more lines after it.
func (f *Error) With(lines string) *Error { return &Error{f.Reason, f.After + lines} }

// WithNotes returns err with notes, whole lines that are printed after the reason, if err is an [Error]. Otherwise it
// writes the notes to w if err is nil, and drops them if not.
func WithNotes(w io.Writer, err error, notes string) error {
	if f, ok := errors.AsType[*Error](err); ok {
		return f.With(notes)
	}
	if err == nil {
		_, err = io.WriteString(w, notes)
	}
	return err
}

// A statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

func (e *statusError) Unwrap() error { return e.error }

// WithStatus returns err with the exit status of the program. It must be the outermost error.
func WithStatus(err error, status int) error { return &statusError{err, status} }

// Status returns the exit status for an error: 1 if [WithStatus] has not set it.
func Status(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return 1
}

// Flatten returns an error, or all errors that are joined in it.
func Flatten(err error) []error {
	if e, ok := err.(*statusError); ok { //nolint:errorlint // it is the outermost error
		err = e.error
	}
	return problem.Flatten(err)
}

// OfOutput returns the error of writing to standard output, without the text that writers in between added, or nil if
// err is another error.
func OfOutput(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok && e.Op == "write" && e.Path == os.Stdout.Name() {
		return e.Err
	}
	return nil
}
