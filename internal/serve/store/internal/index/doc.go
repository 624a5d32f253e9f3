// Package index has the index of a store as messages of protocol buffers; see package store. It is generated from
// opmstore.proto.
package index

//go:generate go -C ../../../../../tools run ./protoc ../internal/serve/store/internal/index/opmstore.proto
