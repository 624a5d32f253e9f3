package api_test

import (
	"context"
	"fmt"
	"log"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/opm-toolchain/opm/pkg/api"
)

// A registry has one package.
type registry struct {
	api.UnimplementedRegistryServer
}

func (registry) GetPackage(_ context.Context, r *api.GetPackageRequest) (*api.Package, error) {
	return &api.Package{Name: r.Name, DefaultChannelName: "stable"}, nil
}

// Serve the protocol of registries, and call it. Package client does more for clients, and package serve is a server.
func Example() {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	api.RegisterRegistryServer(server, registry{})
	go func() { _ = server.Serve(l) }()
	defer server.Stop()

	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	p, err := api.NewRegistryClient(conn).GetPackage(context.Background(), &api.GetPackageRequest{Name: "kiln"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.GetName(), p.GetDefaultChannelName())
	// Output:
	// kiln stable
}
