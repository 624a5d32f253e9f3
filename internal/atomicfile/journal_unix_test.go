//go:build unix

package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// everyStep calls fn before and after each step that changes a file under its own name, a backup or a journal.
func everyStep(t *testing.T, links bool, fn func()) {
	t.Helper()
	l, r, rm, all, j := link, rename, remove, removeAll, renameJournal
	t.Cleanup(func() { link, rename, remove, removeAll, renameJournal = l, r, rm, all, j })
	two := func(step func(*os.Root, string, string) error) func(*os.Root, string, string) error {
		return func(root *os.Root, from, to string) error {
			fn()
			defer fn()
			return step(root, from, to)
		}
	}
	one := func(step func(*os.Root, string) error) func(*os.Root, string) error {
		return func(root *os.Root, name string) error {
			fn()
			defer fn()
			return step(root, name)
		}
	}
	if !links {
		l = func(*os.Root, string, string) error { return syscall.EPERM }
	}
	link, rename, renameJournal, remove, removeAll = two(l), two(r), two(j), one(rm), one(all)
}

// withoutTemps returns the entries of a list that are not temporary.
func withoutTemps(list string) string {
	var kept []string
	for word := range strings.SplitSeq(list, " ") {
		if !strings.Contains(word, ".opm-") {
			kept = append(kept, word)
		}
	}
	return strings.Join(kept, " ")
}

// TestKilledTx takes a copy of two directories at each step of a transaction, as a killed process leaves them. It checks
// that the next writer to either directory leaves all files as before or all as after the transaction, also if it is
// killed itself, and that writers beside the running transaction do not disturb it.
func TestKilledTx(t *testing.T) {
	for _, links := range []bool{true, false} {
		t.Run("links "+strconv.FormatBool(links), func(t *testing.T) {
			dir, copies := t.TempDir(), t.TempDir()
			before, killed := startTx(t, dir), 0
			takeCopy := func() {
				killed++
				copyTree(t, dir, filepath.Join(copies, strconv.Itoa(killed)))
				if err := RemoveStale(dir, true); err != nil {
					t.Errorf("beside the transaction: %v", err)
				}
			}
			t.Run("", func(t *testing.T) {
				everyStep(t, links, takeCopy)
				if err := changeTx(dir); err != nil {
					t.Fatal(err)
				}
			})
			after := list(t, dir)
			if want := "v1 v1/a=newer v1/b=newer v2 v2/c=newer v2/new v2/new/d=newer"; after != want {
				t.Fatalf("got %s, want %s", after, want)
			}
			mixed, last := 0, before
			for n := range killed {
				if (killed-1-n)%shared.Step(1, 4) > 0 { // the last is always tried
					continue
				}
				for _, first := range []string{"v1", "v2"} {
					at := filepath.Join(copies, strconv.Itoa(n+1))
					again := filepath.Join(copies, "again")
					copyTree(t, at, again)
					state := withoutTemps(list(t, again))
					isMixed := state != before && state != after
					if isMixed {
						mixed++
					}
					got := checkNextWriter(t, again, first, isMixed)
					if got != before && got != after {
						t.Errorf("step %d of %d, %s first: from %s to %s", n+1, killed, first, list(t, at), got)
					}
					if last == after && got != after {
						t.Errorf("step %d is rolled back after a step that was not", n+1)
					}
					last = got
				}
			}
			if mixed < shared.Number(6, 2) || last != after {
				t.Errorf("%d of %d copies have some of the changes; the last is %s", mixed, killed, last)
			}
		})
	}
}

