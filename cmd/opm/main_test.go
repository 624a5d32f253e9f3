package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/shared"
)

var update = golden.Update

// TestScripts runs the scripts in testdata/script, each of which begins with the behaviour it is about. In scripts,
//
//	opm ARGUMENT...
//
// runs opm in a worker, and exec opm runs the program: with standard input (stdin), on a terminal, or in a shell.
func TestScripts(t *testing.T) {
	golden.Repeat(t)
	testscript.Run(t, scripts(callOPM, scriptFiles()))
}

// TestScriptsAsProgram checks that the output and the exit status of opm in a worker are those of the program. It runs
// every tenth script both ways, of the scripts without a log: that of a server has ports and keys of directories, and
// that of -v has times.
func TestScriptsAsProgram(t *testing.T) {
	var files []string
	verbose := regexp.MustCompile(`(?m)^(! )?opm .* -v( |$)`)
	steady := slices.DeleteFunc(scriptFiles(), func(file string) bool {
		text, err := os.ReadFile(file)
		cmdline.Must(err)
		return strings.HasPrefix(filepath.Base(file), "serve") || verbose.Match(text)
	})
	for i, file := range steady {
		if i%shared.Step(10, 60) == 0 {
			files = append(files, file)
		}
	}
	var inWorker, asProgram transcript
	t.Run("worker", func(t *testing.T) { testscript.Run(t, scripts(inWorker.of(callOPM), files)) })
	t.Run("program", func(t *testing.T) { testscript.Run(t, scripts(asProgram.of(runProgram), files)) })
	for file, want := range asProgram.outputs {
		if got := inWorker.outputs[file]; got != want {
			t.Errorf("%s: the worker prints\n%s\nand the program\n%s", file, got, want)
		}
	}
}

func scriptFiles() []string {
	files, err := filepath.Glob("testdata/script/*.txtar")
	cmdline.Must(err)
	return files
}

// A runner runs a call of opm in one of the two ways.
type runner func(workerCall) (result, error)

// scripts returns the parameters to run scripts whose command opm is run by a runner.
func scripts(run runner, files []string) testscript.Params {
	cmds := maps.Clone(imageCommands)
	cmds["cluster"] = startCluster
	cmds["opm"] = func(ts *testscript.TestScript, neg bool, args []string) {
		r, err := run(workerCall{Args: args, Env: environmentOf(ts), Dir: ts.MkAbs(".")})
		ts.Check(err)
		fmt.Fprint(ts.Stdout(), r.stdout)
		fmt.Fprint(ts.Stderr(), r.stderr)
		switch {
		case neg && r.code == 0:
			ts.Fatalf("unexpected command success")
		case !neg && r.code != 0:
			ts.Fatalf("unexpected exit status %d", r.code)
		}
	}
	return testscript.Params{
		Files:               files,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               withRegistry,
		Cmds:                cmds,
	}
}

// environmentOf returns the variables of a script that are not empty; testscript has no function for it.
func environmentOf(ts *testscript.TestScript) (env []string) {
	for _, name := range scriptVariables() {
		if value := ts.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// scriptVariables returns the names of the variables that testscript, withRegistry or any script sets.
var scriptVariables = sync.OnceValue(func() []string {
	names := []string{"WORK", "PATH", "HOME", "TMPDIR", "GOCOVERDIR", "GORACE", "REGISTRY", "MIRRORED", "KUBECONFIG"}
	for _, file := range scriptFiles() {
		text, err := os.ReadFile(file)
		cmdline.Must(err)
		for _, line := range envLine.FindAllSubmatch(text, -1) {
			for setting := range strings.FieldsSeq(string(line[1])) {
				name, _, _ := strings.Cut(setting, "=")
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

var envLine = regexp.MustCompile(`(?m)^(?:\[[^]]*\] )*env (.*)`)

// A transcript collects the output of the calls in scripts, by script.
type transcript struct {
	mu      sync.Mutex
	outputs map[string]string
}

// of returns a runner that adds the output of another one. Scripts run at the same time.
func (t *transcript) of(run runner) runner {
	return func(c workerCall) (result, error) {
		r, err := run(c)
		env := map[string]string{}
		for _, variable := range c.Env {
			name, value, _ := strings.Cut(variable, "=")
			env[name] = value
		}
		text := fmt.Sprintf("> opm %q\n%s%s[%d]\n", c.Args, r.stdout, r.stderr, r.code)
		text = strings.NewReplacer(env["WORK"], "$WORK", env["REGISTRY"], "$REGISTRY").Replace(logTime.ReplaceAllString(text, ""))
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.outputs == nil {
			t.outputs = map[string]string{}
		}
		t.outputs[filepath.Base(env["WORK"])] += text
		return r, err
	}
}

// A result is the output and the exit status of a run of opm.
type result struct {
	stdout, stderr string
	code           int
}

// opm runs a command line of opm in a worker, split at spaces, in a directory.
func opm(t *testing.T, dir, line string) result {
	t.Helper()
	r, err := callOPM(workerCall{Args: strings.Fields(line), Env: os.Environ(), Dir: absolute(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// runProgram runs a call as a program.
func runProgram(c workerCall) (result, error) {
	cmd := exec.Command("opm", c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, bytes.NewReader(c.Stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return result{}, err
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}, nil
}
