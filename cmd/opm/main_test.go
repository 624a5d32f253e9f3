package main

import (
	"bytes"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opm-toolchain/opm/internal/golden"
)

var update = golden.Update

// TestMain makes the test binary run as opm: scripts and other tests find it in PATH under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"opm": func() {
		endWithTest()
		main()
	}})
}

// TestScripts runs the scripts in testdata/script, each of which begins with the behaviour it is about.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               withRegistry,
		Cmds:                imageCommands,
	})
}

// A result is the output and the exit status of a run of opm.
type result struct {
	stdout, stderr string
	code           int
}

// opm runs a command line of opm, split at spaces, in a directory.
func opm(t *testing.T, dir, line string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "opm", strings.Fields(line)...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
