//go:build unix

package main

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestRename(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{
			"what belongs to the package",
			`{"schema": "olm.package", "name": "a", "defaultChannel": "a"}
{"schema": "olm.channel", "package": "a", "name": "a", "entries": [{"name": "a"}]}
{"schema": "olm.bundle", "name": "a", "package": "a", "properties": [
    {"type": "olm.package", "value": {"packageName": "a", "version": "1.0.0"}},
    {"type": "olm.package.required", "value": {"packageName": "other", "versionRange": ">1"}}]}
`,
			`{"schema": "olm.package", "name": "a\"2", "defaultChannel": "a"}
{"schema": "olm.channel", "package": "a\"2", "name": "a", "entries": [{"name": "a"}]}
{"schema": "olm.bundle", "name": "a", "package": "a\"2", "properties": [
    {"type": "olm.package", "value": {"packageName": "a\"2", "version": "1.0.0"}},
    {"type": "olm.package.required", "value": {"packageName": "other", "versionRange": ">1"}}]}
`,
		},
		{"escapes", `{"package": "\u0061"}`, `{"package": "a\"2"}`},
		{"keys and lists", `{"a": ["a", "package", "a"], "package": ["a"]}`, `{"a": ["a", "package", "a"], "package": ["a"]}`},
		{"nothing", ``, ``},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := rename([]byte(tt.in), "a", `a"2`)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, tt.want)
			}
		})
	}
	if _, err := rename([]byte(`{"package": `), "a", "b"); err == nil {
		t.Error("half an object gave no error")
	}
}

