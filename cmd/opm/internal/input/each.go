package input

import (
	"os"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Each returns the values of --each, with the catalogs in a directory instead of a directory with a slash at the end.
func Each(values []string) (args []string, err error) {
	for _, value := range values {
		if !EndsInSlash(value) {
			args = append(args, value)
			continue
		}
		entries, err := os.ReadDir(value)
		if err != nil {
			return nil, err
		}
		before := len(args)
		slices.SortFunc(entries, func(a, b os.DirEntry) int { return graph.CompareChannels(a.Name(), b.Name()) })
		for _, e := range entries {
			info, err := os.Stat(value + e.Name()) // follows links
			if err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				args = append(args, value+e.Name())
			}
		}
		if len(args) == before {
			return nil, cmdline.Errorf("--each %s: no directory in it", value)
		}
	}
	return args, nil
}

// WithSlash returns the name of a directory with a slash at the end.
func WithSlash(dir string) string { return strings.TrimSuffix(dir, "/") + "/" }

// EndsInSlash reports whether a path ends in a separator of paths.
func EndsInSlash(path string) bool { return path != "" && os.IsPathSeparator(path[len(path)-1]) }
