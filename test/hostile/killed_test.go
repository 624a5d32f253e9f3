//go:build unix

package hostile

import (
	"cmp"
	"io"
	"io/fs"
	"log"
	"maps"
	"math/rand/v2"
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

	noLinks   bool // the file system has no hard links
	once      bool // the command is an edit that is refused if it was made before
	isRefused bool // it fails
}

// killsOf returns the number of kills of each command: $OPM_TEST_KILLS, or a number that takes little time.
func killsOf(few int) int {
	kills, _ := strconv.Atoi(os.Getenv("OPM_TEST_KILLS"))
	return cmp.Or(kills, few)
}

// TestKilled checks that killed commands leave the old files or all new ones, and that the next run removes everything
// else. The kills are at random times, spread over the run of each command.
func TestKilled(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0)))) //nolint:forbidigo // the library takes no other
	t.Cleanup(server.Close)
	image := strings.TrimPrefix(server.URL, "http://") + "/kiln:v1"
	push := strings.Fields("bundle build -d bundle/manifests -p kiln -c candidate -e stable -b none --use-http -t " + image)
	if r := (program.Call{Args: push, Dir: examples(t)}).Run(t); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	for _, k := range []killed{
		{name: "serve", command: "serve catalog --cache-dir cache --cache-only"},
		{name: "pull", command: "render --use-http " + image, stdout: "out.json"},
		{name: "migrate", command: "migrate catalog migrated", whole: []string{"migrated"}},
		{name: "migrate to empty directory", command: "migrate catalog empty", whole: []string{"empty"}},
		{name: "build", command: "bundle build -d bundle/manifests -p kiln -c candidate -e stable -o -b none -t oci:layout:v1", whole: []string{"layout"}},
		{name: "build of a catalog", command: "build catalog -i scratch --platform linux/amd64 --oci-layout layout --archive catalog.tar", whole: []string{"layout"}},
		{name: "generate", command: "bundle generate -d bundle/manifests -p kiln -c beta -u out", whole: []string{"out"}},
		{name: "unpack", command: "bundle unpack --use-http " + image + " -o out", whole: []string{"out"}},
		{name: "render", command: "render catalog", stdout: "out.json"},
		{name: "lock", command: "render --use-http " + image + " --lock bundles.lock", stdout: "out.json"},
		{name: "baseline", command: "validate broken --baseline known.json --write-baseline"},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			k.test(t, killsOf(15))
		})
	}
}

// severalCatalogs are copies of the catalog among the examples.
var severalCatalogs = []string{"catalogs/v1", "catalogs/v2", "catalogs/v3", "catalogs/v4", "catalogs/v5"}

// examples returns a copy of the examples.
func examples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := os.CopyFS(dir, os.DirFS("../../examples"))
	for _, name := range []string{"empty", "tmp"} {
		err = cmp.Or(err, os.Mkdir(filepath.Join(dir, name), 0o777))
	}
	for _, catalog := range severalCatalogs {
		err = cmp.Or(err, os.CopyFS(filepath.Join(dir, catalog), os.DirFS("../../examples/catalog")))
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
	ended, between := 0, 0
	for n := range kills {
		dir := examples(t)
		if k.run(t, dir, time.Duration(float64(took)*(float64(n)+rand.Float64())/float64(kills))+1) {
			ended++
		}
		got := files(t, dir)
		k.check(t, got, before, after)
		if maps.Equal(got, after) {
			continue // migrate refuses to write again
		}
		if !maps.Equal(got, before) {
			between++
		}
		k.repeat(t, dir, got, after)
		if got := files(t, dir); !maps.Equal(got, after) {
			t.Errorf("after the next run: %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(after)))
		}
	}
	t.Logf("killed %d times within %v; %d had ended, %d left something", kills, took, ended, between)
}

// repeat runs the command again. An edit that cannot be made twice succeeds, because the next command rolls back what
// is left of it, unless it was committed. A further run is refused, and removes the leftovers.
func (k *killed) repeat(t *testing.T, dir string, got, after map[string]string) {
	t.Helper()
	again := *k
	again.isRefused = k.once && isCommitted(got, after)
	again.run(t, dir, 0)
	if k.once {
		again.isRefused = true
		again.run(t, dir, 0)
	}
}

// isCommitted reports whether all files but the temporary ones are those after an edit, and no main journal is left.
func isCommitted(got, after map[string]string) bool {
	got = maps.Clone(got)
	isJournal := false
	maps.DeleteFunc(got, func(name, text string) bool {
		isJournal = isJournal || strings.HasSuffix(name, ".journal.tmp") && strings.HasPrefix(text, `{"dirs":["."`)
		return strings.Contains(name, ".opm-")
	})
	return maps.Equal(got, after) && !isJournal
}

// run runs the command, kills it after a time that is not 0, and reports whether it ended by itself.
func (k *killed) run(t *testing.T, dir string, after time.Duration) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "opm", strings.Fields(k.command)...)
	cmd.Dir = dir
	if k.noLinks {
		withoutLinks(cmd)
	}
	cmd.Env = append(cmd.Environ(), "TMPDIR="+filepath.Join(dir, "tmp"), "OLM_CACHE_DIR="+filepath.Join(dir, "images"))
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
	if cmd.ProcessState.Exited() && cmd.ProcessState.Success() == k.isRefused {
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
