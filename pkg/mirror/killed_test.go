package mirror

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opm-toolchain/opm/pkg/image"
)

// Environment variables of a test binary that mirrors instead of testing.
const (
	envRefs   = "OPM_TEST_MIRROR_REFS" // separated by spaces; "" to mirror from the directory
	envDir    = "OPM_TEST_MIRROR_DIR"
	envTarget = "OPM_TEST_MIRROR_TARGET" // "" to mirror to the directory
)

var kills = flag.Int("kills", 17, "number of moments at which each way of mirroring is killed")

func TestMain(m *testing.M) {
	if os.Getenv(envDir) == "" {
		m.Run()
		return
	}
	if err := mirrorAsAsked(context.Background()); err != nil {
		panic(err)
	}
}

// mirrorAsAsked mirrors as the environment says, one blob at a time.
func mirrorAsAsked(ctx context.Context) error {
	transport, err := image.NewTransport(image.TransportOptions{Insecure: true})
	if err != nil {
		return err
	}
	opener := image.NewOpener(image.Options{Keychain: login, Transport: transport})
	defer opener.Close()
	var images []*Image
	for ref := range strings.FieldsSeq(os.Getenv(envRefs)) {
		img, err := Names{}.New(ref)
		if err != nil {
			return err
		}
		images = append(images, img)
	}
	dir, target := os.Getenv(envDir), os.Getenv(envTarget)
	var to Target
	if target == "" {
		to, err = ToDirectory(dir, nil)
	} else {
		to, err = ToRegistry(opener, target)
	}
	if err == nil && images == nil {
		var d *Directory
		var record *Record
		if d, record, err = FromDirectory(dir); err == nil {
			defer d.Close()
			images = record.Images
		}
	}
	if err != nil {
		return err
	}
	p, err := NewPlan(ctx, images, to, Options{Opener: opener, Jobs: 1})
	if err != nil {
		return err
	}
	record, err := p.Run(ctx, RunOptions{})
	if err != nil || len(record.Failed()) > 0 {
		return errors.Join(err, fmt.Errorf("failed: %+v", p.Report().Failures()))
	}
	if d, ok := to.(*Directory); ok {
		return d.Finish(record)
	}
	return nil
}

// TestKilled kills runs at moments that are spread over the whole run, on the way to a directory, from there to a
// registry, and from registry to registry. The next run completes the mirror, at most one blob is sent twice, and at no
// time does a tag refer to something incomplete.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a hundred and more processes")
	}
	from := newPottery(t, true)
	whole := filepath.Join(t.TempDir(), "whole")
	writeDirectory(t, from, from.images(t, Names{}), whole, nil)
	refs := strings.Join(from.refs, " ")
	for name, run := range map[string]func(dir, host string) []string{
		"to directory":   func(dir, _ string) []string { return []string{envRefs + "=" + refs, envDir + "=" + dir} },
		"from directory": func(_, host string) []string { return []string{envDir + "=" + whole, envTarget + "=" + host} },
		"direct": func(dir, host string) []string {
			return []string{envRefs + "=" + refs, envDir + "=" + dir, envTarget + "=" + host}
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests := killAt(t, from, run, -1)
			for i := range int64(*kills) {
				killAt(t, from, run, i*requests/int64(*kills))
			}
		})
	}
}

// killAt kills a run at its n-th request, -1 for never, and completes it by another run. It returns the number of
// requests.
func killAt(t *testing.T, from *pottery, run func(dir, host string) []string, n int64) int64 {
	t.Helper()
	to := newRegistry(t, n%2 == 0)
	dir := filepath.Join(t.TempDir(), "dir")
	env := run(dir, to.host)
	var count atomic.Int64
	var killed *exec.Cmd
	kill := func(http.ResponseWriter, *http.Request) bool {
		if count.Add(1) == n+1 {
			_ = killed.Process.Kill() // it may have ended
			panic(http.ErrAbortHandler)
		}
		return false
	}
	from.reset()
	from.answer, to.answer = kill, kill
	killed = child(t, env)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	err := killed.Wait()
	if n < 0 && err != nil {
		t.Fatal(err)
	}
	from.answer, to.answer = nil, nil
	checkTags(t, to)
	if out, err := child(t, env).CombinedOutput(); err != nil {
		t.Fatalf("at request %d: %v\n%s", n, err, out)
	}
	twice := 0
	for digest, sent := range from.sent {
		if twice += sent - 1; twice > 1 {
			t.Errorf("at request %d: blob %s was sent %d times, and %d more in all", n, digest, sent, twice)
		}
	}
	if _, err := os.Stat(dir); err == nil && !strings.Contains(strings.Join(env, " "), envTarget) {
		env = append(env, envRefs+"=", envDir+"="+dir, envTarget+"="+to.host)
		if out, err := child(t, env).CombinedOutput(); err != nil {
			t.Fatalf("at request %d: %v\n%s", n, err, out)
		}
	}
	from.checkMirror(t, to, "")
	return count.Load()
}

func child(t *testing.T, env []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// checkTags checks that everything with a tag can be pulled.
func checkTags(t *testing.T, f *fakeRegistry) {
	t.Helper()
	f.mu.Lock()
	asked := f.asked
	f.mu.Unlock()
	for _, r := range asked {
		path, ok := strings.CutPrefix(r, "PUT /v2/")
		repo, tag, isManifest := strings.Cut(path, "/manifests/")
		if !ok || !isManifest || strings.Contains(tag, ":") {
			continue
		}
		if digest := f.digest(t, repo+":"+tag); digest != "" {
			checkPull(t, f, repo+"@"+digest)
		}
	}
}
