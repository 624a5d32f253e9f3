package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachAlone compares the output of --each with the outputs for each catalog alone, although files that are equal to
// files of an earlier catalog are not read again.
func TestEachAlone(t *testing.T) {
	dir := t.TempDir()
	catalogs := []string{filepath.Join(dir, "v1"), filepath.Join(dir, "v2"), filepath.Join(dir, "v3")}
	for _, catalog := range catalogs {
		if err := os.CopyFS(catalog, os.DirFS("../../examples/catalog")); err != nil {
			t.Fatal(err)
		}
	}
	changed := filepath.Join(catalogs[1], "kiln", "channels.yaml")
	text, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	text = append([]byte("# Other places.\n"), bytes.ReplaceAll(text, []byte(">=1.1.0 <2"), []byte(">=1.0.0 <2"))...)
	if err := os.WriteFile(changed, text, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(catalogs[2], "loom"), filepath.Join(catalogs[2], "a")); err != nil {
		t.Fatal(err)
	}

	opm := func(args ...string) string {
		t.Helper()
		var out, stderr bytes.Buffer
		if status := run(t.Context(), call{args: args, stdout: &out, stderr: &stderr}); status != 0 {
			t.Errorf("opm %s: %s", strings.Join(args, " "), stderr.String())
		}
		return out.String()
	}
	for _, line := range []string{
		"updates CATALOG --all", "list bundles CATALOG -o wide", "search CATALOG pottery", "diff " + catalogs[0] + " CATALOG",
	} {
		args := func(insert ...string) (args []string) {
			for word := range strings.FieldsSeq(line) {
				if word == "CATALOG" {
					args = append(args, insert...)
				} else {
					args = append(args, word)
				}
			}
			return args
		}
		want := ""
		for i, catalog := range catalogs {
			heading := filepath.Base(catalog) + ":\n"
			if i > 0 {
				heading = "\n" + heading
			}
			want += heading + opm(args(catalog)...)
		}
		if got := opm(args("--each", dir+"/")...); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", line, got, want)
		}
	}
}

// TestEachBadName checks that JSON has replacement characters for the bytes of a name that are not UTF-8.
func TestEachBadName(t *testing.T) {
	got := opm(t, "../../examples", "list packages --each v\xff=catalog -o json")
	if got.code != 0 || !strings.Contains(got.stdout, `"catalog": "v`+"\uFFFD"+`"`) {
		t.Errorf("got %+v", got)
	}
}
