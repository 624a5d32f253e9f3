package bundle_test

import (
	"fmt"
	"log"
	"os"

	"github.com/opm-toolchain/opm/pkg/bundle"
)

// Read a bundle, as a catalog has it, and check it.
func Example() {
	fsys := os.DirFS("../../examples/bundle")
	b, err := bundle.Parse(fsys, "bundle", bundle.Options{Image: "registry.example/pottery/kiln-bundle:v2.0.0"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Package, b.Name)
	problems := bundle.Check(fsys, "bundle", bundle.CheckOptions{OperatorHub: true})
	for _, p := range problems {
		fmt.Println(p.Pos, p.Severity, p.Rule) // p.String also has the message
	}
	// Output:
	// kiln kiln.v2.0.0
	// bundle/metadata/dependencies.yaml:2:3 warning olm-v1
}
