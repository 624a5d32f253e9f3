package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestLists checks that no flag with a list drops the text after a line break.
func TestLists(t *testing.T) {
	lists := 0
	check := func(cmd *cobra.Command, f *pflag.Flag) {
		lists++
		if err := f.Value.Set("a=1,b=2\nc=3"); err == nil || !strings.Contains(err.Error(), `a line break before "c=3"`) {
			t.Errorf("%s --%s: %v", cmd.CommandPath(), f.Name, err)
		}
		if err := f.Value.Set("a=1,b=2\n"); err != nil {
			t.Errorf("%s --%s: a line break at the end: %v", cmd.CommandPath(), f.Name, err)
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if typ := f.Value.Type(); typ == "stringSlice" || typ == "stringToString" {
				check(cmd, f)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(rootCmd(io.Discard, ""))
	if lists < 10 {
		t.Errorf("only %d flags have lists", lists)
	}
}
