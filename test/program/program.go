// Package program builds opm, runs it as users do, and measures its time and memory.
package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"
)

// Main builds the opm of this repository, puts it first on PATH and runs the tests. It is called by TestMain. The cache
// of go test does not detect a change of opm: run such tests with -count=1.
func Main(m *testing.M, root string) {
	dir, err := os.MkdirTemp("", "opm-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// As make build, so that it runs in an image and is compiled once. go run, which only copies the program, links it
	// once: go build would do it again for each run of the tests.
	build := exec.Command("go", "run", "-trimpath", "-ldflags=-s -w", "-exec=cp", "./cmd/opm", filepath.Join(dir, "opm"))
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic("build opm: " + string(out))
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	m.Run()
}

// A Result is the output of a run of opm, and its time and memory.
type Result struct {
	Stdout, Stderr string
	Code           int           // the exit status; -1 if a signal ended the run
	Time           time.Duration // elapsed time
	Work           time.Duration // processor time
	RSS            int64         // peak resident memory, in bytes; 0 if the system does not report it
}

// A Call is a run of opm. Its zero value has no input, no arguments, the environment of the test and no time limit.
type Call struct {
	Args  []string
	Stdin io.Reader
	Env   []string // added to the environment of the test
	Dir   string
	Limit time.Duration // maximum processor time; opm is killed after four times as much elapsed time
}

// Run runs opm to its end, whatever its exit status.
func (c Call) Run(t testing.TB) Result {
	t.Helper()
	ctx := t.Context()
	if c.Limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 4*c.Limit)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, "opm", c.Args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = c.Stdin, &stdout, &stderr, c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	EndWithTest(cmd)
	forgetPeak()
	start := time.Now()
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("opm %q did not end within %v; stderr: %.1000s", c.Args, 4*c.Limit, stderr.String())
	}
	r := Result{
		Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode(), Time: time.Since(start),
		Work: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), RSS: peak(cmd.ProcessState),
	}
	if c.Limit > 0 && r.Work > c.Limit {
		t.Errorf("opm %.200q took %v of processors, more than %v", c.Args, r.Work, c.Limit)
	}
	return r
}

// Bounded runs opm like Run, and fails the test if it took more memory than rss bytes.
func (c Call) Bounded(t testing.TB, rss int64) Result {
	t.Helper()
	debug.FreeOSMemory() // see forgetPeak: garbage of other tests would count
	r := c.Run(t)
	t.Logf("opm %.200q: exit status %d, %v of processors of at most %v, %d MB of at most %d, %v on the clock",
		c.Args, r.Code, r.Work.Round(time.Millisecond), c.Limit, r.RSS/1e6, rss/1e6, r.Time.Round(time.Millisecond))
	if r.RSS > rss {
		t.Errorf("opm %.200q took %d MB of memory, more than %d MB", c.Args, r.RSS/1e6, rss/1e6)
	}
	return r
}
