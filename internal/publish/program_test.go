package publish

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/opm-toolchain/opm/pkg/image"
)

// compile builds an empty program as package cmd/opm of a module. It imports nothing, since Go's library would have to be
// compiled for the platform.
func compile(t *testing.T, module, goos, arch string, flags ...string) string {
	t.Helper()
	return compileMain(t, "func main() {}\n", module, goos, arch, flags...)
}

func compileMain(t *testing.T, text, module, goos, arch string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	main := filepath.Join(dir, "cmd", "opm", "main.go")
	err := errors.Join(
		os.MkdirAll(filepath.Dir(main), 0o777),
		os.WriteFile(main, []byte("package main\n\n"+text), 0o666),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+module+"\n\ngo 1.26\n"), 0o666),
	)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"build", "-o", "program"}, flags, []string{"./cmd/opm"})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "program")
}

const (
	ours      = "github.com/opm-toolchain/opm"
	upstreams = "github.com/operator-framework/operator-registry"
)

func TestOpenBinary(t *testing.T) {
	opm := compile(t, ours, "linux", "arm64")
	for _, platform := range []string{"linux/arm64", "linux/arm64/v8"} {
		b, err := OpenBinary(opm, platform)
		if err != nil {
			t.Fatal(err)
		}
		b.Close()
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ file, platform, want string }{
		{opm, "linux/amd64", "is for linux/arm64, not for linux/amd64"},
		{compile(t, upstreams, "linux", "arm64"), "linux/arm64",
			"is not opm: it is built from " + upstreams + "/cmd/opm, not from " + ours + "/cmd/opm"},
		{compile(t, ours, "windows", "amd64"), "linux/amd64", "is not a program for Linux"},
		{compile(t, ours, "linux", "amd64", "-buildmode=pie"), "linux/amd64", "needs libraries"},
		{text, "linux/amd64", "is not a program for Linux"},
		{t.TempDir(), "linux/amd64", "found a directory"},
		{text + "s", "linux/amd64", "no such file"},
	} {
		if _, err := OpenBinary(tt.file, tt.platform); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

// TestSelf checks that Self rejects a platform the running program is not built for.
func TestSelf(t *testing.T) {
	if _, err := Self(t.Context(), "linux/arm", "v1"); err == nil || !strings.Contains(err.Error(), "not for linux/arm") {
		t.Errorf("got %v", err)
	}
}

// TestStatic checks that a program that needs shared libraries is replaced by the binary of its release.
func TestStatic(t *testing.T) {
	platform := "linux/" + runtime.GOARCH
	dynamic := compile(t, ours, "linux", runtime.GOARCH, "-buildmode=pie")
	release := filepath.Join(filepath.Dir(dynamic), "linux-"+runtime.GOARCH+"-opm")
	if _, err := openStatic(t.Context(), dynamic, platform, "v2"); !errors.Is(err, ErrDynamic) {
		t.Errorf("without a release: %v", err)
	}
	if err := os.Rename(compileMain(t, `func main() { println("{}") }`, ours, "linux", runtime.GOARCH), release); err != nil {
		t.Fatal(err)
	}
	if _, err := openStatic(t.Context(), dynamic, platform, "v2"); !errors.Is(err, ErrDynamic) {
		t.Errorf("with a program that prints no version: %v", err)
	}
	main := "import \"os\"\n\nfunc main() { os.Stdout.WriteString(`{\"version\": \"v2\"}`) }"
	if err := os.Rename(compileMain(t, main, ours, "linux", runtime.GOARCH), release); err != nil {
		t.Fatal(err)
	}
	want := `linux-` + runtime.GOARCH + `-opm is version "v2", this opm is version "v1"`
	if _, err := openStatic(t.Context(), dynamic, platform, "v1"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	b, err := openStatic(t.Context(), dynamic, platform, "v2")
	if err != nil {
		t.Fatal(err)
	}
	b.Close()
}

// baseWith returns an opened image with a program at /bin/opm.
func baseWith(t *testing.T, program string) *image.Image {
	t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	b := fakeBinary(string(text))
	built, err := BuildOpm(t.Context(), Options{Platforms: []Platform{{Name: "linux/amd64", Binary: b}}})
	if err != nil {
		t.Fatal(err)
	}
	defer built.Close()
	return opened(t, built, "linux/amd64")
}

// TestBase checks that an image has a store only if the opm of its base can read it.
func TestBase(t *testing.T) {
	for _, tt := range []struct {
		module string
		store  bool
		cmd    string
	}{
		{ours, true, "[serve /configs --cache-dir=/tmp/cache --cache-enforce-integrity --http-addr=:8080]"},
		{upstreams, false, "[serve /configs]"},
	} {
		t.Run(tt.module, func(t *testing.T) {
			img := baseWith(t, compile(t, tt.module, "linux", "amd64"))
			base, err := NewBase(t.Context(), img, "linux/amd64")
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Platforms: []Platform{{Name: "linux/amd64", Base: base}}, HTTPAddr: ":8080"}
			built := build(t, source(catalog()), o)
			if n := len(layers(built, "store")); n > 0 != tt.store || len(layers(built, "base")) != 1 {
				t.Errorf("%d layers are a store; all are %v", n, built.Summary.Images[0].Layers)
			}
			config, err := built.images[0].Add.(v1.Image).ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if c := config.Config; fmt.Sprint(c.Entrypoint) != "[/bin/opm]" || fmt.Sprint(c.Cmd) != tt.cmd || c.User != user {
				t.Errorf("got %v %v as %s", c.Entrypoint, c.Cmd, c.User)
			}
		})
	}
}

func TestNewBaseErrors(t *testing.T) {
	img := opened(t, build(t, source(catalog()), Options{Platforms: []Platform{{Name: "linux/amd64"}}}), "linux/amd64")
	if _, err := NewBase(t.Context(), img, "linux/amd64"); err == nil ||
		!strings.Contains(err.Error(), "it has no /bin/opm: choose one with opm, or scratch") {
		t.Errorf("got %v for an image without opm", err)
	}
	if _, err := NewBase(t.Context(), img, "linux/s390x"); err == nil ||
		!strings.Contains(err.Error(), "it is for linux/amd64, not for linux/s390x") {
		t.Errorf("got %v for another platform", err)
	}
}

// TestScratch checks that an image without opm has everything a CatalogSource extracts, and no entry point.
func TestScratch(t *testing.T) {
	built := build(t, source(catalog()), Options{Platforms: []Platform{{Name: "linux/amd64"}}})
	config, err := built.images[0].Add.(v1.Image).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if c := config.Config; c.Entrypoint != nil || c.Cmd != nil || c.User != "" {
		t.Errorf("got config %+v", c)
	}
	if len(layers(built, "store")) != 1 || len(layers(built, "opm")) != 0 {
		t.Errorf("got layers %v", built.Summary.Images[0].Layers)
	}
}

func TestCertificates(t *testing.T) {
	n := 0
	for rest := []byte(certificates()); ; n++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			t.Error(err)
		}
	}
	if n < 100 {
		t.Errorf("there are %d certificates", n)
	}
}
