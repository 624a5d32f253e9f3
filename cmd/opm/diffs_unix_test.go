//go:build unix

package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDiffsApply checks that patch and git make the change that a diff in a pipe shows.
func TestDiffsApply(t *testing.T) {
	bundle := func(name, more string) string {
		return "---\nschema: olm.bundle\npackage: oak\nname: oak.v" + name + "\nimage: registry.example/oak:" + name + "\nproperties:\n" +
			"- {type: olm.package, value: {packageName: oak, version: " + name + "}}\n" + more
	}
	channel := "schema: olm.channel\npackage: oak\nname: stable\nentries:\n- name: oak.v1.0.0\n- {name: oak.v2.0.0, replaces: oak.v1.0.0}\n"
	long := func(n int) string {
		return "- {type: example.com/text, value: \"" + strings.Repeat("long ", n) + "\"}\n"
	}
	files := map[string]string{
		"package.yaml":    "schema: olm.package\nname: oak\ndefaultChannel: stable\ndescription: \"ends without a line break ::error::\"",
		"a channel.yaml":  strings.ReplaceAll(channel, "\n", "\r\n"),
		"sub/\"1\".yaml":  bundle("1.0.0", long(100))[len("---\n"):],
		"sub/bundle.yaml": bundle("2.0.0", long(40_000))[len("---\n"):],
		"deprecated.yaml": "schema: olm.deprecations\npackage: oak\nentries:\n- {reference: {schema: olm.bundle, name: oak.v2.0.0}, message: \"" +
			strings.Repeat("long ", 40_000) + "\"}\n",
		"one.json": `{"schema": "olm.package", "name": "elm", "defaultChannel": "a", "description": "` + strings.Repeat("long ", 40_000) +
			`"} {"schema": "olm.channel", "package": "elm", "name": "a", "entries": [{"name": "elm.v1.0.0"}]}` + "\n" +
			`{"schema": "olm.bundle", "package": "elm", "name": "elm.v1.0.0", "image": "registry.example/elm:1", "properties": ` +
			`[{"type": "olm.package", "value": {"packageName": "elm", "version": "1.0.0"}}]}`,
	}
	added := filepath.Join(t.TempDir(), "bundle.yaml")
	if err := os.WriteFile(added, []byte(bundle("3.0.0", long(50))), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"deprecate catalog bundle oak.v1.0.0 -m old", "deprecate catalog package elm -m old", "remove catalog bundle oak.v2.0.0",
		"remove catalog package oak",
		"add " + added + " catalog --channel stable", "add " + added + " new --channel stable --create",
		"promote catalog oak.v1.0.0 --to new --create", "fmt catalog",
	} {
		t.Run(line, func(t *testing.T) {
			asked := line + " --dry-run"
			if line == "fmt catalog" {
				asked = "fmt --diff catalog"
			}
			dir := catalogOf(t, files)
			diff := opm(t, dir, asked)
			if diff.code != 0 || diff.stdout == "" {
				t.Fatalf("%+v", diff)
			}
			if got := opm(t, dir, line); got.code != 0 {
				t.Fatalf("%+v", got)
			}
			t.Chdir(dir)
			want := contents(t, ".")
			for _, program := range [][]string{{"patch", "-p0", "--binary", "-s"}, {"git", "apply", "-p0"}} {
				if _, err := exec.LookPath(program[0]); err != nil {
					continue
				}
				t.Chdir(catalogOf(t, files))
				cmd := exec.CommandContext(t.Context(), program[0], program[1:]...)
				cmd.Stdin = strings.NewReader(diff.stdout)
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				err := cmd.Run()
				got := contents(t, ".")
				for _, name := range slices.Sorted(maps.Keys(got)) {
					if got[name] != want[name] {
						t.Errorf("%s: %v, %.500s: %s is %.200q, want %.200q", program[0], err, out.String(), name, got[name], want[name])
					}
				}
				if err != nil || len(got) != len(want) {
					t.Errorf("%s: %v, %.500s: %d files, want %d", program[0], err, out.String(), len(got), len(want))
				}
			}
		})
	}
}

// catalogOf writes the files of a catalog to the directory catalog in a new directory.
func catalogOf(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, "catalog", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
