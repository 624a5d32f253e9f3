package problem_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

func TestMerge(t *testing.T) {
	in := func(catalog string, paths ...string) problem.CatalogReport {
		r := problem.CatalogReport{Catalog: catalog}
		for i, path := range paths {
			r.Problems = append(r.Problems, &problem.Problem{
				Rule: "head-version", Severity: problem.Warning, Package: path[:4], Path: path, Message: "wrong", Fix: "mend it",
				Pos: declcfg.Pos{File: catalog + "/a.yaml", Line: i + 1, Column: 1},
			})
		}
		return r
	}
	merged := problem.Merge([]problem.CatalogReport{
		in("v1", "kiln: entries[1]", "loom"),
		in("v2", "kiln: entries[3]", "kiln: entries[4]", "kiln: name"),
		in("v3", "loom"), in("v4", "loom"), in("v5", "loom"), in("v6", "loom"),
	})
	got := ""
	for _, p := range merged {
		got += fmt.Sprintln(p)
	}
	same(t, got, `v1/a.yaml:1:1: warning: kiln: entries[1]: wrong; mend it (in v1, v2) [head-version]
v1/a.yaml:2:1: warning: loom: wrong; mend it (in 5 catalogs: v1, v3, v4, … v6) [head-version]
v2/a.yaml:2:1: warning: kiln: entries[4]: wrong; mend it (in v2) [head-version]
v2/a.yaml:3:1: warning: kiln: name: wrong; mend it (in v2) [head-version]
`)
	var folded bytes.Buffer
	if err := problem.WriteText(&folded, problem.Merge([]problem.CatalogReport{
		in("v1", "kiln: name"), in("v2", "kiln: entries[3]"), in("v3", "kiln: name"),
	}), false); err != nil {
		t.Fatal(err)
	}
	same(t, folded.String(), "v1/a.yaml:1:1: warning: kiln: name: wrong; mend it (in v1, v3) [head-version] (and 1 more, in v2)\n")
}
