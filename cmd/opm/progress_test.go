package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/console"
)

// The progress line shows the counts of a command.
func TestProgress(t *testing.T) {
	c := console.New(new(strings.Builder))
	cmd := &cobra.Command{}
	cmd.SetErr(c)
	done := display{cmd}.Start("checking")
	defer done()
	if w := (display{cmd}).work(); w != c.Work() {
		t.Errorf("counts in %v, shows %v", w, c.Work())
	}
	if size := sizeOfFiles([]string{"testdata"}, func() bool { return true }); size != 0 {
		t.Errorf("%d bytes were counted after the end of the work", size)
	}
	if size := sizeOfFiles([]string{"testdata", "quay.io/a:v1"}, func() bool { return false }); size == 0 {
		t.Error("files have no bytes")
	}
}

// TestProgressInLog checks that only logged work shows progress where standard error is no terminal.
func TestProgressInLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		cmd := &cobra.Command{}
		cmd.SetErr(newStderr(&log))
		done := display{cmd}.Start("checking")
		time.Sleep(time.Hour)
		done()
		if log.Len() > 0 {
			t.Errorf("got %q", &log)
		}
		done = display{cmd}.StartLogged("mirroring")
		display{cmd}.Count(2, "images")
		display{cmd}.Did("a")
		time.Sleep(90 * time.Second)
		done()
		if got, want := log.String(), "opm: mirroring 1 of 2 images, 60 s, a\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if to := stderrFile(cmd); to != &log {
			t.Errorf("a program would write to %T", to)
		}
	})
}
