//go:build !unix

package regular

import (
	"errors"
	"os"
)

func duplicate(int, string) (*os.File, error) { return nil, errors.ErrUnsupported }
