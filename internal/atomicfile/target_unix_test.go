//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/opm-toolchain/opm/internal/regular"
)

// TestFollow checks that a link stays, and that its target is replaced or created.
func TestFollow(t *testing.T) {
	for _, tt := range []struct{ name, link, target string }{
		{"a file", "f", "f"},
		{"a file elsewhere", "sub/f", "sub/f"},
		{"a link", "again", "f"},
		{"a directory that is a link", "away/../f", "other/f"},
		{"nothing", "new", "new"},
		{"nothing elsewhere", "sub/new", "sub/new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			err := errors.Join(os.Mkdir(at("sub"), 0o700), os.MkdirAll(at("other/sub"), 0o700),
				os.WriteFile(at("f"), []byte("old"), 0o600), os.WriteFile(at("sub/f"), []byte("old"), 0o600),
				os.WriteFile(at("other/f"), []byte("old"), 0o600),
				os.Symlink(at("f"), at("again")), os.Symlink("other/sub", at("away")), os.Symlink(tt.link, at("link")))
			if err != nil {
				t.Fatal(err)
			}
			if err := Write(at("link"), Options{}, text("new")); !errors.Is(err, fs.ErrExist) {
				t.Errorf("without Replace: got %v, want %v", err, fs.ErrExist)
			}
			if err := Write(at("link"), Options{Replace: true}, text("new")); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			for name, opts := range map[string]Options{"": {Replace: true}, "in root": {Replace: true, Root: root}} {
				path := at("link")
				if opts.Root != nil {
					path = "link"
				}
				err := Write(path, opts, text("new"+name))
				if tt.name == "a link" && opts.Root != nil {
					if err == nil {
						t.Error("an absolute link leads out of the root")
					}
				} else if got, _ := os.ReadFile(at(tt.target)); err != nil || string(got) != "new"+name {
					t.Errorf("got %q, %v", got, err)
				}
				if link, err := os.Readlink(at("link")); link != tt.link {
					t.Errorf("the link is %q, %v", link, err)
				}
			}
			err = ChangeAll([]Change{{Path: at("link"), Fill: text("newer")}})
			if got, _ := os.ReadFile(at(tt.target)); err != nil || string(got) != "newer" {
				t.Errorf("with others: got %q, %v", got, err)
			}
			if err := Remove(at("link")); err != nil {
				t.Error(err)
			}
			_, noTarget := os.Lstat(at(tt.target))
			if _, noLink := os.Lstat(at("link")); noTarget == nil || noLink != nil {
				t.Errorf("after Remove: target %v, link %v", noTarget, noLink)
			}
		})
	}
}

func TestFollowLoop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink("loop", path); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, Options{Replace: true}, text("x")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("got %v, want %v", err, syscall.ELOOP)
	}
}

