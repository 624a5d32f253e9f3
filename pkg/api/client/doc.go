// Package client queries a registry over gRPC for the operators in a catalog.
//
//	c, err := client.New("localhost:50051", client.Options{})
//	defer c.Close()
//	err = c.WaitReady(ctx)
//	for bundle, err := range c.Bundles(ctx) {
//		…
//	}
//
// It works with every server of the protocol; see package api. Errors are gRPC errors; package status returns their
// codes.
package client
