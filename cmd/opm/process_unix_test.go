//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
)

// printing are command lines that print on standard output, in the directory of the examples.
var printing = []string{
	"render catalog",
	"render catalog -o yaml",
	"list bundles catalog",
	"validate catalog -o json",
	"validate catalog -o yaml",
	"validate catalog -o sarif",
	"validate broken -o github",
	"rules",
	"compose crafts.yaml --dry-run",
	"filter catalog",
	"filter catalog -o images",
	"publish catalog --skip check-images,build",
	"init my-operator",
	"schema",
	"version",
	"version -o json",
	"completion bash",
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full")
	}
	defer full.Close()
	for _, line := range printing {
		state, stderr := printTo(t, line, full)
		if want := "Error: write output: no space left on device\n"; state.ExitCode() != 1 || !strings.HasSuffix(stderr, want) {
			t.Errorf("opm %s: %v, standard error %q, want %q", line, state, stderr, want)
		}
	}
}

// TestClosedPipe checks that a command ends silently if standard output is a closed pipe, as other programs do.
func TestClosedPipe(t *testing.T) {
	for _, line := range printing {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		state, stderr := printTo(t, line, w)
		w.Close()
		if s := state.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGPIPE || stderr != "" {
			t.Errorf("opm %s: %v, standard error %q, want SIGPIPE and nothing", line, state, stderr)
		}
	}
}

// printTo runs a command in the directory of the examples, and returns its state and its standard error.
func printTo(t *testing.T, line string, stdout *os.File) (*os.ProcessState, string) {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "opm", strings.Fields(line)...)
	cmd.Dir = examples
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState, stderr.String()
}

// TestInterrupt sends ^C to commands that wait for standard input.
func TestInterrupt(t *testing.T) {
	for _, line := range []string{"render -", "validate -", "migrate - out", "list packages -"} {
		for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
			t.Run(line+" "+signal.String(), func(t *testing.T) {
				t.Parallel()
				testInterrupt(t, line, signal)
			})
		}
	}
}

func testInterrupt(t *testing.T, line string, signal os.Signal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough) // when it is killed
	defer cancel()
	dir := t.TempDir()
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "opm", strings.Fields(line)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "OLM_CACHE_DIR="+dir)
	cmd.Stdout, cmd.Stderr = &output, &output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The text is larger than the buffer of a pipe: once it is written, opm is reading.
	if _, err := io.WriteString(stdin, strings.Repeat("---\nschema: example.com/any\n", 10_000)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || output.String() != process.Interrupted+"\n" {
		t.Errorf("%v, exit code %d, output %q", err, code, output.String())
	}
	if left := names(t, dir); len(left) > 1 {
		t.Errorf("it left %q", left[1:])
	}
}

// TestInterruptStuck sends ^C to a command that is blocked because nobody reads its output.
func TestInterruptStuck(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "catalog.yaml") // more than a pipe holds
	if err := os.WriteFile(name, []byte(strings.Repeat("---\nschema: example.com/any\n", 10_000)), 0o666); err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "opm", "render", name)
	cmd.Stdout, cmd.Stderr = w, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || stderr.String() != process.Interrupted+"\n" {
		t.Errorf("%v, exit code %d, standard error %q", err, code, stderr.String())
	}
}

// TestPipe reads a catalog from a named pipe, such as the shell's <(command).
func TestPipe(t *testing.T) {
	const name = "/dev/stdin"
	if _, err := os.Stat(name); err != nil {
		t.Skip("needs " + name)
	}
	for _, ref := range []string{"-", name} {
		var stdout, stderr bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "opm", "render", ref)
		cmd.Stdin = strings.NewReader("{schema: example.com/any}")
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if want := "{\n    \"schema\": \"example.com/any\"\n}\n"; err != nil || stdout.String() != want {
			t.Errorf("opm render %s: %v, prints %q, want %q\n%s", ref, err, stdout.String(), want, stderr.String())
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can read every file")
	}
	dir := t.TempDir()
	writeBad(t, filepath.Join(dir, "bad"), "c.yaml", "schema: example.com/any\n")
	if err := os.Chmod(filepath.Join(dir, "bad", "c.yaml"), 0); err != nil {
		t.Fatal(err)
	}
	testBadInput(t, dir, "bad/c.yaml: permission denied")
}

func TestNamedPipe(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bad"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "bad", "c.yaml"), 0o666); err != nil {
		t.Skip(err)
	}
	testBadInput(t, dir, "bad/c.yaml: want a file, found a named pipe")
}

// An image is rendered without a home, without a place for temporary files, and without a container configuration.
func TestBareEnvironment(t *testing.T) {
	host := newRegistry(t)
	if err := push(filepath.Join(examples, "bundle"), host+"/kiln:v1"); err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("opm")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "render", "--use-http", host+"/kiln:v1")
	cmd.Dir = "/"
	cmd.Env = []string{"TMPDIR=/dev/null/nowhere"}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || !bytes.Contains(out, []byte(`"name": "kiln.v2.0.0"`)) || stderr.Len() > 0 {
		t.Errorf("%v\n%s%s", err, out, &stderr)
	}
}
