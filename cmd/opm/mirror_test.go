package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestMirrorPublished mirrors a part of a published catalog, with placeholders for its images. It checks that the
// mirrored catalog is valid, can be served, names only images that the mirror has, and has the same resolution as the
// output of opm filter.
func TestMirrorPublished(t *testing.T) {
	published, dir := shared.Path(t, "data/catalogs/v4.20"), t.TempDir()
	catalog := filepath.Join(dir, "catalog")
	for _, pkg := range []string{"cat-facts-operator", "infinispan", "kepler-operator", "kube-green"} {
		if err := os.CopyFS(filepath.Join(catalog, pkg), os.DirFS(filepath.Join(published, pkg))); err != nil {
			t.Fatal(err)
		}
	}
	host := newRegistry(t)
	mirror := host + "/mirror"
	standIns(t, catalog, host, 100)
	t.Setenv("CONTAINERS_REGISTRIES_CONF", filepath.Join(dir, "registries.conf"))
	if err := os.WriteFile(filepath.Join(dir, "registries.conf"), []byte(mirrored(host)), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(line string) result {
		t.Helper()
		r := opm(t, dir, strings.ReplaceAll(line, "MIRROR", mirror))
		if r.code != 0 {
			t.Fatalf("opm %s: %s%s", line, r.stdout, r.stderr)
		}
		return r
	}
	const selection = " catalog --package infinispan --package kepler-operator --package kube-green"
	run("filter" + selection + " --output-dir filtered")
	got := run("mirror" + selection + " --to MIRROR --use-http --manifests cluster")
	if !strings.Contains(got.stdout, " 0 failed\n") || strings.Contains(got.stdout, " 0 images copied") {
		t.Errorf("got %s", got.stdout)
	}
	run("mirror" + selection + " --to MIRROR --use-http --manifests policy --icsp")
	run("validate MIRROR/catalog:latest --use-http")
	run("serve MIRROR/catalog:latest --use-http --cache-dir cache --cache-only")
	want := opm(t, dir, "resolve filtered --all -o json")
	if got := opm(t, dir, "resolve "+mirror+"/catalog:latest --all -o json --use-http"); got.stdout != want.stdout {
		t.Errorf("the mirror resolves as\n%s%s\nand what was filtered as\n%s", got.stdout, got.stderr, want.stdout)
	}
	t.Setenv("CONTAINERS_REGISTRIES_CONF", os.DevNull)
	run("check-images filtered --image-mirrors cluster/imagedigestmirrorset.yaml --use-http")
	run("check-images filtered --image-mirrors policy/imagecontentsourcepolicy.yaml --use-http")
}
