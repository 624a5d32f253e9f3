package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// Three shards of real bundles in a registry are merged into the bytes of one run.
func TestRenderShards(t *testing.T) {
	host := newRegistry(t)
	var refs strings.Builder
	for i, manifests := range shared.Sample(shared.Glob(t, "data/operators/*/*/manifests"), 10) {
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

// The shards of check-images together report the same as one run.
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

// The pods of a generated Job render shards that merge into the output of one run.
func TestRenderJob(t *testing.T) {
	dir := copyExamples(t)
	t.Setenv("CONTAINERS_REGISTRIES_CONF", filepath.Join(dir, "registries.conf"))
	refs := "registry.example/crafts/catalog:v1\nregistry.example/pottery/kiln-bundle:v2.0.0\n"
	if err := os.WriteFile(filepath.Join(dir, "refs.txt"), []byte(refs), 0o666); err != nil {
		t.Fatal(err)
	}
	want := opm(t, dir, "render --refs-file refs.txt")
	if want.code != 0 {
		t.Fatal(want.stderr)
	}
	r := opm(t, dir, "generate manifests refs.txt --render-job 3 --image registry.example/opm:v1 -o json")
	var list struct {
		Items []struct {
			batchv1.Job
			Data map[string]string `json:"data"`
		} `json:"items"`
	}
	if err := json.Unmarshal([]byte(r.stdout), &list); err != nil || len(list.Items) != 3 {
		t.Fatalf("%v in %s%s", err, r.stdout, r.stderr)
	}
	job := list.Items[2].Spec
	container := job.Template.Spec.Containers[0]
	volumes := map[string]string{} // directories by where they are mounted
	var mounts []string
	for _, m := range container.VolumeMounts {
		volumes[m.MountPath] = t.TempDir()
		mounts = append(mounts, m.MountPath+"/", volumes[m.MountPath]+"/")
	}
	for name, text := range list.Items[0].Data {
		if err := os.WriteFile(filepath.Join(volumes["/references"], name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for i := range *job.Completions {
		index := strconv.Itoa(int(i))
		t.Setenv(completionIndex, index)
		asInPod := strings.NewReplacer(append(mounts, "$("+completionIndex+")", index)...)
		if r := opm(t, dir, asInPod.Replace(strings.Join(container.Args, " "))); r.code != 0 {
			t.Fatal(r.stderr)
		}
	}
	if r := opm(t, dir, "render "+volumes["/shards"]); r.stdout != want.stdout {
		t.Errorf("got\n%s%s\nwant\n%s", r.stdout, r.stderr, want.stdout)
	}
}
