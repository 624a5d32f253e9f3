//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
)

// A run that is interrupted while a registry does not answer prints no summary, and leaves no temporary files.
func TestPublishInterrupted(t *testing.T) {
	asked, done := make(chan bool), make(chan bool)
	once := sync.OnceFunc(func() { close(asked) })
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		once()
		<-done
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	tag, tmp := strings.TrimPrefix(server.URL, "http://")+"/crafts:v1", t.TempDir()
	cmd := exec.CommandContext(t.Context(), "opm", "publish", "crafts.yaml", "-t", tag, "-i", "scratch", "--use-http")
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = copyExamples(t), &stdout, &stderr
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || stdout.Len() > 0 || stderr.String() != process.Interrupted+"\n" {
		t.Errorf("exit code %d, standard output %q, standard error %q", code, stdout.String(), stderr.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left among temporary files: %v, %v", left, err)
	}
}
