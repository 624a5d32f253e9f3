//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
)

// A watching is a run of a command with --watch.
type watching struct {
	*exec.Cmd
	t     *testing.T
	lines *bufio.Scanner // of standard error
	out   bytes.Buffer   // standard output, after interrupt
}

// startWatch starts a command with --watch in a directory. The process is killed when the test ends.
func startWatch(t *testing.T, dir, line string) *watching {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longEnough)
	t.Cleanup(cancel)
	w := &watching{Cmd: exec.CommandContext(ctx, "opm", strings.Fields(line)...), t: t}
	w.Dir, w.Stdout = dir, &w.out
	stderr, err := w.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewScanner(stderr)
	return w
}

// run returns the lines of the next run.
func (w *watching) run() (lines []string) {
	w.t.Helper()
	for w.lines.Scan() {
		lines = append(lines, w.lines.Text())
		if strings.Contains(w.lines.Text(), "irrelevant") {
			w.t.Errorf("a run for %q", w.lines.Text())
		}
		if strings.HasSuffix(w.lines.Text(), "; waiting for changes, Ctrl-C ends") {
			return lines
		}
	}
	w.t.Fatalf("it ended after %q", lines)
	return nil
}

// await waits for a run that prints some text and ends valid or not, and returns its lines. On a busy machine there may be
// runs before it, for a change that is only half made, and its heading may name an earlier change: the end of a removal,
// for example.
func (w *watching) await(text string, valid bool) (lines []string) {
	w.t.Helper()
	end := "opm: not valid;"
	if valid {
		end = "opm: valid;"
	}
	for {
		lines = w.run()
		if strings.Contains(strings.Join(lines, "\n"), text) && strings.HasPrefix(lines[len(lines)-1], end) {
			return lines
		}
		w.t.Logf("another run: %q", lines)
	}
}

// awaitFirst waits like await for the first change, whose heading must name the file.
func (w *watching) awaitFirst(changed, text string) {
	w.t.Helper()
	if lines := w.await(text, false); lines[0] != "" || !strings.HasSuffix(lines[1], " "+changed+" changed ---") {
		w.t.Errorf("got %q, want a run for %s", lines, changed)
	}
}

// interrupt sends ^C, and checks the exit code and that nothing is printed about it.
func (w *watching) interrupt(code int) {
	w.t.Helper()
	if err := w.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
	for w.lines.Scan() {
		if w.lines.Text() == process.Interrupted {
			w.t.Errorf("it prints %q", w.lines.Text())
		}
	}
	_ = w.Wait() // the code says all
	if got := w.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit code %d, want %d", got, code)
	}
}

// A directory of files to change.
type playground struct {
	t   *testing.T
	dir string
}

func (p playground) path(name string) string { return filepath.Join(p.dir, filepath.FromSlash(name)) }

func (p playground) do(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// write makes or overwrites a file in steps, as a slow editor does.
func (p playground) write(name, text string) {
	p.t.Helper()
	p.do(os.MkdirAll(filepath.Dir(p.path(name)), 0o777))
	f, err := os.Create(p.path(name))
	p.do(err)
	half := len(text) / 2
	for _, part := range []string{text[:half], text[half:]} {
		_, err := io.WriteString(f, part)
		p.do(err)
	}
	p.do(f.Close())
}

// replace saves a file as editors do that keep the old one until the new one is complete.
func (p playground) replace(name, text string) {
	p.t.Helper()
	p.do(os.Rename(p.path(name), p.path(name+"~")))
	p.write(name, text)
	p.do(os.Remove(p.path(name + "~")))
}

const oak = `schema: olm.package
name: oak
defaultChannel: stable
---
schema: olm.channel
package: oak
name: stable
entries:
- name: oak.v1.0.0
---
schema: olm.bundle
package: oak
name: oak.v1.0.0
image: registry.example/oak@sha256:2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef
properties:
- {type: olm.package, value: {packageName: oak, version: 1.0.0}}
- {type: olm.csv.metadata, value: {displayName: Oak}}
`

func TestWatchCatalog(t *testing.T) {
	t.Parallel()
	p := playground{t, t.TempDir()}
	p.write("catalog/oak.yaml", oak)
	p.write("catalog/.indexignore", "*.txt\n*~\n")
	w := startWatch(t, p.dir, "validate catalog --watch")
	w.await("", true)

	p.write("catalog/oak.yaml", oak+"---\nschema: olm.channel\npackage: oak\nname: empty\n")
	w.awaitFirst("catalog/oak.yaml", "catalog/oak.yaml:19:1: error: ")
	p.replace("catalog/oak.yaml", oak)
	w.await("", true)

	p.write("catalog/irrelevant.txt", "ignored")
	p.do(os.Mkdir(p.path("catalog/irrelevant"), 0o777))
	p.write("irrelevant.yaml", "outside of the catalog")
	p.write("catalog/new/deep/elm.yaml", "schema: olm.package\nname: elm\ndefaultChannel: stable\n")
	w.await(`package must contain at least one channel: "elm" has none`, false)
	p.write("catalog/new/deep/elm.yaml", "schema: olm.package\nname: ash\ndefaultChannel: stable\n")
	w.await(`package must contain at least one channel: "ash" has none`, false)
	p.do(os.RemoveAll(p.path("catalog/new")))
	w.await("", true)

	p.write("opm.yaml", "policy: {defaultChannel: fast}\n")
	w.await("[policy-default-channel]", false)
	p.write("opm.yaml", "policy: {defaultChannel: fast}\nbaseline: known.json\n")
	w.await("Error: read baseline: ", false)
	p.write("known.json", "{}")
	w.await("[policy-default-channel]", false)
	p.do(os.Remove(p.path("opm.yaml")))
	w.await("", true)

	p.do(os.Rename(p.path("catalog"), p.path("old")))
	w.await(`"catalog"`, false)
	p.do(os.Rename(p.path("old"), p.path("catalog")))
	w.await("", true)
	w.interrupt(0)
}

// A burst of changes, such as a git checkout, causes few runs.
func TestWatchBurst(t *testing.T) {
	t.Parallel()
	p := playground{t, t.TempDir()}
	p.write("catalog/oak.yaml", oak)
	w := startWatch(t, p.dir, "validate catalog --watch")
	w.await("", true)
	for i := range 500 {
		p.write(fmt.Sprintf("catalog/more/%d.yaml", i), "schema: example.com/any\n")
	}
	p.write("catalog/oak.yaml", strings.Replace(oak, "entries:", "entry:", 1))
	for runs := 1; !slices.Contains(w.run(), "opm: not valid; waiting for changes, Ctrl-C ends"); runs++ {
		if runs > 20 {
			t.Fatal("there are more than 20 runs")
		}
	}
	w.interrupt(1)
}

func TestWatchTemplate(t *testing.T) {
	t.Parallel()
	const template = "schema: olm.semver\nstable: {bundles: [{image: registry.example/oak@sha256:" +
		"2156d396dcc530e239eb89627b4b1d502bce1a1c702096d10afc06a740927eef}]}\n"
	p := playground{t, t.TempDir()}
	p.write("template.yaml", template)
	w := startWatch(t, p.dir, "validate template.yaml --watch")
	w.await("", true)
	p.write("irrelevant.yaml", "x")
	p.replace("template.yaml", strings.Replace(template, "stable", "stabel", 1))
	w.awaitFirst("template.yaml", `template.yaml:2:1: error: unknown key "stabel"`)
	w.interrupt(1)
}
