package declcfg

import (
	"errors"
	"fmt"

	"github.com/opm-toolchain/opm/internal/nearest"
)

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
