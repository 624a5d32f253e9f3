// Package simulate computes what OLM Classic and OLM v1 do in a cluster, offline, until nothing changes any more.
//
//	result, err := simulate.Run(ctx, state, simulate.Options{Cluster: cluster.Options{Catalogs: catalogs}})
//	for _, e := range result.Events {
//		fmt.Println(e.Step, e.Object, e.Text)
//	}
//
// The controllers of OLM are functions over the objects of a cluster. Each of them looks at all objects that it is
// responsible for, in each step, one controller after the other, by namespace and name: in a cluster, the order is
// random.
package simulate
