package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// endWithTest makes this process, an opm that a test has started, end with the test, even if the test is killed.
func endWithTest() {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil || os.Getppid() == 1 {
		panic(fmt.Sprint("the process may outlive the test: ", err))
	}
}

// TestKilledRun checks that a server ends when the process that started it is killed.
func TestKilledRun(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		"opm serve . --addr localhost:0 --port-file port 2>/dev/null & echo $!; wait")
	cmd.Dir = t.TempDir()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	pid := make([]byte, 20)
	n, err := out.Read(pid)
	if err != nil {
		t.Fatal(err)
	}
	server := "/proc/" + strings.TrimSpace(string(pid[:n]))
	isServer := func() bool {
		line, err := os.ReadFile(server + "/cmdline")
		return err == nil && strings.HasPrefix(string(line), "opm\x00serve")
	}
	hasPort := func() bool {
		_, err := os.Stat(filepath.Join(cmd.Dir, "port"))
		return err == nil
	}
	for !hasPort() {
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); isServer(); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the server goes on")
		}
	}
	_ = cmd.Wait()
}
