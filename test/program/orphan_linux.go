package program

import (
	"os/exec"
	"syscall"
)

// EndWithTest makes a process end with the test, even if the test is killed. It must be called before the process is
// started.
func EndWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
