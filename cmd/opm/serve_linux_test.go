package main

import (
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// readOnly is a script that makes everything read-only but the directory small, and becomes a command of a user that
// the system does not know. It runs in a mount namespace of its own.
const readOnly = `set -e
small=$1
shift
mount --make-rprivate /
[ -z "$small" ] || mount -t tmpfs -o size=4m,mode=1777 small "$small"
awk '{ print $2 }' /proc/mounts | while read -r m; do
	case $m in
	"$small" | /proc* | /sys*) ;;
	*) mount -o remount,bind,ro "$m" 2>/dev/null || true ;;
	esac
done
exec setpriv --reuid 54321 --regid 54321 --clear-groups --no-new-privs "$@"
`

// TestServeReadOnly serves as an arbitrary user ID on a read-only file system, with and without a small writable
// directory.
func TestServeReadOnly(t *testing.T) {
	if _, err := exec.LookPath("setpriv"); err != nil || os.Getuid() != 0 {
		t.Skip("needs to be root, and setpriv")
	}
	dir, err := os.MkdirTemp("", "opm-read-only-*") //nolint:usetesting // t.TempDir is for its user alone
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	small := filepath.Join(dir, "small")
	program, err := os.Executable()
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = os.Mkdir(small, 0o755)
	}
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(examples))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", program, filepath.Join(dir, "opm")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []struct {
		name, small string
		args        []string
		logged      string
	}{
		{"a small file system", small, nil, ""},
		{"a cache in it", small, []string{"--cache-dir", small + "/cache"}, "no cache yet"},
		{"nothing to write to", "", nil, "no directory is writable, keeping the store in memory"},
		{"a cache that cannot be written", "", []string{"--cache-dir", dir + "/cache"},
			"store cannot be written to the cache directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cmd := exec.Command("sh", append([]string{
				"-c", readOnly, "sh", test.small, filepath.Join(dir, "opm"), "serve", filepath.Join(dir, "catalog"),
				"--addr", "localhost:0",
			}, test.args...)...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TMPDIR="+small, "HOME=/none")
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
			if err := exec.Command("unshare", "-m", "true").Run(); err != nil {
				t.Skip("needs mount namespaces")
			}
			s := startServer(t, cmd)
			s.expect(t)
			if test.logged != "" {
				s.waitLog(t, test.logged)
			}
			if strings.Contains(s.log.String(), "store in memory") != (test.small == "") {
				t.Errorf("the log of where the store is:\n%s", s.log)
			}
			s.end(t)
		})
	}
}

// TestServeFullDisk checks that the store is built elsewhere if the disk of the cache is full.
func TestServeFullDisk(t *testing.T) {
	disk := smallDisk(t)
	fill(t, filepath.Join(disk, "ballast"))
	before := strings.Join(names(t, disk), "\n")
	s := serving(t, examples, "catalog", "--cache-dir", disk)
	s.expect(t)
	s.waitLog(t, `store cannot be written to the cache directory.*no space left on device`)
	s.end(t)
	if after := strings.Join(names(t, disk), "\n"); after != before {
		t.Errorf("files are left: there are now\n%s", after)
	}
	if got := opm(t, examples, "serve catalog --cache-only --cache-dir "+disk); got.code != 1 ||
		!strings.Contains(got.stderr, "no space left on device") {
		t.Errorf("--cache-only: %+v", got)
	}
}

// TestServeCacheMode checks that other users can read a cache, whatever umask it was built with.
func TestServeCacheMode(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `umask 077 && exec opm serve "$0" --cache-dir "$1" --cache-only`,
		filepath.Join(examples, "catalog"), filepath.Join(dir, "tmp", "cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string]fs.FileMode{
		"tmp": 0o755, "tmp/cache": 0o755, "tmp/cache/catalog.opmstore": 0o644,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

// TestServeOpenFiles checks that the number of connections is limited so that the process can still open files.
func TestServeOpenFiles(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", `ulimit -n 300 && exec opm serve catalog --addr localhost:0 --max-connections 1000`)
	cmd.Dir = examples
	s := startServer(t, cmd)
	s.waitLog(t, `asked=1000 connections=200`)
	for range 400 {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	s.expect(t)
	s.end(t)
	s.waitLog(t, `connectionsClosed=2\d\d `)
	if log := s.log.String(); strings.Contains(log, "too many open files") {
		t.Errorf("the log says\n%s", log)
	}
}
