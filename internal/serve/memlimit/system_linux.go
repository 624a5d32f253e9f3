package memlimit

import (
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// systemLimit returns the lowest limit of the program's control group and its parents, of either version, or the
// largest number if there is no limit.
func systemLimit() int64 {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return math.MaxInt64
	}
	return groupLimit(os.DirFS("/sys/fs/cgroup"), string(groups))
}

// groupLimit is systemLimit for a file system of control groups and the list of the program's groups. A container
// may see its own group as the root, whatever the list says.
func groupLimit(fsys fs.FS, groups string) int64 {
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		root, file := ".", "memory.max"
		switch {
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			root, file = "memory", "memory.limit_in_bytes"
		case fields[1] != "":
			continue
		}
		dir := path.Join("/", fields[2])
		for ; dir != "/"; dir = path.Dir(dir) {
			limit = min(limit, readLimit(fsys, path.Join(root, dir, file)))
		}
		limit = min(limit, readLimit(fsys, path.Join(root, file)))
	}
	return limit
}

// unlimited is a lower bound of the value of version 1 for no limit, the largest number of whole pages.
const unlimited = 1 << 62

// readLimit returns the limit in a file, or the largest number if there is none.
func readLimit(fsys fs.FS, name string) int64 {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return math.MaxInt64
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || limit <= 0 || limit >= unlimited { // "max" of version 2
		return math.MaxInt64
	}
	return limit
}
