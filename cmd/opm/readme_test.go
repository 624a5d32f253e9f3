package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReadme runs every command of the README that stands there with its output.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	const indent = "    "
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, _ := strings.Cut(string(text), "\n"+indent+"$ ")
	for block := range strings.SplitSeq(text2, "\n"+indent+"$ ") {
		command, rest, _ := strings.Cut(block, "\n")
		var want strings.Builder
		for line := range strings.Lines(rest) {
			shown, ok := strings.CutPrefix(line, indent)
			if !ok {
				break
			}
			want.WriteString(shown)
		}
		t.Run(command, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
			cmd.Dir = "../.."
			out, _ := cmd.CombinedOutput() // some of them fail on purpose
			if got := strings.TrimSpace(string(out)); got != strings.TrimSpace(want.String()) {
				t.Errorf("it prints\n%s\nand the README says\n%s", got, want.String())
			}
		})
	}
}
