package test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestRelease checks the files of a release for this platform, its checksums, its packages, and its image.
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
	script("packages.sh", dir, "v9.8.7", filepath.Join(dir, name))
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || bytes.Count(out, []byte(": OK\n")) != 7 {
		t.Errorf("%v: %s", err, out)
	}
	checkDeb(t, filepath.Join(dir, "opm_9.8.7_"+runtime.GOARCH+".deb"))
	checkManifests(t, dir)
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

// checkDeb installs a package, runs it under both of its names, and removes it, in a system without other packages.
func checkDeb(t *testing.T, deb string) {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"info", "updates"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"status", "available"} {
		write(t, filepath.Join(root, "var/lib/dpkg", file), "")
	}
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return string(out)
	}
	run("dpkg", "--root="+root, "--force-not-root", "--install", deb)
	for _, name := range []string{"opm", "kubectl-opm"} {
		if out := run(filepath.Join(root, "usr/bin", name), "--version"); out != "opm v9.8.7\n" {
			t.Errorf("%s: got %q", name, out)
		}
	}
	for _, file := range []string{"share/man/man1/opm-validate.1.gz", "share/bash-completion/completions/opm",
		"share/zsh/vendor-completions/_opm", "share/fish/vendor_completions.d/opm.fish", "share/doc/opm/copyright"} {
		if info, err := os.Stat(filepath.Join(root, "usr", file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	run("dpkg", "--root="+root, "--force-not-root", "--remove", "opm")
	if rest, err := filepath.Glob(filepath.Join(root, "usr/bin/*")); err != nil || len(rest) > 0 {
		t.Errorf("left: %v, %v", rest, err)
	}
}

// checkManifests checks that the formula for Homebrew and the manifest for krew name the archive of this platform, with
// its checksum, and that the archive has the program.
func checkManifests(t *testing.T, dir string) {
	t.Helper()
	archive := "opm-linux-" + runtime.GOARCH + ".tar.gz"
	content, err := os.ReadFile(filepath.Join(dir, archive))
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	url := "https://github.com/opm-toolchain/opm/releases/download/v9.8.7/" + archive
	formula, err := os.ReadFile(filepath.Join(dir, "opm.rb"))
	if err != nil || !strings.Contains(string(formula), fmt.Sprintf("url %q\n      sha256 %q\n", url, sum)) {
		t.Errorf("%v: %s", err, formula)
	}
	text, err := os.ReadFile(filepath.Join(dir, "opm.krew.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var plugin krewPlugin
	if err := yaml.Load(text, &plugin, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	if p := plugin.Spec.Platforms; plugin.Spec.Version != "v9.8.7" || len(p) != 1 || p[0].URI != url || p[0].SHA256 != sum ||
		p[0].Bin != "opm" || p[0].Selector.MatchLabels["arch"] != runtime.GOARCH {
		t.Errorf("got %+v", plugin)
	}
	out, err := exec.CommandContext(t.Context(), "tar", "-tzf", filepath.Join(dir, archive)).Output()
	if err != nil || !strings.HasPrefix(string(out), "LICENSE\nman1/\n") || !strings.HasSuffix(string(out), "\nopm\n") {
		t.Errorf("%v: %.1000s", err, out)
	}
}

// A krewPlugin is a plugin of kubectl, see https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest.
type krewPlugin struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Version, Homepage, Description string
		ShortDescription               string `yaml:"shortDescription"`
		Platforms                      []struct {
			Selector struct {
				MatchLabels map[string]string `yaml:"matchLabels"`
			}
			URI, SHA256, Bin string
			Files            []struct{ From, To string }
		}
	}
}
