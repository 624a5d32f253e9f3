package regular

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
)

// Descriptor returns the descriptor of this process that a path stands for, such as /dev/stdout, /dev/fd/3 or a link to
// one. The descriptor may be closed.
func Descriptor(path string) (fd int, ok bool) {
	for range maxLinks {
		dir, name := filepath.Split(path)
		if n, err := strconv.ParseUint(name, 10, 31); err == nil && isDescriptors(dir) {
			return int(n), true
		}
		link, err := os.Readlink(path)
		if err != nil {
			return 0, false
		}
		if path = link; !filepath.IsAbs(path) {
			path = dir + path // not cleaned: dir may end with a link, and path begin with ".."
		}
	}
	return 0, false
}

// isDescriptors reports whether a directory has the descriptors of this process.
func isDescriptors(dir string) bool {
	dir, err := filepath.EvalSymlinks(cmp.Or(dir, "."))
	if err != nil {
		return false
	}
	for _, own := range []string{"/proc/self/fd", "/dev/fd"} {
		if own, err := filepath.EvalSymlinks(own); err == nil && own == dir {
			return true
		}
	}
	return false
}
