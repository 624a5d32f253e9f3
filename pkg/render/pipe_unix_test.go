//go:build unix

package render_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

// TestPipe renders from pipes that a shell passes as file names, as in: opm render <(make-a-catalog).
func TestPipe(t *testing.T) {
	for name, content := range map[string]string{
		"a file": channel + "---\n" + pkg, "an archive": archived(t, true, "a.yaml", channel, "b.json", pkg),
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := syscall.Mkfifo("pipe", 0o666); err != nil {
				t.Fatal(err)
			}
			written := make(chan error, 1)
			go func() { written <- os.WriteFile("pipe", []byte(content), 0) }()
			got, err := rendered(t.Context(), []string{"pipe"}, render.Options{}, "", declcfg.JSON)
			if err != nil || got != both {
				t.Errorf("%v\n%s\nwant\n%s", err, got, both)
			}
			if err := <-written; err != nil {
				t.Error(err)
			}
		})
	}
}
