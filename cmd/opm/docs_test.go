package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocs runs the commands after a $ in the README, at the root of the repository, and in the pages about tasks, each in
// a directory of its own with the examples. They print what the page says; with -update the page says what they print.
func TestDocs(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	pages, err := filepath.Glob("../../docs/tasks/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages, %v", err)
	}
	for _, page := range append(pages, "../../README.md") {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			dir := "../.."
			if filepath.Base(page) != "README.md" {
				dir = copyExamples(t)
			}
			got := replay(t, dir, string(text))
			if got != string(text) && *update {
				if err := os.WriteFile(page, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// replay runs the commands of a page in a directory, and returns the page with what they print.
func replay(t *testing.T, dir, page string) string {
	t.Helper()
	const indent = "    "
	var replayed strings.Builder
	for rest := page; rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		replayed.WriteString(line + "\n")
		command, ok := strings.CutPrefix(line, indent+"$ ")
		if !ok {
			continue
		}
		for rest != "" && unfinished(command) {
			line, rest, _ = strings.Cut(rest, "\n")
			replayed.WriteString(line + "\n")
			command += "\n" + strings.TrimPrefix(line, indent)
		}
		var want, got strings.Builder
		for strings.HasPrefix(rest, indent) && !strings.HasPrefix(rest, indent+"$ ") {
			line, rest, _ = strings.Cut(rest, "\n")
			want.WriteString(line + "\n")
		}
		for line := range strings.Lines(printed(t, dir, command)) {
			got.WriteString(indent + line)
		}
		if got.String() != want.String() && !*update {
			t.Errorf("$ %s\nprints\n%s\nand the page says\n%s", command, got.String(), want.String())
		}
		replayed.WriteString(got.String())
	}
	return replayed.String()
}

// unfinished reports whether a command goes on in the next line.
func unfinished(command string) bool {
	return strings.HasSuffix(command, `\`) || strings.Contains(command, "<<'EOF'") && !strings.HasSuffix(command, "\nEOF")
}

// printed returns what a command prints to both its outputs; some fail on purpose.
func printed(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CONTAINERS_REGISTRIES_CONF="+filepath.Join(dir, "registries.conf"))
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out)
}
