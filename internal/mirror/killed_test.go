package mirror

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/image"
)

// Environment variables of a test binary that mirrors instead of testing.
const (
	envRefs   = "OPM_TEST_MIRROR_REFS" // separated by spaces; "" to mirror from the directory
	envDir    = "OPM_TEST_MIRROR_DIR"
	envTarget = "OPM_TEST_MIRROR_TARGET" // "" to mirror to the directory
)

var kills = flag.Int("kills", 15, "number of moments at which each way of mirroring is killed")

func TestMain(m *testing.M) {
	if os.Getenv(envDir) == "" {
		m.Run()
		return
	}
	if err := mirrorAsAsked(context.Background()); err != nil {
		panic(err)
	}
}

// mirrorAsAsked mirrors as the environment variables configure it, one blob at a time.
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

// TestKilled kills runs at many points: at a request, in the middle of its body, or after some time, and from a
// registry to a directory, from there to a registry, and from registry to registry. It checks that the next run
// completes the mirror, that the source sends at most the bytes of one blob twice, and that no tag ever refers to an
// incomplete image.
func TestKilled(t *testing.T) {
	if !shared.Full() {
		t.Skip("starts a hundred and more processes")
	}
	for name, env := range map[string]func(refs, whole, dir, host string) []string{
		"to directory": func(refs, _, dir, _ string) []string { return []string{envRefs + refs, envDir + dir} },
		"from directory": func(_, whole, _, host string) []string {
			return []string{envDir + whole, envTarget + host}
		},
		"direct": func(refs, _, dir, host string) []string {
			return []string{envRefs + refs, envDir + dir, envTarget + host}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := newPottery(t, true)
			whole := filepath.Join(t.TempDir(), "whole")
			writeDirectory(t, from, from.images(t, Names{}), whole, nil)
			way := killable{from, func(dir, host string) []string {
				return env("="+strings.Join(from.refs, " "), "="+whole, "="+dir, "="+host)
			}}
			start := time.Now()
			requests := way.killAt(t, -1, 0)
			duration, once := time.Since(start), from.bytes
			for i := range int64(*kills) {
				at, after := i*requests/int64(*kills), time.Duration(0)
				if i%3 == 2 {
					at, after = -1, duration*time.Duration(i+1)/time.Duration(*kills)
				}
				way.killAt(t, at, after)
				if twice := from.bytes - once; twice > from.largest {
					t.Errorf("request %d, after %v: %d bytes were sent twice, a blob has at most %d", at, after, twice, from.largest)
				}
			}
		})
	}
}

// A killable is a way of mirroring in another process.
type killable struct {
	from *pottery
	env  func(dir, host string) []string
}

// killAt kills a run at its n-th request (-1 for none) or after some time (0 for never), and completes it with another
// run. It returns the number of requests.
func (k killable) killAt(t *testing.T, n int64, after time.Duration) int64 {
	t.Helper()
	from, to := k.from, newRegistry(t, n%2 == 0)
	dir := filepath.Join(t.TempDir(), "dir")
	env := k.env(dir, to.host)
	var count atomic.Int64
	killed := child(t, env)
	kill := func(w http.ResponseWriter, r *http.Request) bool {
		if count.Add(1) == n+1 {
			from.sendHalf(w, r)
			_ = killed.Process.Kill() // it may have ended
			panic(http.ErrAbortHandler)
		}
		return false
	}
	from.reset()
	from.setAnswer(kill)
	to.setAnswer(kill)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	if after > 0 {
		time.AfterFunc(after, func() { _ = killed.Process.Kill() }) // it may have ended
	}
	err := killed.Wait()
	if n < 0 && after == 0 && err != nil {
		t.Fatal(err)
	}
	from.setAnswer(nil)
	to.setAnswer(nil)
	checkTags(t, to)
	if out, err := child(t, env).CombinedOutput(); err != nil {
		t.Fatalf("request %d, after %v: %v\n%s", n, after, err, out)
	}
	twice := 0
	for digest, sent := range from.sent {
		if twice += sent - 1; twice > 1 {
			t.Errorf("request %d, after %v: blob %s was sent %d times, and %d more in all", n, after, digest, sent, twice)
		}
	}
	if _, err := os.Stat(dir); err == nil && !strings.Contains(strings.Join(env, " "), envTarget) {
		env = append(env, envRefs+"=", envDir+"="+dir, envTarget+"="+to.host)
		if out, err := child(t, env).CombinedOutput(); err != nil {
			t.Fatalf("request %d, after %v: %v\n%s", n, after, err, out)
		}
	}
	from.checkMirror(t, to, "")
	return count.Load()
}

// sendHalf sends half of the blob that a request asks for, or reads half of the body of another request.
func (f *fakeRegistry) sendHalf(w http.ResponseWriter, r *http.Request) {
	if _, err := io.CopyN(io.Discard, r.Body, r.ContentLength/2); err != nil {
		return
	}
	if repo, digest, ok := strings.Cut(r.URL.Path, "/blobs/"); !ok || r.Method != http.MethodGet ||
		!f.has(strings.TrimPrefix(repo, "/v2/"), digest) {
		return
	}
	all := httptest.NewRecorder()
	f.inner.ServeHTTP(all, r)
	w.Header().Set("Content-Length", strconv.Itoa(all.Body.Len()))
	_, _ = (&countingWriter{ResponseWriter: w, f: f}).Write(all.Body.Bytes()[:all.Body.Len()/2]) // the client may have ended
	_ = http.NewResponseController(w).Flush()
}

func child(t *testing.T, env []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// checkTags checks that every tag can be pulled.
func checkTags(t *testing.T, f *fakeRegistry) {
	t.Helper()
	for _, r := range f.requests() {
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
