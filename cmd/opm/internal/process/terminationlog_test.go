package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteTerminationLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := WriteTerminationLog(file, false, "why\n"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that nobody asked for: %v", err)
	}
	line := strings.Repeat("x", 999) + "\n"
	for lines, want := range map[string]string{
		"why\n": "why\n", strings.Repeat(line, 4): strings.Repeat(line, 4), strings.Repeat(line, 5): strings.Repeat(line, 4) + "...\n",
		strings.Repeat("x", 5000) + "\n": "...\n",
	} {
		err := WriteTerminationLog(file, true, lines)
		if text, _ := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%d bytes: got %q, %v", len(lines), text, err)
		}
	}
}
