// Package client asks a registry for the operators of a catalog, over gRPC.
//
//	c, err := client.New("localhost:50051", client.Options{})
//	defer c.Close()
//	err = c.WaitReady(ctx)
//	for bundle, err := range c.Bundles(ctx) {
//		…
//	}
//
// It works with every server of the protocol; see package api. Errors are gRPC errors, which package status reads.
package client
