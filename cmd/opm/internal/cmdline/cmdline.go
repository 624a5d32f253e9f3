// Package cmdline adds to cobra and pflag: errors about command lines, the arguments that a usage line names, values of
// flags, flags that exclude each other, modes, and former spellings.
package cmdline

import "fmt"

// An Error is an invalid command line. It is printed with the usage of the command.
type Error struct{ Err error }

func (e Error) Error() string { return e.Err.Error() }

func (e Error) Unwrap() error { return e.Err }

// Invalid returns an Error.
func Invalid(err error) error { return Error{err} }

// Errorf returns an Error with the text of [fmt.Errorf].
func Errorf(format string, args ...any) error { return Error{fmt.Errorf(format, args...)} }

// Must panics if err is not nil. It is for errors that only a bug can cause, such as an unknown flag name.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
