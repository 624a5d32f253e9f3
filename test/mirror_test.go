package test

import (
	"bufio"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/test/program"
)

// A target is a registry to mirror to.
type target struct {
	host    string
	flags   []string        // of opm
	options []remote.Option // of a client of another project
}

// distribution3 starts a registry of this module's version of distribution, with TLS and a password.
func distribution3(t *testing.T) target {
	d := newDistribution(t, "htpasswd")
	return target{d.host, d.flags(t, testPassword), d.options()}
}

// debianRegistry starts the docker-registry of Debian, which is distribution 2, without TLS.
func debianRegistry(t *testing.T) target {
	path, err := exec.LookPath("docker-registry")
	if err != nil {
		shared.Missing(t, "docker-registry of Debian")
	}
	dir := t.TempDir()
	cmd := exec.Command(path, "serve", write(t, filepath.Join(dir, "config.yml"), fmt.Sprintf(`version: 0.1
storage: {filesystem: {rootdirectory: %s}, delete: {enabled: true}}
http: {addr: "127.0.0.1:0"}
`, dir)))
	program.EndWithTest(cmd)
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		if _, addr, ok := strings.Cut(lines.Text(), `msg="listening on `); ok {
			host, _, _ := strings.Cut(addr, `"`)
			ended := make(chan struct{})
			go func() { // so that it can write on
				defer close(ended)
				for lines.Scan() {
					continue
				}
			}()
			t.Cleanup(func() {
				cmd.Process.Kill()
				<-ended
				cmd.Wait() // always an error: it was killed
			})
			return target{host: host}
		}
	}
	t.Fatalf("docker-registry ended: %v", cmd.Wait())
	return target{}
}

// mirrored is a catalog of two packages, one bundle each, in the registry HOST.
const mirrored = `---
schema: olm.package
name: PACKAGE
defaultChannel: stable
---
schema: olm.channel
package: PACKAGE
name: stable
entries:
- name: PACKAGE.v1.0.0
---
schema: olm.bundle
package: PACKAGE
name: PACKAGE.v1.0.0
image: HOST/org/PACKAGE-bundle:v1
relatedImages:
- {name: operand, image: "HOST/org/deep/PACKAGE@DIGEST"}
properties:
- {type: olm.package, value: {packageName: PACKAGE, version: 1.0.0}}
`

// TestMirrorToRegistries checks that a catalog can be mirrored to the usual registries: the mirror is complete, nothing
// is sent twice, and pruned images are gone.
func TestMirrorToRegistries(t *testing.T) {
	t.Parallel()
	type registry struct {
		name  string
		start func(*testing.T) target
	}
	for _, tt := range shared.Sample([]registry{
		{"distribution 3", distribution3},
		{"docker-registry", debianRegistry},
	}, 1) {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mirrorTo(t, tt.start(t))
		})
	}
}

func mirrorTo(t *testing.T, target target) {
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	t.Cleanup(server.Close)
	source := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	catalog := filepath.Join(dir, "catalog")
	if err := os.Mkdir(catalog, 0o777); err != nil {
		t.Fatal(err)
	}
	operands := map[string]string{} // their digests
	for _, pkg := range []string{"kiln", "loom"} {
		bundle, operand := imageOf(t, []string{"manifests/csv.yaml=" + pkg}), imageOf(t, []string{"bin/" + pkg + "=" + noise(1<<16)})
		digest, err := operand.Digest()
		if err == nil {
			err = remote.Write(parse(t, source+"/org/deep/"+pkg+":v1"), operand)
		}
		if err == nil {
			err = remote.Write(parse(t, source+"/org/"+pkg+"-bundle:v1"), bundle)
		}
		if err != nil {
			t.Fatal(err)
		}
		operands[pkg] = digest.String()
		text := strings.NewReplacer("HOST", source, "PACKAGE", pkg, "DIGEST", operands[pkg]).Replace(mirrored)
		write(t, filepath.Join(catalog, pkg+".yaml"), text)
	}
	// The source and one of the targets have no TLS.
	conf := write(t, filepath.Join(dir, "registries.conf"), fmt.Sprintf(
		"[[registry]]\nlocation = %q\ninsecure = true\n[[registry]]\nlocation = \"127.0.0.1\"\ninsecure = true\n", source))
	record := filepath.Join(dir, "record.json")
	run := func(line string) string {
		t.Helper()
		args := strings.Fields(line)
		r := program.Call{Args: append(args, target.flags...), Env: []string{"CONTAINERS_REGISTRIES_CONF=" + conf}}.Run(t)
		if r.Code != 0 {
			t.Fatalf("opm %s: exit status %d\n%s%s", line, r.Code, r.Stdout, r.Stderr)
		}
		return r.Stdout
	}
	contains := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant %q in it", got, want)
		}
	}
	mirror := fmt.Sprintf("mirror %s --to %s/mirror --record %s", catalog, target.host, record)

	contains(run(mirror), "/mirror: 5 images copied")
	contains(run(mirror), "/mirror: 0 images copied (0 bytes), 5 there before")
	run("mirror --verify " + record)
	if got := run("list packages " + target.host + "/mirror/catalog:latest"); strings.Count(got, "\n") != 3 {
		t.Errorf("the mirrored catalog has the packages\n%s", got)
	}

	contains(run(mirror+" --package kiln"), "org/loom-bundle@sha256:")
	run("mirror prune --execute --record " + record)
	run("mirror --verify " + record)
	for repository, want := range map[string]bool{
		"org/kiln-bundle:v1": true, "org/loom-bundle:v1": false,
		"org/deep/kiln@" + operands["kiln"]: true, "org/deep/loom@" + operands["loom"]: false,
	} {
		if _, err := remote.Head(parse(t, target.host+"/mirror/"+repository), target.options...); (err == nil) != want {
			t.Errorf("after the pruning, %s: %v; there: %t wanted", repository, err, want)
		}
	}
}
