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
	"testing/fstest"
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

// makeSocket makes a stale socket, at which no server listens.
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

// TestSpecialFiles checks that opm rejects a special file in place of each file that it looks for in a catalog or a
// bundle, that another file names, or that a flag names.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	const (
		catalogCommands = "validate catalog|render catalog|list bundles catalog|graph catalog kiln|migrate catalog migrated|" +
			"serve catalog --cache-dir cache --cache-only"
		generate       = "bundle generate -d bundle/manifests -p kiln -c candidate -e stable -u out"
		composite      = "render-template composite -f contribution.yaml -c catalogs.yaml"
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

		"opm.yaml":      "validate catalog|resolve catalog --all|compose crafts.yaml --dry-run",
		"baseline.json": "validate catalog --config named.yaml|validate catalog --baseline baseline.json",
		"schema.cue":    "validate catalog --config named.yaml|validate catalog --schema schema.cue",
		"config.yaml":   "validate catalog --config config.yaml|filter catalog --config config.yaml|compose config.yaml",
		"template.yaml": "render-template basic template.yaml|render-template template.yaml|validate template.yaml|" +
			"deprecate template.yaml package --message old|" + composite,
		"contribution.yaml": composite,
		"catalogs.yaml":     composite,
		"targets.yaml":      "render-template semver template.yaml --targets targets.yaml --output-dir out",
		"refs":              "render --refs-file refs|mirrors refs",
		"lock.json":         "render bundle --lock lock.json",
		"mirrors.yaml":      "render registry.invalid/kiln:v1 --image-mirrors mirrors.yaml",
		"auth.json":         "render registry.invalid/kiln:v1 --authfile auth.json",
		"readme.md":         "init kiln -d readme.md",
		"icon.png":          "init kiln -i icon.png",
		"summary":           "publish catalog --skip push,check-images --dry-run --summary summary",
		"ended":             "serve nowhere --termination-log ended",
	} {
		for _, kind := range slices.Sorted(maps.Keys(specials)) {
			t.Run(place+"/"+kind, func(t *testing.T) {
				t.Parallel()
				testSpecial(t, place, kind, strings.Split(commands, "|"))
			})
		}
	}
}

// named are files that are added to the examples: some name others.
var named = fstest.MapFS{
	"layout/oci-layout": {Data: []byte(`{"imageLayoutVersion":"1.0.0"}`), Mode: 0o666},
	"named.yaml":        {Data: []byte("baseline: baseline.json\nschemas: [schema.cue]\n"), Mode: 0o666},
	"template.yaml":     {Data: []byte("schema: olm.template.basic\nentries: []\n"), Mode: 0o666},
	"contribution.yaml": {Mode: 0o666, Data: []byte(`
schema: olm.composite
components:
- name: only
  destination: {path: kiln}
  strategy: {name: basic, template: {schema: olm.builder.basic, config: {input: template.yaml, output: catalog.yaml}}}
`)},
	"catalogs.yaml": {Mode: 0o666, Data: []byte(`
schema: olm.composite.catalogs
catalogs:
- name: only
  destination: {workingDir: out}
  builders: [olm.builder.basic]
`)},
}

func testSpecial(t *testing.T, place, kind string, commands []string) {
	for _, command := range commands {
		dir := t.TempDir()
		if err := errors.Join(os.CopyFS(dir, os.DirFS("../../examples")), os.Mkdir(filepath.Join(dir, "layout"), 0o777),
			os.CopyFS(dir, named)); err != nil {
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
		r := program.Call{Args: strings.Fields(command), Dir: dir, Limit: 15 * time.Second}.Bounded(t, 280<<20)
		if r.Code != 0 && r.Code != 1 || r.Code == 1 && r.Stdout != "" {
			t.Errorf("opm %s: exit status %d, stdout %.100q, stderr %.1000s", command, r.Code, r.Stdout, r.Stderr)
		}
	}
}
