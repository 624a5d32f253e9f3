package draw_test

import (
	"log"
	"os"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/graph/draw"
)

// Draw the updates of a package in Mermaid, which many pages and editors show.
func ExampleMermaid() {
	p := graph.NewPackage(&declcfg.PackageIndex{
		Name: "kiln",
		Channels: []declcfg.Indexed[declcfg.Channel]{{Value: &declcfg.Channel{Name: "stable", Entries: []declcfg.Entry{
			{Name: "kiln.v2", Replaces: "kiln.v1"},
			{Name: "kiln.v1"},
		}}}},
	})
	if err := draw.Mermaid(os.Stdout, []*graph.Package{p}, draw.Options{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// flowchart LR
	//   %% from old to new; solid: replaces, thick: skips, dotted: skipRange
	//   classDef head stroke:#1A7F37,stroke-width:4px
	//   classDef skipped stroke:#CF222E,stroke-width:2px
	//   classDef deprecated fill:#F2CC60,color:#1F2328
	//   classDef virtual stroke-dasharray:6 4
	//   classDef outside stroke-dasharray:2 3
	//   subgraph p1["kiln"]
	//     subgraph p1c1["stable"]
	//       p1c1n2(["kiln.v2"])
	//       p1c1n1["kiln.v1"]
	//       p1c1n1 -- "replaces" --> p1c1n2
	//     end
	//   end
	//   class p1c1n2 head
	//   class p1c1n2,p1c1n1 virtual
}
