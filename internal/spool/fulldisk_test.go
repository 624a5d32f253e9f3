//go:build unix

package spool_test

import (
	"bytes"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/opm-toolchain/opm/internal/spool"
)

// TestFullDisk sets a file size limit, so that writes fail as on a full disk.
func TestFullDisk(t *testing.T) {
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Skip("no limit of file sizes here:", err)
	}
	dir := t.TempDir()
	limited := old
	limited.Cur = frame / 2
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limited); err != nil {
		t.Skip("no limit of file sizes here:", err)
	}
	_, err := spool.Read(bytes.NewReader(noise(8*frame)), spool.Options{Dir: dir, MemoryLimit: -1})
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); e != nil {
		t.Fatal(e)
	}
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "spool file in "+dir) {
		t.Errorf("error %v, want one that says what was written and where", err)
	}
	mustBeEmpty(t, dir)
}
