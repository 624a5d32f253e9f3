package test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// A counter is a registry in memory that counts the bytes it is sent.
type counter struct {
	host string
	sent atomic.Int64
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	c := &counter{}
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(r.Body, c), r.Body}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c.host = strings.TrimPrefix(server.URL, "http://")
	return c
}

func (c *counter) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return len(p), nil
}

// A summary is what opm build prints as JSON.
type summary struct {
	Digest string
	Size   int64
	Images []struct {
		Layers []struct {
			Content string
			Size    int64
		}
	}
}

// buildImage builds an image, pushes it as ref, and returns the summary that opm prints.
func buildImage(t *testing.T, ref string, args ...string) (s summary) {
	t.Helper()
	out := mustOpm(t, "", append([]string{"build", "-t", ref, "--push", "--use-http", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// rootOf pulls an image with crane, and unpacks it into a directory.
func rootOf(t *testing.T, ref string) (dir string, config *v1.ConfigFile) {
	t.Helper()
	img, err := crane.Pull(ref, crane.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if config, err = img.ConfigFile(); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	untar := exec.CommandContext(t.Context(), "tar", "-xp", "--no-same-owner", "-C", dir)
	in, err := untar.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer in.Close()
		if err := crane.Export(img, in); err != nil {
			t.Error(err)
		}
	}()
	if out, err := untar.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, config
}

// contain returns a command that runs in a root directory, as the user 12345 or, in a user namespace, as the user of
// the test. With readOnly, no directory is writable, not even /tmp.
func contain(ctx context.Context, root string, readOnly bool, args ...string) *exec.Cmd {
	unshare, chroot := []string{"--mount"}, "chroot --userspec=12345:0"
	if os.Getuid() != 0 {
		unshare, chroot = []string{"--mount", "--user", "--map-root-user"}, "chroot"
	}
	script := `mount --bind "$0" "$0"; `
	if readOnly {
		script += `mount -o remount,bind,ro "$0"; `
	}
	script += `exec ` + chroot + ` "$0" "$@"`
	cmd := exec.CommandContext(ctx, "unshare", append(append(unshare, "sh", "-ec", script, root), args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=/tmp"}
	return cmd
}

func needsNamespaces(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	if out, err := contain(t.Context(), "/", false, "true").CombinedOutput(); err != nil {
		t.Skipf("needs namespaces: %v: %s", err, out)
	}
}

// dump starts a server of a catalog on 127.0.0.1:0, and returns its responses to all requests of OLM's clients.
func dump(t *testing.T, server *exec.Cmd) string {
	t.Helper()
	stderr, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	addr, log := "", make([]byte, 4096)
	var said strings.Builder
	for addr == "" {
		n, err := stderr.Read(log)
		if err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
		said.Write(log[:n])
		_, after, _ := strings.Cut(said.String(), "grpc=")
		addr, _, _ = strings.Cut(after, " ")
	}
	go func() { _, _ = io.Copy(&said, stderr) }()
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	c, err := client.New(addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := c.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return answers(ctx, t, c)
}

func answers(ctx context.Context, t *testing.T, c *client.Client) string {
	t.Helper()
	var all []string
	for name, err := range c.Packages(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Package(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, prototext.Format(p))
	}
	for b, err := range c.Bundles(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		whole, err := c.Bundle(ctx, b.PackageName, b.ChannelName, b.CsvName)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, prototext.Format(b), prototext.Format(whole))
	}
	if len(all) < 3 {
		t.Fatalf("only %d answers", len(all))
	}
	return strings.ReplaceAll(strings.Join(all, "\n"), "  ", " ") // prototext varies its spaces
}

// servingArgs returns the arguments of an image with an address of the test's.
func servingArgs(config *v1.ConfigFile) []string {
	return slices.Concat(config.Config.Entrypoint, config.Config.Cmd,
		[]string{"--cache-enforce-integrity", "--addr", "127.0.0.1:0", "--termination-log", ""})
}

// TestBuiltImage checks that an image serves the same responses as its catalog directory. It pulls the image with
// crane, and runs it as a pod does, as any user on a read-only root.
func TestBuiltImage(t *testing.T) {
	t.Parallel()
	needsNamespaces(t)
	registry := newCounter(t)
	for _, dir := range shared.Sample([]string{"../examples/catalog", shared.Path(t, "data/catalogs/v4.20")}, 1) {
		ref := registry.host + "/catalogs/" + filepath.Base(dir) + ":v1"
		built := buildImage(t, ref, dir)
		if digest, err := crane.Digest(ref, crane.Insecure); err != nil || digest != built.Digest {
			t.Fatalf("crane finds %s, %v, want %s", digest, err, built.Digest)
		}
		root, config := rootOf(t, ref)
		if config.Config.User != "1001" || config.Config.Labels["operators.operatorframework.io.index.configs.v1"] != "/configs" {
			t.Errorf("got config %+v", config.Config)
		}
		got := dump(t, contain(t.Context(), root, true, servingArgs(config)...))
		want := dump(t, exec.CommandContext(t.Context(), "opm", "serve", dir, "--addr", "127.0.0.1:0"))
		if got != want {
			t.Errorf("%s: the image and the directory answer differently", dir)
		}
	}
}

// TestDockerfile checks that a container engine builds the same image from the generated Dockerfile as opm build.
func TestDockerfile(t *testing.T) {
	shared.OnlyFull(t)
	t.Parallel()
	needsNamespaces(t)
	registry := newCounter(t)
	catalog := filepath.Join(t.TempDir(), "catalog")
	if err := os.CopyFS(catalog, os.DirFS("../examples/catalog")); err != nil {
		t.Fatal(err)
	}
	opmRef, ref := registry.host+"/opm:v1", registry.host+"/catalog:v1"
	buildImage(t, opmRef, "--only-opm")
	mustOpm(t, "", "generate", "dockerfile", catalog, "-i", opmRef, "-b", opmRef, "-l", "vendor=Pottery", "--this-opm")
	text, err := os.ReadFile(catalog + ".Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	builder, _ := rootOf(t, opmRef)
	final, opmConfig := rootOf(t, opmRef)
	made := opmConfig.Config
	made.Labels = map[string]string{}
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "ADD":
			err = os.CopyFS(filepath.Join(builder, "configs"), os.DirFS(catalog))
		case "RUN":
			run(t, builder, list(t, rest))
		case "COPY":
			_, dir, _ := strings.Cut(rest, " ")
			dir, _, _ = strings.Cut(dir, " ")
			err = os.CopyFS(filepath.Join(final, dir), os.DirFS(filepath.Join(builder, dir)))
		case "ENTRYPOINT":
			made.Entrypoint = list(t, rest)
		case "CMD":
			made.Cmd = list(t, rest)
		case "LABEL":
			key, value, _ := strings.Cut(strings.ReplaceAll(rest, `"`, ""), "=")
			made.Labels[key] = value
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	buildImage(t, ref, catalog, "-l", "vendor=Pottery")
	built, config := rootOf(t, ref)
	if got, want := fmt.Sprint(config.Config), fmt.Sprint(made); got != want {
		t.Errorf("got config %s\nwant       %s", got, want)
	}
	if out, err := exec.CommandContext(t.Context(), "diff", "-r", final, built).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	got := dump(t, contain(t.Context(), final, true, servingArgs(config)...))
	if want := dump(t, contain(t.Context(), built, true, servingArgs(config)...)); got != want {
		t.Error("the image of the Dockerfile and that of opm build answer differently")
	}
}

// TestBuildForDistribution checks that an index can be pushed to a registry that checks uploads and credentials.
func TestBuildForDistribution(t *testing.T) {
	t.Parallel()
	want := mustOpm(t, "", "render", "../examples/catalog")
	for _, access := range shared.Sample([]string{"htpasswd", "token"}, 1) {
		d := newDistribution(t, access)
		ref := d.host + "/crafts/catalog:v1"
		build := []string{"build", "../examples/catalog", "-i", "scratch", "--platform", "linux/amd64,linux/s390x",
			"-t", ref, "--push"}
		layout := filepath.Join(t.TempDir(), "layout")
		for _, password := range []string{"", "wrong"} {
			r := opm(t, "", slices.Concat(build, []string{"--oci-layout", layout}, d.flags(t, password))...)
			if _, err := os.Stat(layout); r.Code != 1 || !strings.Contains(r.Stderr, "push image "+ref+": ") || err == nil {
				t.Errorf("%s: exit status %d with the password %q: %s", access, r.Code, password, r.Stderr)
			}
		}
		mustOpm(t, "", append(build, d.flags(t, testPassword)...)...)
		for _, platform := range []string{"linux/amd64", "linux/s390x"} {
			got := mustOpm(t, "", append([]string{"render", ref, "--platform", platform}, d.flags(t, testPassword)...)...)
			if got != want {
				t.Errorf("%s: the image for %s has another catalog", access, platform)
			}
		}
	}
}

func run(t *testing.T, root string, args []string) {
	t.Helper()
	if out, err := contain(t.Context(), root, false, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func list(t *testing.T, text string) (words []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return words
}

// TestUpdateMovesLittle checks that pushing a catalog after the update of one package sends less than 5 % of the image,
// not counting the store.
func TestUpdateMovesLittle(t *testing.T) {
	t.Parallel()
	shared.OnlyFull(t)
	registry := newCounter(t)
	dir := filepath.Join(t.TempDir(), "catalog")
	if err := os.CopyFS(dir, os.DirFS(shared.Path(t, "data/catalogs/v4.20"))); err != nil {
		t.Fatal(err)
	}
	ref := registry.host + "/catalog:v1"
	full := buildImage(t, ref, dir)
	if sent := registry.sent.Swap(0); sent < full.Size {
		t.Fatalf("only %d bytes were sent of %d", sent, full.Size)
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*", "catalog.yaml"))
	if err != nil || len(packages) == 0 {
		t.Fatalf("found %q, %v", packages, err)
	}
	f, err := os.OpenFile(packages[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg := filepath.Base(filepath.Dir(packages[0]))
	fmt.Fprintf(f, "\n---\nschema: example.note\npackage: %s\n", pkg)
	f.Close()
	updated := buildImage(t, ref, dir)
	var store int64
	for _, l := range updated.Images[0].Layers {
		if l.Content == "store" {
			store += l.Size
		}
	}
	moved := registry.sent.Load() - store
	t.Logf("%d of %d bytes were sent, and a store of %d", moved, full.Size, store)
	if moved <= 0 || moved > full.Size/20 {
		t.Errorf("%d bytes were sent of %d", moved, full.Size)
	}
}
