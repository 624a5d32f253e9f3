//go:build unix

package declcfg_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestWalkLeavesOutWhatIsNoFile(t *testing.T) {
	root := mkdirs(t, "a.yaml", "ignored/.indexignore: pipe")
	for _, name := range []string{"pipe", "ignored/pipe"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, walk(t, declcfg.Source{Name: "c", FS: os.DirFS(root)}),
		[]string{"c/pipe: want a file, found a named pipe", "c/a.yaml"})
}
