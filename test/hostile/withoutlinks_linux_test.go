package hostile

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// withoutLinksOf names the variable with the program that the test binary becomes, on a system without hard links.
const withoutLinksOf = "OPM_TEST_WITHOUT_LINKS_OF"

// runWithoutLinks becomes another program whose calls to make hard links fail, if the environment asks for it.
func runWithoutLinks() {
	name := os.Getenv(withoutLinksOf)
	if name == "" {
		return
	}
	runtime.LockOSThread() // the filter is of this thread, which becomes the program
	const (
		load, equal, result = syscall.BPF_LD | syscall.BPF_W | syscall.BPF_ABS, syscall.BPF_JMP | syscall.BPF_JEQ, syscall.BPF_RET

		prSetSeccomp, prSetNoNewPrivs, modeFilter = 22, 38, 2
		retErrno, retAllow                        = 0x00050000, 0x7fff0000 // see seccomp(2)
	)
	filter := []syscall.SockFilter{
		{Code: load, K: 0}, // the number of the call
		{Code: equal, Jf: 1, K: syscall.SYS_LINKAT},
		{Code: result, K: retErrno | uint32(syscall.EPERM)},
		{Code: result, K: retAllow},
	}
	program := syscall.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
	if err == 0 {
		_, _, err = syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, modeFilter, uintptr(unsafe.Pointer(&program)), 0, 0, 0)
	}
	if err != 0 {
		panic(err)
	}
	path, lookErr := exec.LookPath(name)
	if lookErr == nil {
		os.Unsetenv(withoutLinksOf)
		lookErr = syscall.Exec(path, append([]string{name}, os.Args[1:]...), os.Environ())
	}
	panic(lookErr)
}

// withoutLinks makes a command run as on a file system without hard links.
func withoutLinks(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Environ(), withoutLinksOf+"="+cmd.Args[0])
	cmd.Path = os.Args[0]
}

// requireWithoutLinks skips the test if hard links cannot be made to fail.
func requireWithoutLinks(t *testing.T) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"cat", "ln"} {
		cmd := exec.CommandContext(t.Context(), program, file, file+"2")
		if program == "cat" {
			cmd.Args = cmd.Args[:2]
		}
		withoutLinks(cmd)
		if err := cmd.Run(); (err == nil) != (program == "cat") {
			t.Skipf("hard links cannot be made to fail: %s: %v", program, err)
		}
	}
}
