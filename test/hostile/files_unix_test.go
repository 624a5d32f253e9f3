//go:build unix

package hostile

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

// What is not a regular file, in place of each file of a catalog, is an error at once.
func TestSpecialFiles(t *testing.T) {
	kinds := map[string]func(string) error{
		"a named pipe": func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"a device":     func(name string) error { return os.Symlink("/dev/zero", name) },
		"a directory":  func(name string) error { return os.Mkdir(name, 0o777) },
		"a socket": func(name string) error {
			l, err := net.Listen("unix", name)
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		},
	}
	for kind, special := range kinds {
		for _, name := range []string{".indexignore", "catalog.yaml"} {
			if kind == "a directory" && name == "catalog.yaml" {
				continue // which holds the rest of the catalog
			}
			t.Run(kind+" as "+name, func(t *testing.T) {
				dir := t.TempDir()
				t.Chdir(dir) // a socket has a short name
				if err := errors.Join(os.Mkdir("c", 0o777), special(filepath.Join("c", name))); err != nil {
					t.Fatal(err)
				}
				want := "c/" + name + ": error: want a file, found " + kind
				for _, args := range [][]string{
					{"validate", "c"}, {"render", "c"}, {"list", "packages", "c"}, {"migrate", "c", "new"},
					{"serve", "c", "--cache-only", "--cache-dir", "cache"},
				} {
					if args[0] == "serve" {
						want = kind
					}
					fails(t, want, program.Call{Args: args})
				}
			})
		}
	}
}
