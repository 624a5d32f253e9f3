package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/api/client"
)

const servedState = `apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: crafts, namespace: olm}
spec: {sourceType: grpc, image: registry.example/crafts:v1}
---
apiVersion: operators.coreos.com/v1alpha1
kind: CatalogSource
metadata: {name: crafts, namespace: tenant}
spec: {sourceType: grpc, address: "crafts.example:50051"}
`

// TestServeState serves the CatalogSources of a cluster, each at the address that is printed.
func TestServeState(t *testing.T) {
	dir := twoCatalogs(t)
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state", "sources.yaml"), []byte(servedState), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("opm", "serve", "--state", "state", "--catalog", "tenant/crafts=v1", "--catalog", "crafts=v2",
		"--addr", "localhost:0")
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, cmd)
	lines := bufio.NewScanner(out)
	for _, want := range []struct {
		name     string
		packages []string
	}{{"olm/crafts", []string{"kiln", "loom"}}, {"tenant/crafts", []string{"kiln"}}} {
		if !lines.Scan() {
			t.Fatalf("no address for %s\n%s", want.name, s.log)
		}
		name, addr, _ := strings.Cut(lines.Text(), " ")
		if name != want.name {
			t.Errorf("got %q, want an address of %s", lines.Text(), want.name)
		}
		s.addr = addr
		if got := s.packages(t, client.Options{}); !slices.Equal(got, want.packages) {
			t.Errorf("%s: got packages %q, want %q", name, got, want.packages)
		}
	}
	s.end(t)
}

// The ports of CatalogSources follow each other.
func TestConsecutive(t *testing.T) {
	for addr, want := range map[string][]string{
		":50051":      {":50051", ":50052"},
		"[::1]:1":     {"[::1]:1", "[::1]:2"},
		"localhost:0": {"localhost:0", "localhost:0"},
		"localhost":   nil, "unix:/x": nil, "localhost:grpc": nil,
	} {
		got, err := consecutive(addr, []string{"a", "b"})
		if want == nil && err == nil || want != nil && (got["a"] != want[0] || got["b"] != want[1]) {
			t.Errorf("%s: got %v, %v", addr, got, err)
		}
	}
}
