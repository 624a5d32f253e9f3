package test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestRelease checks the files of a release for this platform, its checksums, and its image.
func TestRelease(t *testing.T) {
	t.Parallel()
	shared.OnlyFull(t)
	if runtime.GOOS != "linux" {
		t.Skip("needs Linux")
	}
	dir := t.TempDir()
	script := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{"scripts/" + name}, args...)...)
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	script("release.sh", dir, "v9.8.7", "-s -w -X main.version=v9.8.7", "linux/"+runtime.GOARCH)
	name := "linux-" + runtime.GOARCH + "-opm"
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || bytes.Count(out, []byte(": OK\n")) != 3 {
		t.Errorf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, name+".sbom.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		BOMFormat string
		Metadata  struct{ Component struct{ Version string } }
	}
	if err := json.Unmarshal(text, &bom); err != nil || bom.BOMFormat != "CycloneDX" ||
		bom.Metadata.Component.Version != "v9.8.7" || !bytes.Contains(text, []byte(`"pkg:golang/github.com/spf13/cobra@v`)) {
		t.Errorf("%v: %.1000s", err, text)
	}
	script("image.sh", filepath.Join(dir, name), dir, "")
	if files := mustOpm(t, "", "build", "../examples/catalog", "-i", filepath.Join(dir, "opm-image.tar"),
		"--archive", filepath.Join(dir, "catalog.tar"), "-o", "json"); !bytes.Contains([]byte(files), []byte(`"store"`)) {
		t.Errorf("the image of opm is not taken for that: %s", files)
	}
}
