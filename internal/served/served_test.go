package served_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/served"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// patience is far longer than any event takes.
const patience = 5 * time.Minute

// connect returns a client of a listener.
func connect(t *testing.T, l *bufconn.Listener) *client.Client {
	t.Helper()
	connect := func(ctx context.Context) (net.Conn, error) { return l.DialContext(ctx) }
	c, err := client.New("passthrough:///memory", client.Options{Connect: connect})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// objects reads a catalog: its objects by schema, package and name, in JSON. It leaves out what a registry does not
// serve.
func objects(t *testing.T, sources ...declcfg.Source) map[string]string {
	t.Helper()
	all := map[string]string{}
	metas, err := declcfg.Metas(t.Context(), sources...)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range metas {
		v, err := m.Decode()
		if err != nil {
			t.Fatal(err)
		}
		switch o := v.(type) {
		case *declcfg.Package:
			o.Icon, o.Description = nil, ""
		case *declcfg.Channel:
			slices.SortFunc(o.Entries, func(a, b declcfg.Entry) int { return strings.Compare(a.Name, b.Name) })
		case *declcfg.Bundle:
			o.RelatedImages = nil
			slices.SortStableFunc(o.Properties, func(a, b declcfg.Property) int { return strings.Compare(a.Type, b.Type) })
		case *declcfg.Deprecations:
			slices.SortFunc(o.Entries, func(a, b declcfg.Deprecation) int {
				return strings.Compare(a.Reference.Schema+a.Reference.Name, b.Reference.Schema+b.Reference.Name)
			})
		default:
			continue
		}
		all[m.Schema+" "+m.Package+" "+m.Name] = string(declcfg.JSON.Append(nil, v))
	}
	return all
}

// TestWrite checks that the catalog of a registry is the catalog that it serves, apart from what registries do not
// serve.
func TestWrite(t *testing.T) {
	source := declcfg.Source{Name: "catalog", FS: os.DirFS("../../examples/catalog")}
	l := bufconn.Listen(1 << 20)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	open := func(context.Context) (*serve.Input, error) {
		return &serve.Input{Catalogs: []serve.Catalog{{Name: "crafts", Source: source}}, Close: func() {}}, nil
	}
	go func() {
		ended <- serve.Run(ctx, serve.Options{Registries: []serve.Registry{{Listener: l, Load: serve.LoadOptions{Open: open}}}})
	}()
	c := connect(t, l)
	if err := c.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	var text, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&text, &again} {
		if err := served.Write(t.Context(), w, l.DialContext, patience); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text.String() != again.String() {
		t.Error("the second time, the catalog is a different one")
	}
	got := objects(t, declcfg.Source{Name: "served", FS: fstest.MapFS{"catalog.json": {Data: text.Bytes()}}})
	if diff := cmp.Diff(objects(t, source), got); diff != "" {
		t.Error(diff)
	}
}

// A broken registry lists packages as list does.
type broken struct {
	api.UnimplementedRegistryServer
	list func(grpc.ServerStreamingServer[api.PackageName]) error
}

func (b broken) ListPackages(_ *api.ListPackageRequest, to grpc.ServerStreamingServer[api.PackageName]) error {
	return b.list(to)
}

// TestSilence checks that a registry that does not answer is an error.
func TestSilence(t *testing.T) {
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, broken{list: func(to grpc.ServerStreamingServer[api.PackageName]) error {
		<-to.Context().Done()
		return to.Context().Err()
	}})
	go s.Serve(l)
	defer s.Stop()
	err := served.Write(t.Context(), new(bytes.Buffer), l.DialContext, time.Millisecond)
	if err == nil || err.Error() != "the registry sends nothing for 1ms" {
		t.Errorf("got error %v", err)
	}
}

// A slow connection delivers a few bytes at a time.
type slow struct{ net.Conn }

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(idle * 2 / 3)
	return s.Conn.Read(p[:min(len(p), 1<<10)])
}

// idle is the time without bytes that ends a call, by the clock of a test.
const idle = 3 * time.Second

// listen serves one package, with a long name, until the test of a bubble ends.
func listen() (l *bufconn.Listener, stop func()) {
	l = bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, broken{list: func(to grpc.ServerStreamingServer[api.PackageName]) error {
		return to.Send(&api.PackageName{Name: strings.Repeat("p", 20<<10)})
	}})
	go s.Serve(l)
	return l, s.Stop
}

// TestSlow checks that a message that arrives slowly is no silence.
func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, stop := listen()
		defer stop()
		connect := func(ctx context.Context) (net.Conn, error) {
			conn, err := l.DialContext(ctx)
			return slow{conn}, err
		}
		err := served.Write(t.Context(), new(bytes.Buffer), connect, idle)
		if status.Code(err) != codes.Unimplemented { // of the call after the list of packages
			t.Errorf("got error %v", err)
		}
	})
}

// A single registry has one package, and bundles that may be of others.
type single struct {
	api.UnimplementedRegistryServer
	bundles []*api.Bundle
}

func (single) ListPackages(_ *api.ListPackageRequest, to grpc.ServerStreamingServer[api.PackageName]) error {
	return to.Send(&api.PackageName{Name: "p"})
}

func (s single) ListBundles(_ *api.ListBundlesRequest, to grpc.ServerStreamingServer[api.Bundle]) error {
	for _, b := range s.bundles {
		if err := to.Send(b); err != nil {
			return err
		}
	}
	return nil
}

func (single) GetPackage(context.Context, *api.GetPackageRequest) (*api.Package, error) {
	return &api.Package{Name: "p"}, nil
}

// A late writer fails after the idle time.
type late struct{ err error }

func (w late) Write([]byte) (int, error) {
	time.Sleep(2 * idle)
	return 0, w.err
}

// TestLateWriter checks that the registry is not blamed for the error of a writer.
func TestLateWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := bufconn.Listen(1 << 20)
		s := grpc.NewServer()
		api.RegisterRegistryServer(s, single{})
		go s.Serve(l)
		defer s.Stop()
		want := errors.New("the disk is full")
		if err := served.Write(t.Context(), late{want}, l.DialContext, idle); !errors.Is(err, want) {
			t.Errorf("got error %v, want %v", err, want)
		}
	})
}

// TestUnlistedPackage checks that a bundle of a package that is not listed is an error, and not lost.
func TestUnlistedPackage(t *testing.T) {
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, single{bundles: []*api.Bundle{{CsvName: "q.v1", PackageName: "q"}}})
	go s.Serve(l)
	defer s.Stop()
	err := served.Write(t.Context(), new(bytes.Buffer), l.DialContext, patience)
	if want := `list bundles: "q.v1" is of package "q", which is not listed`; err == nil || err.Error() != want {
		t.Errorf("got error %v", err)
	}
}

// TestLargeList checks that the bundles of all messages together are limited.
func TestLargeList(t *testing.T) {
	list := []*api.Bundle{{CsvName: "p.v1", PackageName: "p"}, {CsvName: "p.v2", PackageName: "p"}}
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	api.RegisterRegistryServer(s, single{bundles: list})
	go s.Serve(l)
	defer s.Stop()
	c := connect(t, l)
	size := proto.Size(list[0]) + proto.Size(list[1])
	err := served.WriteWithin(t.Context(), new(bytes.Buffer), c, size)
	if status.Code(err) != codes.Unimplemented { // of the call after the list of bundles
		t.Errorf("got error %v for a list of %d bytes", err, size)
	}
	err = served.WriteWithin(t.Context(), new(bytes.Buffer), c, size-1)
	if want := fmt.Sprintf("list bundles: more than %d bytes", size-1); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
