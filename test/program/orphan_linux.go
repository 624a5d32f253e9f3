package program

import (
	"os/exec"
	"syscall"
)

// EndWithTest has a process that is to be started end with the test, also if that is killed.
func EndWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
