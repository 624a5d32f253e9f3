// Package api is the protocol of registries: the gRPC services that clusters ask for the operators of a catalog.
//
// It is generated from registry.proto, which has the names, numbers and types of upstream, so that every client and
// server of either understands the other. Package client calls a registry from Go.
package api

//go:generate go -C ../../tools run ./protoc ../pkg/api/registry.proto
