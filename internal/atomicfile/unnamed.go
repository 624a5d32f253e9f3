package atomicfile

import (
	"errors"
	"os"
)

// An Unnamed is a temporary file that is gone once it is closed or its process has ended, however that ends.
type Unnamed struct {
	*os.File
	leave string // its name, on systems where an open file keeps that
}

// NewUnnamed creates a file in dir, or in [os.TempDir] if that is empty.
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
