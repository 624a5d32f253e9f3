//go:build unix

package hostile

import (
	"cmp"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/opm-toolchain/opm/test/program"
)

// A killed is a command to kill, with the files that it writes.
type killed struct {
	name, command string
	stdout        string   // the file that standard output goes to; it may be cut short
	whole         []string // directories that appear as a whole; elsewhere every file does
}

// TestKilled checks that killed commands leave the old files or all new ones, and that the next run removes everything
// else. The kills are spread over the run of each command. $OPM_TEST_KILLS is the number of kills of each command.
func TestKilled(t *testing.T) {
	t.Parallel()
	kills, _ := strconv.Atoi(os.Getenv("OPM_TEST_KILLS"))
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)))) //nolint:forbidigo // the library takes no other
	t.Cleanup(server.Close)
	image := strings.TrimPrefix(server.URL, "http://") + "/kiln:v1"
	push := strings.Fields("bundle build -d bundle/manifests -p kiln -c candidate -e stable -b none --use-http -t " + image)
	if r := (program.Call{Args: push, Dir: examples(t)}).Run(t); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	for _, k := range []killed{
		{"serve", "serve catalog --cache-dir cache --cache-only", "", nil},
		{"pull", "render --use-http " + image, "out.json", nil},
		{"migrate", "migrate catalog migrated", "", []string{"migrated"}},
		{"migrate to empty directory", "migrate catalog empty", "", []string{"empty"}},
		{"build", "bundle build -d bundle/manifests -p kiln -c candidate -e stable -o -b none -t oci:layout:v1", "",
			[]string{"layout"}},
		{"build of a catalog", "build catalog -i scratch --platform linux/amd64 --oci-layout layout --archive catalog.tar", "",
			[]string{"layout"}},
		{"generate", "bundle generate -d bundle/manifests -p kiln -c beta -u out", "", []string{"out"}},
		{"unpack", "bundle unpack --use-http " + image + " -o out", "", []string{"out"}},
		{"render", "render catalog", "out.json", nil},
		{"lock", "render --use-http " + image + " --lock bundles.lock", "out.json", nil},
		{"baseline", "validate broken --baseline known.json --write-baseline", "", nil},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.test(t, cmp.Or(kills, 15))
		})
	}
}

// examples returns a copy of the examples.
func examples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := os.CopyFS(dir, os.DirFS("../../examples"))
	for _, name := range []string{"empty", "tmp"} {
		err = cmp.Or(err, os.Mkdir(filepath.Join(dir, name), 0o777))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (k *killed) test(t *testing.T, kills int) {
	dir := examples(t)
	before := files(t, dir)
	start := time.Now()
	k.run(t, dir, 0)
	took := time.Since(start)
	after := files(t, dir)
	ended := 0
	for n := range kills {
		dir := examples(t)
		if k.run(t, dir, took*time.Duration(n+1)/time.Duration(kills)) {
			ended++
		}
		got := files(t, dir)
		k.check(t, got, before, after)
		if maps.Equal(got, after) {
			continue // migrate refuses to write again
		}
		k.run(t, dir, 0)
		if got := files(t, dir); !maps.Equal(got, after) {
			t.Errorf("after the next run: %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(after)))
		}
	}
	t.Logf("killed %d times within %v; %d had ended", kills, took, ended)
}

// run runs the command, kills it after a time that is not 0, and reports whether it ended by itself.
func (k *killed) run(t *testing.T, dir string, after time.Duration) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "opm", strings.Fields(k.command)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "OLM_CACHE_DIR="+filepath.Join(dir, "images"))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if k.stdout != "" {
		f, err := os.Create(filepath.Join(dir, k.stdout))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd.Stdout = f
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		time.Sleep(after)
		_ = cmd.Process.Kill() // fails if it has ended
	}
	_ = cmd.Wait() // the status says it all
	if cmd.ProcessState.Exited() && !cmd.ProcessState.Success() {
		t.Errorf("opm %s: %v: %s", k.command, cmd.ProcessState, stderr.String())
	}
	return cmd.ProcessState.Exited()
}

// check looks for incomplete files.
func (k *killed) check(t *testing.T, got, before, after map[string]string) {
	t.Helper()
	for name, text := range got {
		old, wasThere := before[name]
		if name == k.stdout || strings.Contains(name, ".opm-") || text == after[name] || wasThere && text == old {
			continue
		}
		t.Errorf("%s is cut short or should not be there: %d bytes of %d", name, len(text), len(after[name]))
	}
	for _, dir := range k.whole {
		if has, want := below(got, dir), below(after, dir); len(has) != 0 && len(has) != len(want) {
			t.Errorf("of %s there are %q, want %q", dir, has, want)
		}
	}
}

// below returns the names of the files in a directory.
func below(files map[string]string, dir string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(files)), func(name string) bool {
		return !strings.HasPrefix(name, dir+"/")
	})
}

// files returns the content of all files in a directory, including temporary ones.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && strings.HasPrefix(e.Name(), ".opm-"):
			all[name] = ""
			return fs.SkipDir
		case e.IsDir():
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
