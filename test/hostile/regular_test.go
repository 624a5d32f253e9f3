//go:build unix

package hostile

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/test/program"
)

// specials put something at path that is not a regular file.
var specials = map[string]func(path string) error{
	"pipe":      func(path string) error { return syscall.Mkfifo(path, 0o666) },
	"socket":    makeSocket,
	"endless":   func(path string) error { return os.Symlink("/dev/zero", path) },
	"null":      func(path string) error { return os.Symlink(os.DevNull, path) },
	"directory": func(path string) error { return os.Mkdir(path, 0o777) },
	"device":    func(path string) error { return syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|5) }, // as /dev/zero
}

// makeSocket makes a socket where no server listens any more.
func makeSocket(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	// The name of a socket has about 100 bytes, fewer than the directory of a test.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// TestSpecialFiles puts a special file in place of each file that opm looks for in a catalog or a bundle.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	const (
		catalogCommands = "validate catalog|render catalog|list bundles catalog|graph catalog kiln|migrate catalog migrated|" +
			"serve catalog --cache-dir cache --cache-only"
		generate       = "bundle generate -d bundle/manifests -p kiln -c candidate -e stable -u out"
		build          = "bundle build -d bundle/manifests -p kiln -c candidate -e stable -t oci:layout -b "
		bundleCommands = "bundle validate bundle|" + generate + "|" + build + "none|" +
			"bundle extract -m bundle -c kiln --dry-run|render bundle"
	)
	for place, commands := range map[string]string{
		"catalog/.indexignore":                             catalogCommands,
		"catalog/kiln/package.yaml":                        catalogCommands,
		"bundle/manifests/firings.crd.yaml":                bundleCommands,
		"bundle/manifests/kiln.clusterserviceversion.yaml": bundleCommands,
		"bundle/manifests/Chart.yaml":                      bundleCommands,
		"bundle/metadata/annotations.yaml":                 bundleCommands,
		"bundle/metadata/dependencies.yaml":                bundleCommands,
		"bundle/metadata/properties.yaml":                  bundleCommands,
		"bundle/kiln.package.yaml":                         "bundle generate -d bundle/manifests",
		"bundle.Dockerfile":                                generate + "|" + build + "podman",
		"catalog.Dockerfile":                               "generate dockerfile catalog",
		"layout/index.json":                                "render oci:layout|bundle unpack oci:layout -o out",
	} {
		for _, kind := range slices.Sorted(maps.Keys(specials)) {
			t.Run(place+"/"+kind, func(t *testing.T) {
				t.Parallel()
				testSpecial(t, place, kind, strings.Split(commands, "|"))
			})
		}
	}
}

func testSpecial(t *testing.T, place, kind string, commands []string) {
	for _, command := range commands {
		dir := t.TempDir()
		if err := errors.Join(os.CopyFS(dir, os.DirFS("../../examples")), os.Mkdir(filepath.Join(dir, "layout"), 0o777),
			os.WriteFile(filepath.Join(dir, "layout/oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o666)); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, place)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := specials[kind](path); errors.Is(err, os.ErrPermission) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		r := program.Call{Args: strings.Fields(command), Dir: dir, Limit: 15 * time.Second}.Bounded(t, 200<<20)
		if r.Code != 0 && r.Code != 1 || r.Code == 1 && r.Stdout != "" {
			t.Errorf("opm %s: exit status %d, stdout %.100q, stderr %.1000s", command, r.Code, r.Stdout, r.Stderr)
		}
	}
}
