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
		_ = f.Chown(int(s.Uid), int(s.Gid)) // only root may give files away
	}
}
