package atomicfile

import (
	"os"
	"runtime"
	"testing"
)

func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	f, err := NewUnnamed(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("text"); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); runtime.GOOS != "windows" && len(entries) > 0 || err != nil {
		t.Errorf("found %v, %v", entries, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); len(entries) > 0 || err != nil {
		t.Errorf("found %v after Close, %v", entries, err)
	}
}
