//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
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
	if err := multiply(in, out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": `{"package": "a"}`, "a-4": `{"package": "a-4"}`} {
		got, err := os.ReadFile(filepath.Join(out, name, "catalog.json"))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	names, err := fs.Glob(os.DirFS(out), "*")
	if err != nil || len(names) != copies {
		t.Errorf("packages %v, want %d", names, copies)
	}
	if n, err := size(out); err != nil || n != 16+3*18 {
		t.Errorf("size = %d, %v", n, err)
	}
}

func TestMedianOf(t *testing.T) {
	runs := []result{{3, 10}, {1, 30}, {2, 20}}
	got, err := medianOf(len(runs), func() (result, error) {
		r := runs[0]
		runs = runs[1:]
		return r, nil
	})
	if err != nil || got != (result{2, 20}) {
		t.Errorf("median %v, %v; want {2 20}", got, err)
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
	if got := (budget{time: time.Second}).verdict(result{1, 1 << 40}); got != "ok" {
		t.Errorf("a size without a bound is %s", got)
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
