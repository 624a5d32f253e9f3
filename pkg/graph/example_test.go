package graph_test

import (
	"fmt"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

func Example() {
	c := graph.New([]declcfg.Entry{
		{Name: "etcd.v3", Replaces: "etcd.v1", Skips: []string{"etcd.v2"}},
		{Name: "etcd.v2", Replaces: "etcd.v1"},
		{Name: "etcd.v1"},
	})
	fmt.Println("head:", c.Heads())
	fmt.Println("chain:", c.Chain())
	fmt.Println("problems:", c.Check())
	// Output:
	// head: [etcd.v3]
	// chain: [etcd.v3 etcd.v1]
	// problems: []
}

func ExampleChannel_Check() {
	c := graph.New([]declcfg.Entry{
		{Name: "etcd.v3", Replaces: "etcd.v2", Skips: []string{"etcd.v2"}}, // the chain ends before etcd.v2
		{Name: "etcd.v2", Replaces: "etcd.v1"},
		{Name: "etcd.v1"},
	})
	for _, problem := range c.Check() {
		fmt.Println(problem)
	}
	// Output:
	// stranded: following replaces from the head does not lead to etcd.v1
}