// TestKilledTxInRoot checks that the next writer to the root of a killed transaction leaves one of both states, and that
// no step leaves a temporary file below the root.
func TestKilledTxInRoot(t *testing.T) {
	dir, copies, killed := t.TempDir(), t.TempDir(), 0
	before := startTx(t, dir)
	t.Run("", func(t *testing.T) {
		everyStep(t, false, func() {
			killed++
			copyTree(t, dir, filepath.Join(copies, strconv.Itoa(killed)))
		})
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		tx := Tx{Root: root}
		err = errors.Join(tx.Write("v1/a", 0, text("newer")), tx.Write("v2/new/d", 0, text("newer")), tx.Remove("v2/gone"),
			tx.Write("v2/c", 0, text("newer")), tx.Commit())
		if err != nil {
			t.Fatal(err)
		}
	})
	after := list(t, dir)
	if want := "v1 v1/a=newer v1/b=old v2 v2/c=newer v2/new v2/new/d=newer"; after != want {
		t.Errorf("got %s, want %s", after, want)
	}
	mixed := 0
	for n := range killed {
		at := filepath.Join(copies, strconv.Itoa(n+1))
		state := list(t, at)
		if strings.Contains(state, "v1/.opm-") || strings.Contains(state, "v2/.opm-") {
			t.Errorf("below the root: %s", state)
		}
		if now := withoutTemps(state); now != before && now != after {
			mixed++
		}
		_ = RemoveStale(at, false) // it reports the files it rolled back
		if got := list(t, at); got != before && got != after {
			t.Errorf("step %d of %d: from %s to %s", n+1, killed, state, got)
		}
	}
	if mixed < 6 {
		t.Errorf("%d of %d copies have some of the changes", mixed, killed)
	}
}

// startTx writes the files of the test, and returns their list.
func startTx(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"v1/a", "v1/b", "v2/c", "v2/gone"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("old"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return list(t, dir)
}

func changeTx(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	return ChangeAll([]Change{
		{Path: at("v1/a"), Fill: text("newer")}, {Path: at("v2/new/d"), Fill: text("newer")},
		{Path: at("v2/gone")}, {Path: at("v1/b"), Fill: text("newer")}, {Path: at("v2/c"), Fill: text("newer")},
	})
}

// checkNextWriter checks that the leftovers of a killed transaction are removed by writers to one directory and then to
// the other one and, if often is set, that the result is the same if the first writer is killed at any step. It returns
// the list of files.
func checkNextWriter(t *testing.T, dir, first string, often bool) string {
	t.Helper()
	all, copies := []string{dir}, t.TempDir()
	t.Run("", func(t *testing.T) {
		if often {
			everyStep(t, true, func() {
				at := filepath.Join(copies, strconv.Itoa(len(all)))
				copyTree(t, dir, at)
				all = append(all, at)
			})
		}
		_ = RemoveStale(filepath.Join(dir, first), true) // it reports the files it rolled back
	})
	want := withoutTemps(list(t, dir))
	for i, at := range all {
		_ = RemoveStale(at, true)
		if got := list(t, at); got != want {
			t.Errorf("after another kill at step %d of %d: got %s, want %s", i, len(all), got, want)
		}
	}
	return want
}

// copyTree copies a directory with the times and hard links of its files.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	links := map[uint64]string{} // by inode
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if e.IsDir() {
			return os.Mkdir(target, 0o700)
		}
		inode := info.Sys().(*syscall.Stat_t).Ino
		if first, ok := links[inode]; ok {
			return os.Link(first, target)
		}
		links[inode] = target
		content, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(target, content, 0o600), os.Chtimes(target, info.ModTime(), info.ModTime()))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// killedTx returns a directory as it is if a transaction is killed after the given number of renames.
func killedTx(t *testing.T, renames int) (dir string) {
	t.Helper()
	from := t.TempDir()
	dir = filepath.Join(t.TempDir(), "killed")
	startTx(t, from)
	t.Run("", func(t *testing.T) {
		before := rename
		t.Cleanup(func() { rename = before })
		rename = func(root *os.Root, old, now string) error {
			if renames--; renames == -1 {
				copyTree(t, from, dir)
			}
			return before(root, old, now)
		}
		if err := changeTx(from); err != nil {
			t.Fatal(err)
		}
	})
	return dir
}

