package declcfg_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A changing file system is a function that returns the file system at the time of opening a file.
type changing func() fstest.MapFS

func (f changing) Open(name string) (fs.File, error) { return f().Open(name) }

// TestRecordWaits checks that a file that was written just before it was read is observed for a short time.
func TestRecordWaits(t *testing.T) {
	for _, tt := range []struct {
		name        string
		first, then string
		age, after  time.Duration // of the first text when it is read, and how much later there is the other one
		waits       time.Duration
		changed     bool
	}{
		{"more is written soon", "a", "ab", 0, 19 * time.Millisecond, 20 * time.Millisecond, true},
		{"other text of that size", "a", "b", 5 * time.Millisecond, 14 * time.Millisecond, 15 * time.Millisecond, true},
		{"nothing is written", "a", "a", 0, 0, 20 * time.Millisecond, false},
		{"an empty file is filled", "", "a", 0, 999 * time.Millisecond, time.Second, true},
		{"an old file", "a", "b", 20 * time.Millisecond, time.Millisecond, 0, false},
		{"a file of the future", "a", "a", -time.Hour, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				fsys := changing(func() fstest.MapFS {
					f := &fstest.MapFile{Data: []byte(tt.first), ModTime: start.Add(-tt.age)}
					if now := time.Now(); tt.then != tt.first && now.Sub(start) >= tt.after {
						f = &fstest.MapFile{Data: []byte(tt.then), ModTime: start.Add(tt.after)}
					}
					return fstest.MapFS{"f": f}
				})
				info, err := fs.Stat(fsys, "f")
				if err != nil {
					t.Fatal(err)
				}
				var r declcfg.Record
				r.Add("c/f", fsys, "f", info)
				if err := r.Check(); errors.Is(err, declcfg.ErrChanged) != tt.changed {
					t.Errorf("error %v", err)
				}
				if got := time.Since(start); got != tt.waits {
					t.Errorf("waited %v, want %v", got, tt.waits)
				}
			})
		})
	}
}
