package nearest

import (
	"errors"
	"fmt"
)

// ErrNotFound is matched by the errors of [NotFound].
var ErrNotFound = errors.New("not found")

// NotFound returns an error about a missing object, such as: no package "ectd" (did you mean "etcd"?).
func NotFound(what, name string, known []string) error {
	return notFoundError(fmt.Sprintf("%s %q%s", what, name, Hint(name, known)))
}

type notFoundError string

func (e notFoundError) Error() string { return string(e) }

func (notFoundError) Is(target error) bool { return target == ErrNotFound }
