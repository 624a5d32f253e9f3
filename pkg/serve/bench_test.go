package serve

import (
	"context"
	"net"
	"path/filepath"
	"testing"

	"google.golang.org/grpc"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

// benchmarked returns a client of a server of the large catalog, over a socket.
func benchmarked(b *testing.B) api.RegistryClient {
	b.Helper()
	dir := catalogDir(b, large())
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "socket"))
	must(b, err)
	s, err := load(b.Context(), LoadOptions{Open: open(dir)})
	must(b, err)
	live := newLiveSnapshot()
	live.swap(s)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- newServer(live, Options{}).serve(ctx, l) }()
	c, err := client.New("unix:"+l.Addr().String(), client.Options{Dial: []grpc.DialOption{}})
	must(b, err)
	b.Cleanup(func() {
		c.Close()
		cancel()
		<-ended
		live.swap(nil)
	})
	must(b, c.WaitReady(ctx))
	b.ReportAllocs()
	return api.NewRegistryClient(c.Conn())
}

func BenchmarkGetBundle(b *testing.B) {
	c := benchmarked(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			_, err := c.GetBundle(b.Context(), &api.GetBundleRequest{PkgName: "elm", ChannelName: "only", CsvName: "elm.v7.0.0"})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkListBundles(b *testing.B) {
	c := benchmarked(b)
	for b.Loop() {
		stream, err := c.ListBundles(b.Context(), &api.ListBundlesRequest{})
		must(b, err)
		for n := 0; ; n++ {
			if _, err := stream.Recv(); err != nil {
				if n != 100 {
					b.Fatal(n, err)
				}
				break
			}
		}
	}
}