// TestRollBackReports checks the reports of a rollback, and that a file that was changed since is kept, and its backup.
func TestRollBackReports(t *testing.T) {
	dir := killedTx(t, 3)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("v1/a"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := RemoveStale(at("v1"), true)
	for _, want := range []string{
		at("v1/b") + " was changed by a killed process, and is as it was before",
		at("v2/gone") + " was changed by a killed process, and is as it was before",
		at("v2/new/d") + " was changed by a killed process, and is as it was before",
		"restore " + at("v1/a") + ": another process changed it; its old content is in " + at("v1/.opm-"),
		" has the old content of a file that could not be restored: ",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if got, want := withoutTemps(list(t, dir)), "v1 v1/a=mine v1/b=old v2 v2/c=old v2/gone=old"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	backups, err := filepath.Glob(at("v1/.opm-*/a"))
	if err != nil || len(backups) != 1 {
		t.Fatalf("backups %q, %v", backups, err)
	}
	if kept, err := os.ReadFile(backups[0]); err != nil || string(kept) != "old" {
		t.Errorf("the backup is %q, %v", kept, err)
	}
}

// TestRollBackWaits checks that nothing is rolled back and no backup is lost while another process uses a file.
func TestRollBackWaits(t *testing.T) {
	dir := killedTx(t, 3)
	root, err := os.OpenRoot(filepath.Join(dir, "v2"))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	unlock, err := TryLock(root, "new/d")
	if err != nil {
		t.Skip(err)
	}
	if err := RemoveStale(filepath.Join(dir, "v2"), true); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v, want %v", err, ErrLocked)
	}
	unlock()
	_ = RemoveStale(filepath.Join(dir, "v2"), true)
	if got, want := list(t, dir), "v1 v1/a=old v1/b=old v2 v2/c=old v2/gone=old"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestPlantedJournal checks that a journal in a directory does not change files elsewhere, or outside of the root.
func TestPlantedJournal(t *testing.T) {
	for name, text := range map[string]string{
		"elsewhere": `{"dirs":[".","../other"],"files":[{"name":"x","backup":".opm-1.old.tmp"}]}`,
		"main":      `{"dirs":["../other","."],"files":[]}`,
		"outside":   `{"dirs":["."],"files":[{"name":"../other/f","backup":".opm-1.old.tmp"}]}`,
		"backup":    `{"dirs":["."],"files":[{"name":"f","backup":"../other"}]}`,
		"empty":     `{}`,
		"text":      `x`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, content := range map[string]string{
				"planted/.opm-1.journal.tmp": text, "planted/.opm-1.old.tmp/f": "bad", "planted/f": "good", "other/f": "good",
			} {
				path := filepath.Join(dir, file)
				err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			err := RemoveStale(filepath.Join(dir, "planted"), true)
			if got, want := withoutTemps(list(t, dir)), "other other/f=good planted planted/f=good"; got != want {
				t.Errorf("got %s, want %s, %v", got, want, err)
			}
			isJournal := name == "elsewhere" || name == "main"
			if _, statErr := os.Lstat(filepath.Join(dir, "planted/.opm-1.journal.tmp")); isJournal == (statErr == nil) {
				t.Errorf("the journal: %v; %v", statErr, err)
			}
			if _, missing := os.Lstat(filepath.Join(dir, "planted/.opm-1.old.tmp/f")); !isJournal && errors.Is(missing, fs.ErrNotExist) {
				t.Error("the backup of a journal that cannot be read is removed")
			}
		})
	}
}

// TestPlantedJournalInSharedDirectory checks that nobody can change the files of another user with a journal in a
// directory such as /tmp.
func TestPlantedJournalInSharedDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can create files of other users")
	}
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"mine/f": "good", ".opm-1.old.tmp/f": "bad",
		".opm-1.journal.tmp": `{"dirs":["."],"files":[{"name":"mine/f","backup":".opm-1.old.tmp","size":4,"time":"2001-09-09T01:46:40Z"}]}`,
	})
	old := time.Unix(1e9, 0)
	err := errors.Join(os.Chmod(dir, 0o777|fs.ModeSticky), os.Chtimes(filepath.Join(dir, "mine/f"), old, old))
	for _, planted := range []string{".opm-1.journal.tmp", ".opm-1.old.tmp", ".opm-1.old.tmp/f"} {
		err = errors.Join(err, os.Chown(filepath.Join(dir, planted), 1234, 1234))
	}
	if err != nil {
		t.Fatal(err)
	}
	err = RemoveStale(dir, false)
	if want := "it belongs to another user"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if got, want := withoutTemps(list(t, dir)), "mine mine/f=good"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// The same journal is valid if it is of root.
	if err := os.Chown(filepath.Join(dir, ".opm-1.journal.tmp"), 0, 0); err != nil {
		t.Fatal(err)
	}
	err = RemoveStale(dir, false)
	if got, want := list(t, dir), "mine mine/f=bad"; got != want {
		t.Errorf("got %s, want %s; %v", got, want, err)
	}
}

