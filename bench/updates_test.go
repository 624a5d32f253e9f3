//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUpdateJob checks that a package of three versions is copied once, and that a package without updates is not.
func TestUpdateJob(t *testing.T) {
	in, out := t.TempDir(), filepath.Join(t.TempDir(), "updates")
	for _, version := range []string{"a/1.0.0", "a/1.1.0", "a/1.2.0", "b/1.0.0"} {
		for name, text := range map[string]string{
			"manifests/crd.yaml":        "kind: CustomResourceDefinition\nmetadata:\n  name: xs.a.io\nspec:\n  group: a.io\n",
			"manifests/csv.yaml":        "kind: ClusterServiceVersion\nmetadata: {name: a}\nowned: xs.a.io\n",
			"metadata/annotations.yaml": "annotations:\n  operators.operatorframework.io.bundle.package.v1: a\n",
		} {
			file := filepath.Join(in, version, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	j, err := updateJob(in, out, 3)
	if err != nil || j.name != "check-updates, 4 updates of bundle directories" || len(j.args) != 1+6 {
		t.Fatalf("%v, %s, %q", err, j.name, j.args)
	}
	for name, want := range map[string]string{
		"manifests/crd.yaml":        "name: xs.c1.a.io\nspec:\n  group: c1.a.io\n",
		"manifests/csv.yaml":        "owned: xs.c1.a.io\n",
		"metadata/annotations.yaml": "package.v1: c1-a\n",
	} {
		got, err := os.ReadFile(filepath.Join(out, "c1-a/1.2.0", name))
		if err != nil || !strings.HasSuffix(string(got), want) {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	if err := os.RemoveAll(filepath.Join(in, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := updateJob(in, out, 3); err == nil {
		t.Error("a directory without updates gave no error")
	}
}
