//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

// chownLike gives a file the owner and the group of another file, if the process may.
func chownLike(f *os.File, other fs.FileInfo) {
	if s, ok := other.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(-1, int(s.Gid)) // the user may not be in the group
		_ = f.Chown(int(s.Uid), -1) // only root may give files away
	}
}

// isOwnedBy reports whether the owner of a file is the user of the process, the owner of a directory, or root.
func isOwnedBy(file, dir fs.FileInfo) bool {
	f, isFile := file.Sys().(*syscall.Stat_t)
	d, isDir := dir.Sys().(*syscall.Stat_t)
	return isFile && isDir && (f.Uid == 0 || f.Uid == d.Uid || f.Uid == uint32(os.Geteuid()))
}
