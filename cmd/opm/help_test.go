package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/image"
)

// examples is the directory with the catalogs that the examples of the commands are about.
const examples = "../../examples"

// commands returns c and every command of ours below it.
func commands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		// Skip commands that cobra adds, and removed commands, which only name the command to run instead.
		if sub.Name() != "completion" && !sub.DisableFlagParsing {
			all = append(all, commands(sub)...)
		}
	}
	return all
}

// TestHelp checks the form of all help texts.
func TestHelp(t *testing.T) {
	for _, c := range commands(rootCmd(nil, "")) {
		path := c.CommandPath()
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Short[:1] != strings.ToUpper(c.Short[:1]) {
			t.Errorf("%s: the short help %q is no phrase that begins with a capital", path, c.Short)
		}
		if c.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  ") || strings.TrimSpace(line) == "" {
				t.Errorf("%s: the line %q of the example is not indented as the others", path, line)
			}
		}
		if !strings.Contains(c.Example, path+" ") {
			t.Errorf("%s: the example does not use it", path)
		}
		for line := range strings.Lines(c.Long) {
			if len(line) > 100 {
				t.Errorf("%s: the line %q of the help is too long for a terminal", path, line)
			}
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s: the usage %q of --%s is no phrase", path, f.Usage, f.Name)
			}
		})
	}
}

// TestOneCommand checks that a command alone has the help, and so the flags and subcommands, that it has among all.
func TestOneCommand(t *testing.T) {
	help := func(cmd *cobra.Command) (text string) {
		for _, c := range commands(cmd) {
			text += c.CommandPath() + "\n" + c.Long + c.UsageString()
		}
		return text
	}
	for _, cmd := range rootCmd(nil, "").Commands() {
		if cmd.GroupID == "" || cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		all := rootCmd(nil, cmd.Name()).Commands()
		if len(all) != 1 || all[0].Name() != cmd.Name() {
			t.Errorf("for %s alone, the commands are %v", cmd.Name(), all)
		} else if got, want := help(all[0]), help(cmd); got != want {
			t.Errorf("%s alone:\n%s", cmd.Name(), diff.Diff("among all", []byte(want), "alone", []byte(got)))
		}
	}
}

// TestExamples runs each line of the examples in a directory with the example catalog; a sample has one of each command.
func TestExamples(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	for _, c := range commands(rootCmd(nil, "")) {
		for _, line := range shared.Sample(slices.Collect(strings.Lines(c.Example)), 1) {
			line = strings.TrimSpace(line)
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				if strings.HasPrefix(line, "docker ") {
					t.Skip("needs docker")
				}
				if strings.Contains(line, " kube:") || line == "opm diagnose" {
					t.Skip("needs a live cluster: see the script live-cluster")
				}
				if runsOn(line) {
					t.Skip("runs until it is told to end")
				}
				runExample(t, line)
			})
		}
	}
}

func runExample(t *testing.T, line string) {
	t.Helper()
	dir := copyExamples(t)
	before := contents(t, dir)
	out, err := printedBy(t, dir, line)
	missing := strings.HasPrefix(line, "opm check-") || strings.Contains(line, "--catalog-down") // most images of the catalog do not exist
	waits := strings.HasPrefix(line, "opm simulate") || strings.HasPrefix(line, "opm diagnose")  // for approval
	if err != nil && !missing && !waits {
		t.Fatalf("%v\n%s", err, out)
	}
	silent := strings.HasPrefix(line, "opm validate catalog") && !strings.Contains(line, "--write-baseline") ||
		strings.HasPrefix(line, "opm fmt ") || strings.HasSuffix(line, "-o github") // the examples have no problems
	if wrote := !maps.Equal(before, contents(t, dir)); len(out) == 0 && !wrote && !silent {
		t.Error("it prints nothing and writes nothing")
	}
}

// copyExamples returns a directory with the examples, and with the other files that the help texts name.
func copyExamples(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	makeImages(t, dir)
	for name, content := range map[string]string{
		"auth.json":    "{}",
		"mirrors.yaml": mirrorSet,
		"README.md":    "# My operator\n",
		"icon.svg":     `<svg xmlns="http://www.w3.org/2000/svg"></svg>`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const mirrorSet = `apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
  name: crafts
spec:
  imageDigestMirrors:
  - source: registry.example
    mirrors: [mirror.example]
`

// makeImages starts a registry, makes dir/registries.conf call it registry.example, and puts images of the bundles and
// the catalog in dir there, and of one bundle into dir/layout.
func makeImages(t *testing.T, dir string) {
	t.Helper()
	host := newRegistry(t)
	for repo, img := range exampleImages() {
		if _, err := image.Push(t.Context(), img, host+"/"+repo, image.Options{Insecure: true}); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(
		image.WriteLayout(exampleImages()["pottery/kiln-bundle:v2.0.0"], filepath.Join(dir, "layout"), "v2.0.0"),
		os.WriteFile(filepath.Join(dir, "registries.conf"), []byte(mirrored(host)), 0o666),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// exampleImages returns the images of the examples by their repositories and tags.
var exampleImages = sync.OnceValue(func() map[string]v1.Image {
	images := map[string]v1.Image{}
	for repo, dir := range map[string]string{
		"pottery/kiln-bundle:v2.0.0": "bundle", "weavers/loom-bundle:v0.6.0": "loom", "crafts/catalog:v1": "catalog",
	} {
		img, err := build(filepath.Join(examples, dir))
		cmdline.Must(err)
		images[repo] = img
	}
	return images
})

// names lists everything in a directory and below.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// contents returns the files below a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range names(t, dir) {
		if info, err := os.Stat(name); err != nil || info.IsDir() {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}
