package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/shared"
)

// Three shards of real bundles in a registry are merged into the bytes of one run.
func TestRenderShards(t *testing.T) {
	host := newRegistry(t)
	var refs strings.Builder
	for i, manifests := range shared.Glob(t, "data/operators/*/*/manifests") {
		ref := fmt.Sprintf("%s/bundle%d:v1", host, i)
		if err := push(filepath.Dir(manifests), ref); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&refs, ref)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "refs.txt"), []byte(refs.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(line string) string {
		t.Helper()
		r := opm(t, dir, "render "+line)
		if r.code != 0 {
			t.Fatal(r.stderr)
		}
		return r.stdout
	}
	const refsFile = "--use-http --refs-file refs.txt"
	for i := range 3 {
		if out := run(fmt.Sprintf("%s --shard %d/3 --output-file shard-%d", refsFile, i, i)); out != "" {
			t.Errorf("shard %d of a file is also printed:\n%s", i, out)
		}
	}
	for _, form := range []string{"json", "yaml"} {
		if run(refsFile+" -o "+form) != run("shard-2 shard-0 shard-1 -o "+form) {
			t.Errorf("the merged shards differ from one run (%s)", form)
		}
	}
}

// What shards of check-images report together is what one run reports.
func TestCheckImagesShards(t *testing.T) {
	dir, host := t.TempDir(), newRegistry(t)
	for name, text := range contents(t, filepath.Join(examples, "catalog")) {
		text = strings.ReplaceAll(text, "registry.example", host)
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	report := func(flags string) []string {
		t.Helper()
		r := opm(t, dir, "check-images . --use-http "+flags)
		if r.stdout == "" || r.code != 1 {
			t.Fatalf("got the code %d\n%s", r.code, r.stderr)
		}
		return slices.Collect(strings.Lines(r.stdout))
	}
	one := report("")
	var all []string
	for i := range 3 {
		t.Setenv(completionIndex, strconv.Itoa(i))
		all = append(all, report("--shard 3")...)
	}
	slices.Sort(all)
	slices.Sort(one)
	if !slices.Equal(all, one) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(all, ""), strings.Join(one, ""))
	}
}