// special creates files that are not regular in a new directory, and a link to each.
func special(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	t.Chdir(dir) // names of sockets are short
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	names = []string{"pipe", "socket"}
	if makeNull("device") == nil { // as root
		names = append(names, "device")
	}
	for _, name := range names {
		if err := os.Symlink(name, "link to "+name); err != nil {
			t.Fatal(err)
		}
		names = append(names, "link to "+name)
	}
	return dir, names
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

// types returns the types of the files in a directory, without the files of a write that is going on.
func types(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(entries)
}

// TestSpecialFiles checks that devices, pipes and sockets are never replaced, and only written to if that is allowed.
func TestSpecialFiles(t *testing.T) {
	dir, names := special(t)
	before := types(t, dir)
	for _, name := range names {
		err := Write(name, Options{Replace: true}, text("x"))
		if !errors.Is(err, regular.ErrNotRegular) || !strings.HasPrefix(err.Error(), "create "+name+": want a file, found a ") {
			t.Errorf("%s: got %v", name, err)
		}
		if err := Write(name, Options{}, text("x")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s without Replace: got %v", name, err)
		}
		if err := WriteAll([]string{name}, func(string, io.Writer) error { return nil }); !errors.Is(err, regular.ErrNotRegular) {
			t.Errorf("%s with others: got %v", name, err)
		}
		if err := ChangeAll([]Change{{Path: name}}); !errors.Is(err, ErrInTheWay) {
			t.Errorf("%s removed with others: got %v", name, err)
		}
		if err := Remove(name); err != nil {
			t.Errorf("remove %s: %v", name, err)
		}
		if err := NewDir(name, fill("a", "x")); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s as a directory: got %v", name, err)
		}
		if strings.HasPrefix(name, "link") {
			continue // which Merge replaces
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := Merge(root, fill(name, "x")); !errors.Is(err, ErrInTheWay) {
			t.Errorf("%s in a directory of files: got %v", name, err)
		}
	}
	if after := types(t, dir); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

// TestStream checks that content is written to a stream only once it is complete.
func TestStream(t *testing.T) {
	dir, names := special(t)
	before := types(t, dir)
	broken := errors.New("broken")
	for _, name := range names {
		var content []byte
		var read chan struct{}
		write := func(fill func(io.Writer) error) error {
			content, read = nil, make(chan struct{})
			if strings.HasSuffix(name, "pipe") {
				go func() {
					defer close(read)
					content, _ = os.ReadFile(name)
				}()
			} else {
				close(read)
			}
			err := Write(name, Options{Stream: true}, fill)
			<-read
			return err
		}
		if strings.HasSuffix(name, "socket") {
			if err := Write(name, Options{Stream: true, Replace: true}, text("x")); !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s: got %v", name, err)
			}
			continue
		}
		err := write(func(w io.Writer) error { return errors.Join(text("half")(w), broken) })
		if !errors.Is(err, broken) || len(content) > 0 {
			t.Errorf("%s: got %v, and %q was written", name, err, content)
		}
		err = write(text("all"))
		if err != nil || strings.HasSuffix(name, "pipe") && string(content) != "all" {
			t.Errorf("%s: got %v, and %q was written", name, err, content)
		}
	}
	if after := types(t, dir); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
}

// TestDescriptor checks that the descriptors of the process are written to, at their position.
func TestDescriptor(t *testing.T) {
	if _, err := os.Stat("/dev/fd"); err != nil {
		t.Skip("needs /dev/fd")
	}
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	plain, err := os.Create(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.WriteString("before "); err != nil {
		t.Fatal(err)
	}
	gone, err := os.Create(filepath.Join(dir, "gone"))
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if err := os.Remove(gone.Name()); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{w, plain, gone} {
		name := fmt.Sprintf("/dev/fd/%d", f.Fd())
		link := filepath.Join(dir, "link")
		if err := os.Symlink(name, link); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{name, link} {
			for _, opts := range []Options{{Stream: true}, {Stream: true, Replace: true}} {
				if err := Write(name, opts, text("text ")); err != nil {
					t.Errorf("%s: %v", f.Name(), err)
				}
			}
			if err := Write(name, Options{Replace: true}, text("text ")); !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s without Stream: got %v", f.Name(), err)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	want := strings.Repeat("text ", 4)
	if got, err := io.ReadAll(r); string(got) != want {
		t.Errorf("the pipe has %q, %v", got, err)
	}
	if got, _ := os.ReadFile(plain.Name()); string(got) != "before "+want {
		t.Errorf("the file has %q", got)
	}
	if got, err := gone.Seek(0, io.SeekCurrent); got != int64(len(want)) {
		t.Errorf("the removed file has %d bytes, %v", got, err)
	}
	holds(t, dir, "plain", "before "+want)
}

// TestMagicLink checks that a link of the system to an open file is not taken for its text.
func TestMagicLink(t *testing.T) {
	self := fmt.Sprintf("/proc/%d/task/%d/fd", os.Getpid(), os.Getpid())
	if _, err := os.Stat(self); err != nil {
		t.Skip("needs /proc")
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "gone"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		t.Fatal(err)
	}
	err = Write(fmt.Sprintf("%s/%d", self, f.Fd()), Options{Replace: true, Stream: true}, text("x"))
	if !errors.Is(err, regular.ErrNotRegular) {
		t.Errorf("got %v", err)
	}
	holds(t, dir)
}

// TestWriteAtOnce checks that a file that is replaced meanwhile is no link of the system.
func TestWriteAtOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for _, name := range []string{"file", "link", "file", "link"} {
		group.Go(func() {
			for range 500 {
				if err := Write(filepath.Join(dir, name), Options{Replace: true}, text("x")); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// TestOwner checks that a replaced file keeps its owner and group if root replaces it, as in the directory of a user.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		if err := errors.Join(os.WriteFile(at(name), nil, 0o600), os.Chown(at(name), 1234, 5678)); err != nil {
			t.Fatal(err)
		}
	}
	err := Write(at("a"), Options{Replace: true}, text("new"))
	err = errors.Join(err, WriteAll([]string{at("b"), at("c")}, func(_ string, w io.Writer) error { return text("new")(w) }))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][2]uint32{"a": {1234, 5678}, "b": {1234, 5678}, "c": {0, uint32(os.Getegid())}} {
		info, err := os.Stat(at(name))
		if err != nil {
			t.Fatal(err)
		}
		s := info.Sys().(*syscall.Stat_t)
		if got := [2]uint32{s.Uid, s.Gid}; got != want {
			t.Errorf("%s: got user and group %d, want %d", name, got, want)
		}
	}
}
