package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
)

// TestMain makes the test binary available in PATH as opm, and runs the tests. Tests have two ways to run opm:
//
//   - In a worker ([callOPM]), a process of the test binary that runs one call after another, each in its own directory
//     and with its own environment. It saves the start of the program, which takes longer than most commands.
//   - As a program (exec.Command("opm"), or exec in scripts), for tests of signals, terminals, open files and servers.
func TestMain(m *testing.M) {
	debug.SetGCPercent(process.GCPercent)
	switch filepath.Base(os.Args[0]) {
	case "opm":
		endWithTest()
		main()
	case workerName:
		debug.SetGCPercent(workerGCPercent)
		debug.SetMemoryLimit(workerMemory)
		work()
	}
	status := 1
	err := inPath("opm", func() { status = m.Run() })
	if err := errors.Join(err, workers.end()); err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		status = 1
	}
	os.Exit(status) //nolint:forbidigo // this is a main function
}

// inPath makes the test binary available in PATH under a name while f runs.
func inPath(name string, f func()) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "opm-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	err = errors.Join(
		os.Symlink(program, filepath.Join(dir, name)),
		os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")),
	)
	if err != nil {
		return err
	}
	f()
	return nil
}

// A workerCall is a call of opm in a worker.
type workerCall struct {
	Args, Env []string
	Dir       string // absolute
	Stdin     []byte
	Combined  bool          // standard error is in the standard output of the result
	Limit     time.Duration // processor time; more is an error, and 0 is no limit
}

// callOPM runs a call in a worker. A worker that crashes prints the reason to standard error.
func callOPM(c workerCall) (result, error) {
	w, err := workers.take()
	if err != nil {
		return result{}, err
	}
	var r workerResult
	if err = w.calls.Encode(c); err == nil {
		err = w.results.Decode(&r)
	}
	if err != nil {
		workers.give(nil)
		return result{}, errors.Join(fmt.Errorf("opm %q: the worker failed", c.Args), err, w.end())
	}
	if testing.CoverMode() != "" { // a worker writes its coverage when it ends, which must be before the tests end
		workers.give(nil)
		err = w.end()
	} else {
		workers.give(w)
	}
	if c.Limit > 0 && r.Work > c.Limit {
		err = fmt.Errorf("opm %q: %s of processor time", c.Args, r.Work)
	}
	return result{r.Stdout, r.Stderr, r.Status}, err
}

// A workerResult is a result as a worker sends it.
type workerResult struct {
	Stdout, Stderr string
	Status         int
	Work           time.Duration
}

// A worker is the test's side of a worker.
type worker struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	calls   *gob.Encoder
	results *gob.Decoder
}

const workerName = "opm-worker"

// The garbage of a worker. A call leaves nothing, so with [process.GCPercent] a third of the time of tests would be spent
// on what all calls share.
const (
	workerGCPercent = 400
	workerMemory    = 256 << 20 // bytes, from which on it collects more often
)

func startWorker() (*worker, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	w := &worker{cmd: exec.Command(program)}
	w.cmd.Args[0] = workerName
	w.cmd.Stderr = os.Stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.stdin, w.calls, w.results = in, gob.NewEncoder(in), gob.NewDecoder(out)
	return w, w.cmd.Start()
}

// end ends a worker that has no call.
func (w *worker) end() error { return errors.Join(w.stdin.Close(), w.cmd.Wait()) }

// A workerPool has one worker for each CPU, which are started when they are needed.
type workerPool struct {
	slots chan struct{}
	mu    sync.Mutex
	idle  []*worker
}

var workers = workerPool{slots: make(chan struct{}, runtime.GOMAXPROCS(0))}

// take waits for a worker and takes it.
func (p *workerPool) take() (w *worker, err error) {
	p.slots <- struct{}{}
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if w == nil {
		w, err = startWorker()
	}
	if err != nil {
		<-p.slots
	}
	return w, err
}

// give returns a worker, or nil for one that has crashed.
func (p *workerPool) give(w *worker) {
	if w != nil {
		p.mu.Lock()
		p.idle = append(p.idle, w)
		p.mu.Unlock()
	}
	<-p.slots
}

// end ends all workers. None may have a call.
func (p *workerPool) end() error {
	var errs []error
	for _, w := range p.idle {
		errs = append(errs, w.end())
	}
	return errors.Join(errs...)
}

// work is the main function of a worker. It ends when standard input does, which is when the test ends, even if the
// test is killed.
func work() {
	environ := os.Environ()
	home, err := os.Getwd()
	cmdline.Must(err)
	out := gob.NewEncoder(os.Stdout)
	os.Stdout = os.Stderr // nothing else may write to standard output
	calls := make(chan workerCall)
	go func() {
		in := gob.NewDecoder(os.Stdin)
		for {
			var c workerCall
			if in.Decode(&c) != nil {
				setEnv(environ) // it names the directory for the coverage
				os.Exit(0)      //nolint:forbidigo // likewise
			}
			calls <- c
		}
	}()
	for c := range calls {
		r := c.run()
		cmdline.Must(os.Chdir(home)) // the test may remove or unmount the directory of the call
		cmdline.Must(out.Encode(r))
	}
}

func (c workerCall) run() workerResult {
	setEnv(c.Env)
	cmdline.Must(os.Chdir(c.Dir))
	var stdout, stderr syncBuffer
	opm := call{args: c.Args, stdin: bytes.NewReader(c.Stdin), stdout: &stdout, stderr: &stderr}
	if c.Combined {
		opm.stderr = &stdout
	}
	start := cpuTime()
	status := run(context.Background(), opm)
	return workerResult{stdout.String(), stderr.String(), status, cpuTime() - start}
}

// A syncBuffer is a buffer for the goroutines of a command.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *syncBuffer) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *syncBuffer) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// setEnv sets the environment of the process.
func setEnv(environ []string) {
	os.Clearenv()
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		cmdline.Must(os.Setenv(name, value))
	}
}

// absolute returns the absolute path of a directory, since a worker has its own working directory.
func absolute(t *testing.T, dir string) string {
	t.Helper()
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
