package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/internal/testing/kubetest"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/image"
)

// TestDocs runs the commands after a $ in the README, in the examples, and in the pages about tasks and concepts, each
// in a directory of its own with the examples. They must print the output in the page; -update writes it there.
func TestDocs(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	pages, err := filepath.Glob("../../docs/tasks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages, %v", err)
	}
	for _, page := range append(shared.Sample(pages, 5), "../../README.md", "../../docs/concepts.md") {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			dir := copyExamples(t)
			mirror := ""
			if filepath.Base(page) == "live-cluster.md" {
				serveCluster(t, dir)
			}
			if filepath.Base(page) == "mirror.md" {
				mirror = makeMirrored(t, dir)
			}
			got := replay(t, dir, string(text), mirror)
			if got != string(text) && *update {
				if err := os.WriteFile(page, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// firings is the definition that the operator of pottery.yaml owns.
const firings = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "firings.pottery.example"}, "spec": {
    "group": "pottery.example", "scope": "Namespaced",
    "names": {"kind": "Firing", "plural": "firings", "singular": "firing", "listKind": "FiringList"},
    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
  "status": {"acceptedNames": {"kind": "Firing", "plural": "firings"}, "storedVersions": ["v1"], "conditions": [
    {"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}]}}`

// serveCluster starts an API server with the objects of pottery.yaml and its definition, and writes staging.config.
func serveCluster(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "pottery.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := kubetest.New()
	t.Cleanup(s.Close)
	for document := range strings.SplitSeq(string(text)+"\n---\n"+firings, "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := kubetest.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			s.Add(o)
		}
	}
	file, err := s.Kubeconfig(dir)
	if err := errors.Join(err, os.Rename(file, filepath.Join(dir, "staging.config"))); err != nil {
		t.Fatal(err)
	}
}

// makeMirrored replaces the images of the catalog in a directory by images that exist and have different digests. It
// starts a registry to mirror them to, and returns its host.
func makeMirrored(t *testing.T, dir string) (mirror string) {
	t.Helper()
	host, mirror := newRegistry(t), newRegistry(t)
	standIns(t, filepath.Join(dir, "catalog"), host, 2<<20)
	conf := mirrored(host) + fmt.Sprintf("\n[[registry]]\nlocation = %q\ninsecure = true\n", mirror)
	err := os.WriteFile(filepath.Join(dir, "registries.conf"), []byte(conf), 0o666)
	if err := errors.Join(err, push(filepath.Join(dir, "catalog"), host+"/crafts/catalog:v1")); err != nil {
		t.Fatal(err)
	}
	return mirror
}

// imageField matches the fields of images in catalogs: the key, the repository and the rest of the reference.
var imageField = regexp.MustCompile(`(\bimage"?: "?)([a-z0-9.-]+(?::[0-9]+)?/[a-z0-9/._-]+)([:@][A-Za-z0-9:@._-]+)`)

// standIns pushes an image for each image that the catalog in a directory names to a registry that is a mirror of
// registry.example, and replaces the references by its digest. Each image has a layer of this number of bytes.
func standIns(t *testing.T, dir, host string, size int) {
	t.Helper()
	known := map[string]string{}
	standIn := func(field string) string {
		parts := imageField.FindStringSubmatch(field)
		ref := parts[2] + parts[3]
		if known[ref] != "" {
			return parts[1] + known[ref]
		}
		layer := make([]byte, size)
		_, _ = rand.NewChaCha8(sha256.Sum256([]byte(ref))).Read(layer) // never fails
		img, err := image.Build(image.BuildOptions{
			Contents: []image.Content{{Source: fstest.MapFS{"operand": {Data: layer, Mode: 0o644}}}},
			Labels:   map[string]string{"stand-in-for": ref},
		})
		if err != nil {
			t.Fatal(err)
		}
		repo := strings.TrimPrefix(parts[2], "registry.example/")
		digest, err := image.Push(t.Context(), img, host+"/"+repo+":latest", image.Options{Insecure: true})
		if err != nil {
			t.Fatal(err)
		}
		known[ref] = "registry.example/" + repo + "@" + digest
		return parts[1] + known[ref]
	}
	for name, text := range contents(t, dir) {
		if err := os.WriteFile(name, []byte(imageField.ReplaceAllStringFunc(text, standIn)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// replay runs the commands of a page in a directory, and returns the page with their output. mirror is the host of the
// registry that the page calls mirror.example, "" if there is none.
func replay(t *testing.T, dir, page, mirror string) string {
	t.Helper()
	const indent = "    "
	var replayed strings.Builder
	for rest := page; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		replayed.WriteString(line + "\n")
		command, ok := strings.CutPrefix(line, indent+"$ ")
		if !ok {
			continue
		}
		for rest != "" && unfinished(command) {
			line, rest, _ = strings.Cut(rest, "\n")
			replayed.WriteString(line + "\n")
			command += "\n" + strings.TrimPrefix(line, indent)
		}
		var want, got strings.Builder
		for strings.HasPrefix(rest, indent) && !strings.HasPrefix(rest, indent+"$ ") {
			line, rest, _ = strings.Cut(rest, "\n")
			want.WriteString(line + "\n")
		}
		const name = "mirror.example"
		var output string
		if mirror == "" {
			output = printed(t, dir, command)
		} else {
			output = strings.ReplaceAll(printed(t, dir, strings.ReplaceAll(command, name, mirror)), mirror, name)
		}
		for line := range strings.Lines(output) {
			got.WriteString(indent + line)
		}
		golden.Equal(t, "the page says for $ "+command, want.String(), got.String())
		replayed.WriteString(got.String())
	}
	return replayed.String()
}

// TestPicture checks that the picture of the concepts is what opm graph draws.
func TestPicture(t *testing.T) {
	const picture = "../../docs/kiln.svg"
	golden.Compare(t, picture, printed(t, examples, "opm graph catalog kiln -o svg"))
}

// TestReadme runs the other commands of the README, one after the other, in a copy of the examples and nothing else.
func TestReadme(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	makeImages(t, dir)
	text := strings.ReplaceAll(string(readme), "\\\n    ", "")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " && docker")
		if !strings.HasPrefix(line, "    opm ") && !strings.HasPrefix(line, "    cat ") || runsOn(line) {
			continue
		}
		out, err := printedBy(t, dir, line)
		fails := strings.HasPrefix(line, "    opm check-") || strings.HasPrefix(line, "    opm simulate cluster") ||
			strings.HasPrefix(line, "    opm diagnose") // as TestExamples
		if err != nil && !fails || strings.Contains(out, "no such file") {
			t.Errorf("%s\n%v\n%s", line, err, out)
		}
	}
}

// runsOn reports whether a command runs until it is interrupted.
func runsOn(line string) bool {
	return strings.HasSuffix(line, " --watch") || strings.Contains(line, "opm serve ") && !strings.Contains(line, "--cache-only")
}

// unfinished reports whether a command continues in the next line.
func unfinished(command string) bool {
	return strings.HasSuffix(command, `\`) || strings.Contains(command, "<<'EOF'") && !strings.HasSuffix(command, "\nEOF")
}

// printed returns the combined output of a command; some fail on purpose.
func printed(t *testing.T, dir, command string) string {
	t.Helper()
	out, _ := printedBy(t, dir, command)
	return out
}

// printedBy runs a command line in a directory with the examples, and returns its combined output. It starts a shell only
// for lines that need one.
func printedBy(t *testing.T, dir, command string) (string, error) {
	t.Helper()
	env := append(os.Environ(), "CONTAINERS_REGISTRIES_CONF="+filepath.Join(dir, "registries.conf"))
	args, isOPM := strings.CutPrefix(command, "opm ")
	if isOPM && !strings.ContainsAny(command, "|&;<>()$`\\\"'*?[]{}#~\n") {
		r, err := callOPM(workerCall{Args: strings.Fields(args), Env: env, Dir: absolute(t, dir), Combined: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.code != 0 {
			err = fmt.Errorf("exit status %d", r.code)
		}
		return r.stdout, err
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", command)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), err
}
