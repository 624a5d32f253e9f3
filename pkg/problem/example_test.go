package problem_test

import (
	"log"
	"os"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
)

// Print problems as opm validate does.
func ExampleWriteText() {
	problems := problem.Sort([]*problem.Problem{
		{
			Rule: "icon", Severity: problem.Warning, Pos: declcfg.Pos{File: "kiln.yaml", Line: 7, Column: 3},
			Package: "kiln", Path: "icon.mediatype", Message: "the icon is no image/png",
		},
		{
			Rule: "entry-bundle", Severity: problem.Error, Pos: declcfg.Pos{File: "kiln.yaml", Line: 4, Column: 9},
			Package: "kiln", Path: "entries[0].name", Message: "no bundle has the name kiln.v2",
		},
	})
	if err := problem.WriteText(os.Stdout, problems, false); err != nil {
		log.Fatal(err)
	}
	// Output:
	// kiln.yaml:4:9: error: entries[0].name: no bundle has the name kiln.v2 [entry-bundle]
	// kiln.yaml:7:3: warning: icon.mediatype: the icon is no image/png [icon]
}
