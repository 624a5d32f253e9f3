package atomicfile

import (
	"errors"
	"os"
)

// An Unnamed is a temporary file that disappears when it is closed or its process ends, even if it is killed.
type Unnamed struct {
	*os.File
	leave string // its name, on systems that cannot remove an open file
}

// NewUnnamed creates a temporary file in dir, or in [os.TempDir] if dir is "".
func NewUnnamed(dir string) (*Unnamed, error) {
	f, unlock, err := Temp(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	u := &Unnamed{File: f}
	if os.Remove(f.Name()) != nil {
		u.leave = f.Name()
	}
	return u, nil
}

// Close closes the file, and removes its name if it has one.
func (u *Unnamed) Close() error {
	err := u.File.Close()
	if u.leave != "" {
		err = errors.Join(err, os.Remove(u.leave))
	}
	return err
}
