package render_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
)

func TestShardOf(t *testing.T) {
	refs := strings.Split("abcdefghijk", "")
	for count := 1; count < 15; count++ {
		var all []string
		for i := range count {
			part := render.Shard{Index: i, Count: count}.Of(refs)
			if short := len(refs) / count; len(part) != short && len(part) != short+1 {
				t.Errorf("shard %d/%d has %d references", i, count, len(part))
			}
			all = append(all, part...)
		}
		if !slices.Equal(all, refs) {
			t.Errorf("%d shards together are %q", count, all)
		}
	}
	if last := (render.Shard{Index: 1<<62 - 1, Count: 1 << 62}).Of(refs); len(last) != 0 {
		t.Errorf("the last of many shards is %q", last)
	}
}

func FuzzParseShard(f *testing.F) {
	for _, text := range []string{"0/1", "2/3", "3/3", "-1/3", "1", "1/", "/3", "1/2/3", "0/0", "99999999999999999999/3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := render.ParseShard(text)
		switch {
		case err != nil && !strings.Contains(err.Error(), "want INDEX/COUNT"):
			t.Errorf("the error is %v", err)
		case err == nil && (s.Index < 0 || s.Index >= s.Count):
			t.Errorf("%q is %+v", text, s)
		}
	})
}

// shards returns catalogs of the same package, and files with their rendered shards.
func shards(t *testing.T, count int) (refs, files []string) {
	t.Helper()
	dir := t.TempDir()
	for i := range 7 { // equal names without a package: only the order distinguishes them
		text := fmt.Sprintf(`{"schema":"x","n":%d}{"schema":"olm.channel","package":"p","name":"c","n":%d}`, i, i)
		refs = append(refs, write(t, dir, fmt.Sprintf("%d.json", i), text))
	}
	for i := range count {
		opts := render.Options{Shard: render.Shard{Index: i, Count: count}}
		text, err := rendered(t.Context(), refs, opts, render.MigrateNone, declcfg.JSON)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, write(t, dir, fmt.Sprintf("shard-%d", i), text))
	}
	return refs, files
}

// TestMergeShards checks that shards, in any order and even if some are empty, are merged into the result of one run.
func TestMergeShards(t *testing.T) {
	for _, count := range []int{1, 3, 12} {
		refs, files := shards(t, count)
		want, err := rendered(t.Context(), refs, render.Options{}, render.MigrateNone, declcfg.JSON)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(files)
		got, err := rendered(t.Context(), files, render.Options{}, render.MigrateNone, declcfg.JSON)
		if err != nil || got != want {
			t.Errorf("%d shards: got %v and\n%s\nwant\n%s", count, err, got, want)
		}
	}
}

func TestMergeErrors(t *testing.T) {
	refs, files := shards(t, 3)
	_, others := shards(t, 3)
	dir := t.TempDir()
	bad := func(text string) string { return write(t, dir, text, `{"schema":"opm.shard",`+text+`}`) }
	for _, tt := range []struct {
		want string
		refs []string
	}{
		{"merge shards: shard 1 is missing: 2 of 3 are given", []string{files[2], files[0]}},
		{"merge shards: shard 2 is missing: 2 of 3 are given", files[:2]},
		{"shard-1:23:1: shard 1 is already at " + files[1], slices.Concat(files, files[1:2])},
		{"shard-1:23:1: shard 1 of 3 is of another list of references than shard 0 of 3 at", []string{files[0], others[1], files[2]}},
		{refs[0] + ":1:1: only shards can be merged", slices.Concat(refs[:1], files)},
		{refs[0] + ":1:1: only shards can be merged", slices.Concat(files, refs[:1])},
		{":1:1: shard 3 of 3 does not exist", []string{bad(`"index":3,"count":3`)}},
		{":1:1: shard -1 of 3 does not exist", []string{bad(`"index":-1,"count":3`)}},
		{":1:1: shard 0 of 0 does not exist", []string{bad(`"index":0`)}},
		{":1:41: index: want a whole number", []string{bad(`"count":3,"index":"x"`)}},
		{"shard 1 is missing: 1 of 9000000000000000000 are given", []string{bad(`"index":0,"count":9000000000000000000`)}},
	} {
		out, err := rendered(t.Context(), tt.refs, render.Options{}, render.MigrateNone, declcfg.JSON)
		if err == nil || !strings.Contains(err.Error(), tt.want) || out != "" {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