// TestJournalOfOtherMain checks that a copy of the main directory of a transaction does not roll back the files of the
// other directories, whose main directory is the original, and removes no temporary files there.
func TestJournalOfOtherMain(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"copy/.opm-1.journal.tmp": `{"dirs":[".","../v2","../v3"],"files":[]}`,
		"v1/a":                    "new", // committed
		"v2/.opm-1.journal.tmp":   `{"dirs":["../v1","."],"files":[{"name":"b","backup":".opm-1.old.tmp"}]}`,
		"v2/.opm-1.old.tmp/b":     "old",
		"v3/.opm-2.tmp":           "of another process",
	})
	before := list(t, filepath.Join(dir, "v2"))
	if err := RemoveStale(filepath.Join(dir, "copy"), false); err != nil {
		t.Error(err)
	}
	if got := list(t, filepath.Join(dir, "v2")); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
	if got, want := list(t, filepath.Join(dir, "v3")), ".opm-2.tmp=of another process"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := list(t, filepath.Join(dir, "copy")); got != "" {
		t.Errorf("the copy has %s", got)
	}
}

// TestJournalStays checks that a journal that cannot be applied is reported and stays, as do its backups.
func TestJournalStays(t *testing.T) {
	for text, want := range map[string]string{
		`{"dirs":["../gone","."],"files":[{"name":"f","backup":".opm-1.old.tmp"}]}`: "../gone was killed, and that directory is gone",
		`{"dirs":["."],"files":[],"links":[{"name":"f"}]}`:                          `unknown object member name "links"`,
		`{"dirs":["."],"files":[{"name":"f","back`:                                  "unexpected EOF",
	} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"f": "new", ".opm-1.old.tmp/f": "old", ".opm-1.journal.tmp": text})
		before := list(t, dir)
		if err := RemoveStale(dir, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if got := list(t, dir); got != before {
			t.Errorf("got %s, want %s", got, before)
		}
	}
}

// TestKilledTxOfNames checks the rollback of files and directories with names that are not UTF-8, or have line breaks.
func TestKilledTxOfNames(t *testing.T) {
	dir, killed := t.TempDir(), filepath.Join(t.TempDir(), "killed")
	for _, name := range []string{"v\xe9/\xff", "a\nb/%41\n"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("old"), 0o600)); err != nil {
			t.Skip(err) // darwin
		}
	}
	before := list(t, dir)
	t.Run("", func(t *testing.T) {
		calls, step := 0, rename
		t.Cleanup(func() { rename = step })
		rename = func(root *os.Root, from, to string) error {
			if calls++; calls == 2 {
				copyTree(t, dir, killed)
			}
			return step(root, from, to)
		}
		err := WriteAll([]string{filepath.Join(dir, "v\xe9/\xff"), filepath.Join(dir, "a\nb/%41\n")},
			func(_ string, w io.Writer) error { return text("newer")(w) })
		if err != nil {
			t.Fatal(err)
		}
	})
	_ = RemoveStale(filepath.Join(killed, "a\nb"), false) // it reports the files it rolled back
	if got := list(t, killed); got != before {
		t.Errorf("got %q, want %q", got, before)
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}
