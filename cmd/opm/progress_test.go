package main

import (
	"strings"
	"testing"

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
