package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// docs/security.md names every flag that is a limit.
func TestLimitsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	limits := regexp.MustCompile(`(^|-)(max|timeout|memory|drain|redirect)(-|$)`)
	found := 0
	for _, c := range commands(rootCmd(nil, "")) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			switch {
			case !limits.MatchString(f.Name), f.Name == "max-replicas", f.Name == "max-components": // no limits of opm
				return
			}
			found++
			if !strings.Contains(string(doc), "`--"+f.Name+"`") {
				t.Errorf("docs/security.md does not name --%s of %s", f.Name, c.CommandPath())
			}
		})
	}
	if found == 0 {
		t.Error("no flag is a limit")
	}
}
