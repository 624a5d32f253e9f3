package tarfs

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGNUTar reads archives written by the system's tar, including sparse files.
func TestGNUTar(t *testing.T) {
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("no tar here")
	}
	dir := t.TempDir()
	for _, format := range []string{"v7", "ustar", "gnu", "posix"} {
		t.Run(format, func(t *testing.T) {
			out := filepath.Join(dir, format+".tar")
			cmd := exec.Command("tar", "-c", "-f", out, "--format="+format, "tree.go", "./fs.go")
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("this tar does not write it: %v: %s", err, text)
			}
			data := readFile(t, out)
			fsys := open(t, data)
			mustHold(t, fsys, "tree.go", string(readFile(t, "tree.go")))
			mustHold(t, fsys, "fs.go", string(readFile(t, "fs.go")))
			if !Is(data[:HeaderSize]) {
				t.Error("Is reports false")
			}
		})
	}
	for _, format := range []string{"gnu", "posix"} {
		t.Run("sparse "+format, func(t *testing.T) {
			hole := filepath.Join(dir, "hole")
			if err := errors.Join(os.WriteFile(hole, nil, 0o666), os.Truncate(hole, 10<<20)); err != nil {
				t.Skip("no file with holes here:", err)
			}
			cmd := exec.Command("tar", "-c", "-S", "-f", "hole.tar", "--format="+format, "hole")
			cmd.Dir = dir
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Skipf("this tar does not write it: %v: %s", err, text)
			}
			data := readFile(t, filepath.Join(dir, "hole.tar"))
			_, err := Open(t.Context(), bytes.NewReader(data), int64(len(data)), Options{})
			if err == nil || !strings.Contains(err.Error(), `entry "hole": it is a sparse file`) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
