// Package api is the protocol of registries: the gRPC services from which clusters read the operators in a catalog.
//
// It is generated from registry.proto, which has upstream's names, numbers and types, so clients and servers of both
// projects are compatible. Package client calls a registry from Go.
package api

//go:generate go -C ../../tools run ./protoc ../pkg/api/registry.proto
