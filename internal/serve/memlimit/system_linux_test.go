package memlimit

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestGroupLimit checks that the lowest limit of a control group and its parents is found, in both versions.
func TestGroupLimit(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }
	for _, tt := range []struct {
		name   string
		groups string
		files  fstest.MapFS
		want   int64
	}{
		{"none", "", nil, math.MaxInt64},
		{"version 2", "0::/pod/app\n", fstest.MapFS{"pod/app/memory.max": file("1000")}, 1000},
		{"around it", "0::/pod/app\n", fstest.MapFS{"pod/app/memory.max": file("max"), "pod/memory.max": file("500")}, 500},
		{"container", "0::/../../x\n", fstest.MapFS{"memory.max": file("700")}, 700},
		{"no limit", "0::/\n", fstest.MapFS{"memory.max": file("max")}, math.MaxInt64},
		{
			"version 1", "5:cpu,cpuacct:/pod\n4:hugetlb,memory:/pod\n0::/\n",
			fstest.MapFS{"memory/pod/memory.limit_in_bytes": file("900"), "pod/memory.max": file("1")}, 900,
		},
		{
			"version 1 in a container", "4:memory:/kubepods/pod\n",
			fstest.MapFS{"memory/memory.limit_in_bytes": file("800")}, 800,
		},
		{
			"version 1, no limit", "4:memory:/\n",
			fstest.MapFS{"memory/memory.limit_in_bytes": file("9223372036854771712")}, math.MaxInt64,
		},
		{"garbage", "x\n0::/a:b\n::\n", fstest.MapFS{"a:b/memory.max": file("many")}, math.MaxInt64},
	} {
		if got := groupLimit(tt.files, tt.groups); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