func TestMultiply(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.MkdirAll(filepath.Join(in, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "a", "catalog.json"), []byte(`{"package": "a"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := multiply(in, out, 4); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": `{"package": "a"}`, "a-4": `{"package": "a-4"}`} {
		got, err := os.ReadFile(filepath.Join(out, name, "catalog.json"))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	names, err := fs.Glob(os.DirFS(out), "*")
	if err != nil || len(names) != 4 {
		t.Errorf("packages %v, want 4", names)
	}
	if n, err := size(out); err != nil || n != 16+3*18 {
		t.Errorf("size = %d, %v", n, err)
	}
}

func TestMedianOf(t *testing.T) {
	if got := medianOf([]result{{3, 10}, {1, 30}, {2, 20}}); got != (result{2, 20}) {
		t.Errorf("median %v, want {2 20}", got)
	}
}

func TestVerdict(t *testing.T) {
	b := budget{time: time.Second, rss: 100}
	for r, want := range map[result]string{
		{time.Second, 100}: "ok", {time.Second + 1, 100}: "OVER", {time.Second, 101}: "OVER",
	} {
		if got := b.verdict(r); got != want {
			t.Errorf("verdict of %v = %s, want %s", r, got, want)
		}
	}
	if got := (budget{}).verdict(result{1, 1}); got != "" {
		t.Errorf("what has no budget is %s", got)
	}
	if got := (budget{time: time.Second}).verdict(result{1, 1 << 40}); got != "ok" {
		t.Errorf("a size without a bound is %s", got)
	}
}

func TestLimit(t *testing.T) {
	results := map[string]result{"small": {time.Second, 100}}
	own := budget{2 * time.Second, 500}
	for _, tt := range []struct {
		than growth
		want budget
	}{
		{growth{}, own},
		{growth{"small", 4, 1.5}, budget{4 * time.Second, 150}},
		{growth{job: "small", rss: 1.5}, budget{2 * time.Second, 150}},
	} {
		if got := tt.than.limit(own, results); got != tt.want {
			t.Errorf("limit of %v = %v, want %v", tt.than, got, tt.want)
		}
	}
}

// writeBundles makes bundles of packages, one each, and returns the directory of all.
func writeBundles(t *testing.T, packages ...string) string {
	t.Helper()
	operators := t.TempDir()
	for _, name := range packages {
		for _, file := range []string{"manifests/csv.yaml", "metadata/annotations.yaml"} {
			file = filepath.Join(operators, name, "1.0.0", file)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	return operators
}

// TestServe checks that both hosts of the registry have all bundle images, and that all images differ even if there are
// fewer bundles than images.
func TestServe(t *testing.T) {
	in, closeIn := io.Pipe()
	out, outWriter := io.Pipe()
	done := make(chan error, 1)
	catalog := filepath.Join(t.TempDir(), "catalog")
	if err := os.CopyFS(catalog, fstest.MapFS{"oak/catalog.json": {Data: []byte("{}")}}); err != nil {
		t.Fatal(err)
	}
	go func() { done <- serve(in, outWriter, writeBundles(t, "oak", "pine"), catalog, 5, 0) }()
	var s imageServer
	if err := json.NewDecoder(out).Decode(&s); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, refs := range [][]string{s.refs(s.Prompt, 5), s.refs(s.Slow, 5)} {
		for i, text := range refs {
			ref, err := name.NewDigest(text)
			if err != nil {
				t.Fatal(err)
			}
			digests[ref.DigestStr()] = true
			img, err := remote.Image(ref)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"manifests/csv.yaml": "oak", "metadata/annotations.yaml": "oak"}
			if i%2 == 1 {
				want = map[string]string{"manifests/csv.yaml": "pine", "metadata/annotations.yaml": "pine"}
			}
			if got := filesOf(t, img); !maps.Equal(got, want) {
				t.Errorf("%s has %v, want %v", text, got, want)
			}
		}
	}
	if len(digests) != 5 {
		t.Errorf("%d digests, want 5", len(digests))
	}
	ref, err := name.NewDigest(s.Prompt + "/" + s.Catalog)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := filesOf(t, img), map[string]string{"catalog/oak/catalog.json": "{}"}; !maps.Equal(got, want) {
		t.Errorf("the catalog has %v, want %v", got, want)
	}
	closeIn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		response := httptest.NewRecorder()
		delayed(http.NotFoundHandler(), time.Hour).ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/v2/", nil))
		if took := time.Since(start); took != time.Hour || response.Code != http.StatusNotFound {
			t.Errorf("%d after %v", response.Code, took)
		}
	})
}

func filesOf(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	all := mutate.Extract(img)
	defer all.Close()
	files := map[string]string{}
	for r := tar.NewReader(all); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name] = string(content)
	}
}

func TestBundleJobs(t *testing.T) {
	operators := writeBundles(t, "oak", "pine")
	images := imageServer{Prompt: "h:1", Slow: "h:2", SlowTLS: "h:3", Catalog: "catalog"}
	for i := range 200 {
		images.Images = append(images.Images, fmt.Sprint("image", i))
	}
	jobs, err := bundleJobs(operators, images, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range jobs {
		last := strings.TrimPrefix(j.args[len(j.args)-1], operators)
		got = append(got, fmt.Sprintf("%s: %d, last %s", j.name, len(j.args), last))
	}
	want := []string{
		"render, 2 bundle directories: 3, last /pine/1.0.0",
		"render, 16 bundle directories: 17, last /pine/1.0.0",
		"render, 2 bundle images: 4, last h:1/image100",
		"render, 20 bundle images: 22, last h:1/image190",
		"render, 20 bundle images, 1s a request: 22, last h:2/image190",
		"render, 200 bundle images, 1s a request: 202, last h:2/image199",
		"render, 200 bundle images, HTTP/2, 1s a request: 202, last h:3/image199",
		"validate, catalog image: 3, last h:1/catalog",
		"render, catalog image of opm build: 3, last h:1/bench/built:latest",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if _, err := bundleJobs(t.TempDir(), images, 0); err == nil {
		t.Error("a directory without bundles gave no error")
	}
}

func TestMeasure(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	got, err := measure("/bin/sh", []string{"-c", "exit 0"}, log)
	if err != nil || got.time <= 0 || got.rss < 100_000 {
		t.Errorf("measure = %v, %v", got, err)
	}
	if _, err := measure("/bin/sh", []string{"-c", "echo why >&2; exit 3"}, log); err == nil ||
		err.Error() != "exit status 3: why" {
		t.Errorf("error %v, want the status and what was said", err)
	}
}

// TestCompare checks that both programs run each job, in turn, and that the table has their figures.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	program := func(name string) string {
		file := filepath.Join(dir, name)
		script := fmt.Sprintf("#!/bin/sh\necho %s $* >> %s/calls\n", name, dir)
		if err := os.WriteFile(file, []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
		return file
	}
	m := measurer{opm: program("ours"), upstream: program("theirs"), runs: 2, log: filepath.Join(dir, "log")}
	var out strings.Builder
	err := m.all(&out, []job{{name: "oak", args: []string{"a"}}, {name: "pine", ownFlags: true}})
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| oak \| [\d.]+ m?s, \d+ MB \| [\d.]+ m?s, \d+ MB \| [\d.]+ \| [\d.]+ \|$`)
	if got := out.String(); !row.MatchString(got) || strings.Contains(got, "pine") {
		t.Errorf("table\n%s\nwant a row for oak only", got)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if want := strings.Repeat("theirs a\nours a\n", 2); err != nil || string(calls) != want {
		t.Errorf("calls %q, %v; want %q", calls, err, want)
	}
}

// TestShapes checks that catalogs of each shape have the size that they are named for, and that a tenth of it can be
// made.
func TestShapes(t *testing.T) {
	for _, s := range largeShapes {
		if n, tenth := s.packages*s.channels*s.entries, s.tenth(); tenth.packages*tenth.channels*tenth.entries*10 != n {
			t.Errorf("a tenth of %v is %v", s, tenth)
		}
	}
	dir := t.TempDir()
	if err := (shape{name: "small", packages: 2, channels: 3, entries: 4}).write(dir); err != nil {
		t.Fatal(err)
	}
	index, err := declcfg.ReadIndex(t.Context(), declcfg.Source{Name: "small", FS: os.DirFS(dir)})
	if err != nil {
		t.Fatal(err)
	}
	packages := index.Packages()
	if len(packages) != 2 {
		t.Fatalf("%d packages, want 2", len(packages))
	}
	for _, p := range packages {
		if len(p.Channels) != 3 || len(p.Bundles) != 12 || len(p.Channels[2].Value.Entries) != 4 {
			t.Errorf("package %s has %d channels and %d bundles, want 3 and 12", p.Name, len(p.Channels), len(p.Bundles))
		}
	}
}
