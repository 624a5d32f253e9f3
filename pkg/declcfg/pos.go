package declcfg

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/place"
)

// A Pos is a position in a catalog file.
type Pos = place.Pos

// An Error is one problem in a catalog file, with its position.
type Error = place.Error

// CompareErrors orders errors by position; errors without a position come first.
func CompareErrors(a, b error) int { return place.CompareErrors(a, b) }

// Path returns a JSON pointer in the notation of messages: entries[2].name.
func Path(ptr jsontext.Pointer) string { return place.Path(ptr) }

// TypeError returns the pointer and the reason of an error of package json; see [place.TypeError].
func TypeError(err error) (jsontext.Pointer, error) { return place.TypeError(err) }
