package client_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A registry is a small server based on the generated code, as other implementations are.
type registry struct {
	api.UnimplementedRegistryServer
	api.UnimplementedExperimentalRegistryServer
	ended chan struct{} // closed when the client stops reading a list
}

func (registry) ListPackages(_ *api.ListPackageRequest, to grpc.ServerStreamingServer[api.PackageName]) error {
	for _, name := range []string{"ash", "oak"} {
		if err := to.Send(&api.PackageName{Name: name}); err != nil {
			return err
		}
	}
	return status.Error(codes.Internal, "and then it broke")
}

func (r registry) ListBundles(_ *api.ListBundlesRequest, to grpc.ServerStreamingServer[api.Bundle]) error {
	defer close(r.ended)
	for {
		if err := to.Send(&api.Bundle{CsvName: "oak.v1.0.0"}); err != nil {
			return err
		}
	}
}

func (registry) GetPackage(_ context.Context, req *api.GetPackageRequest) (*api.Package, error) {
	if req.GetName() == "old" {
		return nil, status.Error(codes.Unknown, "package not found, in the words of upstream")
	}
	return nil, status.Errorf(codes.NotFound, "package %q not found", req.GetName())
}

func (registry) GetBundleThatReplaces(_ context.Context, req *api.GetReplacementRequest) (*api.Bundle, error) {
	return &api.Bundle{PackageName: req.GetPkgName(), ChannelName: req.GetChannelName(), CsvName: "not " + req.GetCsvName()}, nil
}

func (registry) ExperimentalListPackageCustomSchemas(
	req *api.ExperimentalListPackageCustomSchemasRequest, to grpc.ServerStreamingServer[structpb.Struct],
) error {
	md, _ := metadata.FromIncomingContext(to.Context())
	return to.Send(&structpb.Struct{Fields: map[string]*structpb.Value{
		req.GetSchema(): structpb.NewStringValue(md.Get("x-acknowledge-experimental")[0]),
	}})
}

// start runs a server, and returns its address.
func start(t *testing.T, register func(*grpc.Server)) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func dial(t *testing.T, addr string) *client.Client {
	t.Helper()
	c, err := client.New(addr, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func TestCalls(t *testing.T) {
	r := registry{ended: make(chan struct{})}
	c := dial(t, start(t, func(s *grpc.Server) {
		api.RegisterRegistryServer(s, r)
		api.RegisterExperimentalRegistryServer(s, r)
	}))
	ctx := t.Context()

	var names []string
	var last error
	for name, err := range c.Packages(ctx) {
		names, last = append(names, name), err
	}
	if !slices.Equal(names, []string{"ash", "oak", ""}) || status.Code(last) != codes.Internal {
		t.Errorf("a list that breaks: got %q, then %v", names, last)
	}

	for b, err := range c.Bundles(ctx) {
		if err != nil || b.GetCsvName() != "oak.v1.0.0" {
			t.Errorf("got %v, %v", b, err)
		}
		break
	}
	<-r.ended // the caller read only one bundle

	if _, err := c.Package(ctx, "elm"); !errors.Is(err, client.ErrNotFound) || status.Code(err) != codes.NotFound {
		t.Errorf("missing package: got %v", err)
	}
	if _, err := c.Package(ctx, "old"); errors.Is(err, client.ErrNotFound) || status.Code(err) != codes.Unknown {
		t.Errorf("an unknown error: got %v", err)
	}
	b, err := c.Replacement(ctx, "oak", "stable", "oak.v1.0.0")
	if err != nil || b.GetPackageName() != "oak" || b.GetChannelName() != "stable" || b.GetCsvName() != "not oak.v1.0.0" {
		t.Errorf("replacement: got %v, %v", b, err)
	}
	for s, err := range c.CustomMetas(ctx, "leaf", "oak") {
		if err != nil || s.AsMap()["leaf"] != "true" {
			t.Errorf("custom objects: got %v, %v", s, err)
		}
	}
	for _, err := range c.EntriesThatReplace(ctx, "oak.v1.0.0") {
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("a method that the server does not have: got %v", err)
		}
	}
}

// onlyCheck is a health service without Watch, as in upstream.
type onlyCheck struct {
	healthv1.UnimplementedHealthServer
}

func (onlyCheck) Check(context.Context, *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}, nil
}

func TestWaitReady(t *testing.T) {
	watched := health.NewServer()
	watched.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	for _, test := range []struct {
		name     string
		register func(*grpc.Server)
		after    func() // called when the wait has begun
		want     codes.Code
	}{
		{"watched", func(s *grpc.Server) { healthv1.RegisterHealthServer(s, watched) }, func() {
			watched.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
		}, codes.OK},
		{"checked", func(s *grpc.Server) { healthv1.RegisterHealthServer(s, onlyCheck{}) }, func() {}, codes.OK},
		{"without health", func(*grpc.Server) {}, func() {}, codes.Unimplemented},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := dial(t, start(t, test.register))
			waited := make(chan error, 1)
			go func() { waited <- c.WaitReady(t.Context()) }()
			test.after()
			if err := <-waited; status.Code(err) != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestWaitReadyEnds checks that WaitReady stops waiting for an unreachable server when its context is done.
func TestWaitReadyEnds(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // so that nothing listens on the port
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := dial(t, l.Addr().String()).WaitReady(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestDialOverConnect checks that further options take precedence over Connect.
func TestDialOverConnect(t *testing.T) {
	refused := func(by string) error { return errors.New("refused by " + by) }
	dialer := func(context.Context, string) (net.Conn, error) { return nil, refused("Dial") }
	c, err := client.New("passthrough:///x", client.Options{
		Connect: func(context.Context) (net.Conn, error) { return nil, refused("Connect") },
		Dial:    []grpc.DialOption{grpc.WithContextDialer(dialer)},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Package(t.Context(), "oak"); err == nil || !strings.Contains(err.Error(), "refused by Dial") {
		t.Errorf("got error %v", err)
	}
}
