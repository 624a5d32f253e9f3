package main

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// TestUpstreamVersion checks that upstreamVersion is the version of the conformance scripts.
func TestUpstreamVersion(t *testing.T) {
	readme, err := os.ReadFile("../../test/conformance/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "version: " + upstreamVersion + "\n"; !strings.Contains(string(readme), want) {
		t.Errorf("test/conformance/README.md does not contain %q", want)
	}
}

func TestBuildInfo(t *testing.T) {
	const revision, time = "1be1fcd", "2026-08-30T12:00:00Z"
	checkout := func(version, modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: revision}, {Key: "vcs.time", Value: time}, {Key: "vcs.modified", Value: modified},
		}}
	}
	for _, tt := range []struct {
		name   string
		linker buildInfo
		info   *debug.BuildInfo
		want   buildInfo
	}{
		{"go build in a checkout", buildInfo{}, checkout("v1.2.4-0.20260830120000-1be1fcd+dirty", "true"),
			buildInfo{Version: "v1.2.4-0.20260830120000-1be1fcd+dirty", GitCommit: revision, BuildDate: time}},
		{"without a version", buildInfo{}, checkout("(devel)", "false"),
			buildInfo{Version: revision, GitCommit: revision, BuildDate: time}},
		{"without a version, changed", buildInfo{}, checkout("(devel)", "true"),
			buildInfo{Version: revision + "+dirty", GitCommit: revision, BuildDate: time}},
		{"go install of a release", buildInfo{}, &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}},
			buildInfo{Version: "v1.2.3"}},
		{"go build of copied files", buildInfo{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, buildInfo{}},
		{"the linker comes first", buildInfo{Version: "v2", GitCommit: "abc", BuildDate: "now"}, checkout("v1", "true"),
			buildInfo{Version: "v2", GitCommit: "abc", BuildDate: "now"}},
	} {
		got := tt.linker
		if got.complete(tt.info); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestOwnVersion(t *testing.T) {
	for want, b := range map[string]buildInfo{
		"opm: this is github.com/opm-toolchain/opm, version v1, commit abc, built now": {Version: "v1", GitCommit: "abc", BuildDate: "now"},
		"opm: this is github.com/opm-toolchain/opm, commit abc":                        {GitCommit: "abc"},
		"opm: this is github.com/opm-toolchain/opm":                                    {},
	} {
		if got := b.own(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
