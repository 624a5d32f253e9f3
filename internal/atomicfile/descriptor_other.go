//go:build !unix

package atomicfile

import (
	"errors"
	"os"
)

func duplicate(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
