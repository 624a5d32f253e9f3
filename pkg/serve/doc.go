// Package serve answers for a catalog as a registry does: the services of package api over gRPC, from a store that is
// made of the catalog when there is none yet.
//
//	l, err := net.Listen("tcp", ":50051")
//	err = serve.Run(ctx, serve.Options{
//		Registries: []serve.Registry{{Listener: l, Load: serve.LoadOptions{Open: open}}},
//		Server:     serve.ServerOptions{Log: log},
//	})
//
// What the answers are is said in registry.proto and in package store. They are those of upstream, but for what
// docs/compatibility.md lists: not found is the code NOT_FOUND, and everything comes in one order.
package serve
