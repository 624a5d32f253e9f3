package serve

import (
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// stampOf returns a value that changes when what is below the paths does, as far as names, sizes and times of files and
// the targets of links tell. It follows links to files, so that what a mounted ConfigMap swaps counts. What cannot be
// read is a state like any other.
func stampOf(paths []string) uint64 {
	sum := fnv.New64a()
	for _, path := range paths {
		root := path
		if target, err := filepath.EvalSymlinks(path); err == nil {
			root = target
		}
		fmt.Fprintf(sum, "root %q %q\n", path, root)
		//nolint:errcheck // every error is part of the stamp
		filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			stamp(sum, name, e, err)
			return nil
		})
	}
	return sum.Sum64()
}

func stamp(w io.Writer, name string, e fs.DirEntry, err error) {
	if err != nil {
		fmt.Fprintf(w, "%q %v\n", name, err)
		return
	}
	stampFile(w, name, e.Info)
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		fmt.Fprintf(w, "-> %q %v\n", target, err)
		stampFile(w, name, func() (fs.FileInfo, error) { return os.Stat(name) })
	}
}

func stampFile(w io.Writer, name string, stat func() (fs.FileInfo, error)) {
	info, err := stat()
	if err != nil {
		fmt.Fprintf(w, "%q %v\n", name, err)
		return
	}
	fmt.Fprintf(w, "%q %v %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
}
