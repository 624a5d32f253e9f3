package filter_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/opm-toolchain/opm/internal/filter"
	"github.com/opm-toolchain/opm/internal/testing/golden"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestImageSets checks that configurations in all shapes are understood, or are refused with the place of each problem.
func TestImageSets(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/imagesets.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 20 {
		t.Errorf("there are %d files", len(archive.Files))
	}
	var got strings.Builder
	for _, f := range archive.Files {
		fmt.Fprintf(&got, "%s\n", f.Name)
		config, err := filter.ParseConfig(f.Name, f.Data)
		if err != nil {
			writeErrors(t, &got, "refused", err)
			continue
		}
		for _, e := range config.Entries() {
			s, dependencies := e.Selection()
			fmt.Fprintf(&got, "\tcatalog %s as %q, platforms %v, template %q, dependencies %v, rule %v\n",
				e.Catalog, e.Target(), e.Platforms, e.Template, dependencies, s.Rule)
			for _, p := range s.Packages {
				fmt.Fprintf(&got, "\t\tpackage %s: default %q, rule %v", p.Name, p.DefaultChannel, p.Rule)
				for _, c := range p.Channels {
					fmt.Fprintf(&got, "; channel %s: rule %v", c.Name, c.Rule)
				}
				got.WriteByte('\n')
			}
		}
		for _, i := range config.AdditionalImages() {
			fmt.Fprintf(&got, "\timage %s as %q:%q, platforms %v\n", i.Name, i.TargetRepo, i.TargetTag, i.Platforms)
		}
		for _, w := range config.Ignored() {
			fmt.Fprintf(&got, "\twarning %s: %s\n", w.Pos, w.Message())
		}
		if err := config.CheckMirrored(); err != nil {
			writeErrors(t, &got, "not mirrored", err)
		}
	}
	golden.Compare(t, "testdata/imagesets.txt", got.String())
}

// writeErrors writes all errors that err joins. Each must have a place.
func writeErrors(t *testing.T, to *strings.Builder, what string, err error) {
	t.Helper()
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		for _, err := range joined.Unwrap() {
			writeErrors(t, to, what, err)
		}
		return
	}
	e, ok := errors.AsType[*declcfg.Error](err)
	if !ok || e.Pos.Line == 0 {
		t.Errorf("no place: %v", err)
		return
	}
	fmt.Fprintf(to, "\t%s %s: %s\n", what, e.Pos, e.Message())
}
