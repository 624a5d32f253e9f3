package declcfg

import (
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/place"
)

// A Pos is a position in a catalog file.
type Pos = place.Pos

// An Error is one problem in a catalog file, with its position.
type Error = place.Error

// ErrNotFound is matched by errors about a package, channel or bundle that is not in a catalog.
var ErrNotFound = nearest.ErrNotFound
