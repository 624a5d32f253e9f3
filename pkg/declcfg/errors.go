package declcfg

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
)

// A Pos is a position in a catalog file.
type Pos = place.Pos

// An Error is one problem in a catalog file, with its position.
type Error = place.Error

// CompareErrors orders errors by position; errors without a position come first.
func CompareErrors(a, b error) int { return place.CompareErrors(a, b) }

// JoinErrors joins errors, which it sorts by position. It returns nil if there are none.
func JoinErrors(errs []error) error {
	slices.SortStableFunc(errs, CompareErrors)
	return errors.Join(errs...)
}

// Path returns a JSON pointer in the notation of messages: entries[2].name.
func Path(ptr jsontext.Pointer) string { return place.Path(ptr) }

// TypeError returns the pointer and the reason of an error of package json; see [place.TypeError].
func TypeError(err error) (jsontext.Pointer, error) { return place.TypeError(err) }

// ErrNotFound is matched by errors about a package, channel or bundle that is not in a catalog.
var ErrNotFound = errors.New("not found")

// NotFound returns an error about a missing object, such as: no package "ectd" (did you mean "etcd"?). It matches
// [ErrNotFound].
func NotFound(what, name string, known []string) error {
	return notFoundError(fmt.Sprintf("%s %q%s", what, name, nearest.Hint(name, known)))
}

type notFoundError string

func (e notFoundError) Error() string { return string(e) }

func (notFoundError) Is(target error) bool { return target == ErrNotFound }
