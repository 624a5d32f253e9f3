package bundle

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/opm-toolchain/opm/internal/regular"
)

// writeFile writes a new file, and makes the directories above it. It is executable if mode is.
func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666|mode&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// differs reports whether a file of that name holds something else than content.
func differs(root *os.Root, name string, content []byte) (bool, error) {
	old, err := regular.ReadFile(root.FS(), name, maxFileSize)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return !bytes.Equal(old, content), err
}
