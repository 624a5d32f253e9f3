//go:build unix

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// outputFiles are command lines that write to the file OUT, in a copy of the examples. Only the last one needs an image.
var outputFiles = []struct {
	line    string
	streams bool // it may be a device or a named pipe
	keeps   bool // an existing file is not replaced
}{
	{line: "render catalog --output-file OUT", streams: true},
	{line: "build catalog -i scratch --platform linux/amd64 --archive OUT", streams: true},
	{line: "filter catalog --package kiln -o images --summary OUT", streams: true, keeps: true},
	{line: "render catalog --lock OUT"},
	{line: "validate broken --baseline OUT --write-baseline"},
	{line: "mirror --image IMAGE --to IMAGE-mirror --use-http --record OUT"},
}

// TestOutputFiles checks that no command replaces a link, a device, a named pipe or a socket by its output.
func TestOutputFiles(t *testing.T) {
	image := newRegistry(t) + "/kiln"
	if err := push(filepath.Join(examples, "bundle"), image+":latest"); err != nil {
		t.Fatal(err)
	}
	work := copyExamples(t)
	for _, tt := range outputFiles {
		t.Run(tt.line, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir) // names of sockets are short
			line := strings.ReplaceAll(tt.line, "IMAGE", image)
			run := func(name string) result {
				return opm(t, work, strings.ReplaceAll(line, "OUT", filepath.Join(dir, name)))
			}
			socket, err := net.Listen("unix", "socket")
			if err != nil {
				t.Fatal(err)
			}
			defer socket.Close()
			err = cmp.Or(syscall.Mkfifo("pipe", 0o600), os.Symlink("plain", "link"), os.Symlink("new", "dangling"))
			if err != nil {
				t.Fatal(err)
			}
			if makeNull("device") == nil { // as root
				if got := run("device"); (got.code == 0) != tt.streams {
					t.Errorf("to a device: %+v", got)
				}
			}
			before := types(t)
			expect := func(name, file string, want []byte) {
				t.Helper()
				got := run(name)
				if text, err := os.ReadFile(file); got.code != 0 || !bytes.Equal(text, want) {
					t.Errorf("to %s: %+v, and %s has %d of %d bytes, %v", name, got, file, len(text), len(want), err)
				}
			}
			refuse := func(name string) {
				t.Helper()
				if got := run(name); got.code != 1 || !strings.Contains(got.stderr, name) {
					t.Errorf("to %s: it is not refused: %+v", name, got)
				}
			}
			if got := run("plain"); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			want, err := os.ReadFile("plain")
			if err != nil {
				t.Fatal(err)
			}
			refuse("socket")
			if tt.keeps {
				refuse("plain")
				refuse("link")
				refuse("dangling")
			} else {
				expect("link", "plain", want)
				expect("dangling", "new", want)
			}
			if tt.streams {
				read := make(chan []byte)
				go func() {
					text, _ := os.ReadFile("pipe")
					read <- text
				}()
				got := run("pipe")
				if text := <-read; got.code != 0 || !bytes.Equal(text, want) {
					t.Errorf("to a pipe: %+v, and it has %d of %d bytes", got, len(text), len(want))
				}
			} else {
				refuse("pipe")
			}
			_ = cmp.Or(os.Remove("plain"), os.Remove("new"))
			if after := types(t); after != before {
				t.Errorf("got %s, want %s", after, before)
			}
		})
	}
}

// types returns the names and types of the files in the current directory.
func types(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(entries)
}

// makeNull creates a device that takes everything, and has nothing.
func makeNull(path string) error {
	if err := syscall.Mknod(path, syscall.S_IFCHR|0o600, 1<<8|3); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // not on file systems without devices
	if err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return f.Close()
}

// TestOutputDescriptor writes to descriptors, as with the shell's >(command) and exec 3>file.
func TestOutputDescriptor(t *testing.T) {
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("needs /dev/fd")
	}
	want := opm(t, examples, "render catalog").stdout
	for _, path := range []string{"/dev/fd/3", "/dev/stdout"} {
		file, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString("before\n"); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "opm", "render", "catalog", "--output-file", path)
		cmd.Dir = examples
		cmd.ExtraFiles = []*os.File{file}
		if path == "/dev/stdout" {
			cmd.Stdout = file
		}
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(file.Name()); string(got) != "before\n"+want {
			t.Errorf("%s has %.100q, %v", path, got, err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "opm", "filter", "catalog", "--package", "kiln", "-o", "images", "--summary", "/dev/fd/3")
	cmd.Dir = examples
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Run()
	w.Close()
	if n, _ := r.Read(make([]byte, 1)); err != nil || n == 0 {
		t.Errorf("a pipe gets %d bytes, %v", n, err)
	}
}

// TestPortFile checks that a server removes the file of its port, but nothing else that --port-file names.
func TestPortFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := cmp.Or(syscall.Mkfifo(at("pipe"), 0o600), os.Symlink("file", at("link"))); err != nil {
		t.Fatal(err)
	}
	port := make(chan string)
	for _, name := range []string{"pipe", "link"} {
		if name == "pipe" {
			go func() {
				text, _ := os.ReadFile(at(name))
				port <- string(text)
			}()
		}
		s := serving(t, examples, "catalog", "--port", "0", "--port-file", at(name))
		s.expect(t)
		if name == "link" {
			go func() {
				text, _ := os.ReadFile(at("file"))
				port <- string(text)
			}()
		}
		if got := <-port; !strings.HasSuffix(s.addr, ":"+strings.TrimSpace(got)) {
			t.Errorf("%s has port %q, want that of %s", name, got, s.addr)
		}
		s.end(t)
	}
	if left := names(t, dir); !slices.Equal(left, []string{dir, at("link"), at("pipe")}) {
		t.Errorf("left are %q", left)
	}
}
