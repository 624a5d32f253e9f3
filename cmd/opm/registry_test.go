package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/image"
)

// newRegistry starts an empty registry, which speaks plain HTTP, and returns its host.
func newRegistry(t testing.TB) string {
	t.Helper()
	server, host := startRegistry()
	t.Cleanup(server.Close)
	return host
}

func startRegistry() (*httptest.Server, string) {
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	return server, strings.TrimPrefix(server.URL, "http://")
}

// build makes an image of a directory: a bundle if there are manifests/ in it, else a catalog.
func build(dir string) (v1.Image, error) {
	opts := image.BuildOptions{
		Contents: []image.Content{{Source: os.DirFS(dir), Target: "configs"}},
		Labels:   map[string]string{image.LabelConfigs: "/configs"},
	}
	if _, err := os.Stat(filepath.Join(dir, "manifests")); err == nil {
		opts.Contents[0].Target = "/"
		opts.Labels = map[string]string{
			image.LabelPackage: "kiln", bundle.AnnotationManifests: "manifests/", bundle.AnnotationMetadata: "metadata/",
		}
	}
	return image.Build(opts)
}

func push(dir, ref string) error {
	img, err := build(dir)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	return remote.Write(tag, img)
}

// mirrored returns a registries.conf that leads from registry.example to the registry.
func mirrored(host string) string {
	return fmt.Sprintf("[[registry]]\nlocation = \"registry.example\"\n\n"+
		"[[registry.mirror]]\nlocation = %q\ninsecure = true\n", host)
}

// Commands of scripts. Each has a registry of its own at $REGISTRY, which is a mirror of registry.example for those
// that set $CONTAINERS_REGISTRIES_CONF to $MIRRORED.
//
//	push DIRECTORY REFERENCE    builds an image of a bundle or a catalog and pushes it
//	layout DIRECTORY LAYOUT     builds it into an OCI layout, as v1
//	archive DIRECTORY FILE      builds it into an OCI archive, as v1
//	digest REFERENCE OTHER      checks that both have the same digest
//	pin FILE REFERENCE...       replaces DIGEST0, DIGEST1, and so on in a file by the digests, and REGISTRYHOST by
//	                            $REGISTRY
var imageCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"push": func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Check(push(ts.MkAbs(args[0]), args[1]))
	},
	"layout": func(ts *testscript.TestScript, _ bool, args []string) {
		img, err := build(ts.MkAbs(args[0]))
		ts.Check(err)
		ts.Check(image.WriteLayout(img, ts.MkAbs(args[1]), "v1"))
	},
	"digest": func(ts *testscript.TestScript, neg bool, args []string) {
		a, err := crane.Digest(args[0])
		ts.Check(err)
		b, err := crane.Digest(args[1])
		ts.Check(err)
		if (a == b) == neg {
			ts.Fatalf("the digests are %s and %s", a, b)
		}
	},
	"pin": func(ts *testscript.TestScript, _ bool, args []string) {
		file := ts.MkAbs(args[0])
		text, err := os.ReadFile(file)
		ts.Check(err)
		text = bytes.ReplaceAll(text, []byte("REGISTRYHOST"), []byte(ts.Getenv("REGISTRY")))
		for i, ref := range args[1:] {
			digest, err := crane.Digest(ref)
			ts.Check(err)
			text = bytes.ReplaceAll(text, fmt.Appendf(nil, "DIGEST%d", i), []byte(digest))
		}
		ts.Check(os.WriteFile(file, text, 0o666))
	},
	"archive": func(ts *testscript.TestScript, _ bool, args []string) {
		img, err := build(ts.MkAbs(args[0]))
		ts.Check(err)
		f, err := os.Create(ts.MkAbs(args[1]))
		ts.Check(err)
		ts.Check(image.WriteArchive(f, img, "v1"))
		ts.Check(f.Close())
	},
}

// withRegistry starts the registry of a script.
func withRegistry(env *testscript.Env) error {
	server, host := startRegistry()
	env.Defer(server.Close)
	env.Setenv("REGISTRY", host)
	conf := filepath.Join(env.WorkDir, ".registries.conf")
	env.Setenv("MIRRORED", conf)
	return os.WriteFile(conf, []byte(mirrored(host)), 0o666)
}
