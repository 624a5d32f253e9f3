package graph_test

import (
	"fmt"
	"log"

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
	// channel contains one or more stranded bundles: etcd.v1: following replaces from the head does not lead to them
}

// Print the next update of an installed bundle, in OLM Classic and in OLM v1.
func ExamplePackage_Outlooks() {
	channel := &declcfg.Channel{Package: "etcd", Name: "stable", Entries: []declcfg.Entry{
		{Name: "etcd.v3", Replaces: "etcd.v2"},
		{Name: "etcd.v2", Replaces: "etcd.v1"},
		{Name: "etcd.v1"},
	}}
	p := graph.NewPackage(&declcfg.PackageIndex{
		Name:     "etcd",
		Channels: []declcfg.Indexed[declcfg.Channel]{{Value: channel}},
	})
	outlooks, err := p.Outlooks(p.Channel("stable"), graph.V1Options{}, true)
	if err != nil {
		log.Fatal(err)
	}
	for o := range outlooks {
		fmt.Println(o.Installed, o.Classic.Path)
	}
	// Output:
	// etcd.v1 [etcd.v2 etcd.v3]
	// etcd.v2 [etcd.v3]
	// etcd.v3 []
}

// Explain why a bundle is not updated to another one next.
func ExamplePackage_ExplainClassic() {
	p := graph.NewPackage(&declcfg.PackageIndex{
		Name: "etcd",
		Bundles: []declcfg.Indexed[declcfg.BundleSummary]{
			{Value: &declcfg.BundleSummary{Name: "etcd.v1"}},
			{Value: &declcfg.BundleSummary{Name: "etcd.v2"}},
			{Value: &declcfg.BundleSummary{Name: "etcd.v3"}},
		},
		Channels: []declcfg.Indexed[declcfg.Channel]{{Value: &declcfg.Channel{Name: "stable", Entries: []declcfg.Entry{
			{Name: "etcd.v3", Replaces: "etcd.v2"},
			{Name: "etcd.v2", Replaces: "etcd.v1"},
			{Name: "etcd.v1"},
		}}}},
	})
	fmt.Print(p.ExplainClassic(p.Channel("stable"), p.Bundle("etcd.v1"), p.Bundle("etcd.v3")))
	// Output:
	// classic, in channel stable: etcd.v1 is not updated to etcd.v3 next
	//   yes  exists       etcd.v3 is in the catalog
	//   yes  in channel   the channel has an entry for it
	//   no   edge         in channel stable, etcd.v3 neither replaces nor skips etcd.v1, and has no skipRange
	//   yes  not skipped  no entry skips it
	//   yes  in chain     following replaces from the head leads to it
	//   yes  deprecation  it is not deprecated
	//   updates reach etcd.v3: etcd.v1 -> etcd.v2 -> etcd.v3
}
