//go:build unix

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestComposeKilled kills compose at random times. It checks that each fragment is then the old or the new one, and
// that the next run completes the work without --overwrite.
func TestComposeKilled(t *testing.T) {
	dir := t.TempDir()
	const references = 20
	config := "name: out\nreferences:\n"
	for i := range references {
		config += fmt.Sprintf("- {name: r%d, image: in%d.yaml}\n", i, i)
	}
	write := func(version int) {
		t.Helper()
		for i := range references {
			text := fmt.Sprintf(`---
schema: olm.package
name: p%[1]d
defaultChannel: stable
description: %[3]s
---
schema: olm.channel
package: p%[1]d
name: stable
entries: [{name: p%[1]d.v%[2]d}]
---
schema: olm.bundle
package: p%[1]d
name: p%[1]d.v%[2]d
image: registry.example/p%[1]d:v%[2]d
properties: [{type: olm.package, value: {packageName: p%[1]d, version: %[2]d.0.0}}]
`, i, version, strings.Repeat("long ", 10_000))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("in%d.yaml", i)), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	compose := func() map[string]string {
		t.Helper()
		if got := opm(t, dir, "compose c.yaml"); got.code != 0 {
			t.Fatalf("compose fails: %s", got.stderr)
		}
		return contents(t, filepath.Join(dir, "out"))
	}
	write(1)
	start := time.Now()
	old := compose()
	duration := time.Since(start)

	const rounds = 8
	killed := 0
	for round := range rounds {
		version := 2*round + 1
		write(version + 1)
		ctx, cancel := context.WithTimeout(t.Context(), duration*time.Duration(round+1)/rounds)
		cmd := exec.CommandContext(ctx, "opm", "compose", "c.yaml")
		cmd.Dir = dir
		start := time.Now()
		if cmd.Run() != nil {
			killed++
		} else {
			duration = time.Since(start) // the machine is less busy now
		}
		cancel()
		updated := strings.NewReplacer(
			fmt.Sprintf("v%d\n", version), fmt.Sprintf("v%d\n", version+1),
			fmt.Sprintf(" %d.0.0\n", version), fmt.Sprintf(" %d.0.0\n", version+1),
		)
		for name, text := range contents(t, filepath.Join(dir, "out")) {
			if text != old[name] && text != updated.Replace(old[name]) {
				t.Fatalf("round %d: %s is neither the old nor the new file", round, name)
			}
		}
		write(version + 2)
		before := old
		if old = compose(); maps.Equal(before, old) || len(old) != references {
			t.Fatalf("round %d: the next run did not complete the catalog", round)
		}
	}
	if killed == 0 {
		t.Error("compose was never killed")
	}
	if _, err := os.Lstat(filepath.Join(dir, ".out.compose")); err == nil {
		t.Error("the staging directory is left")
	}
}
