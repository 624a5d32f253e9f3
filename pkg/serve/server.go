// Package serve is a registry server: it serves the gRPC services of package api from a store, and builds the store
// from the catalog if there is none yet.
//
//	l, err := net.Listen("tcp", ":50051")
//	err = serve.Run(ctx, serve.Options{
//		Registries: []serve.Registry{{Listener: l, Load: serve.LoadOptions{Open: open}}},
//		Log:        log,
//	})
//
// The responses are documented in registry.proto and in package store. They are upstream's responses except for the
// differences that docs/compatibility.md lists: the code of missing objects is NOT_FOUND, and the order is always the
// same.
//
// Each [Registry] has a listener, a store and reloads of its own, so that catalogs with packages of the same name can
// be served together. Limits, metrics and HTTP are shared; package guard has the limits.
//
// Clients of gRPC reconnect only when a server stops. So each listener has up to eight gRPC servers, which are replaced
// and stopped gracefully when the catalog changes.
package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/opm-toolchain/opm/internal/regular"
)

// DefaultDrain is the time for calls to end when the server stops. It is less than the 30 seconds after which a cluster
// kills a pod.
const DefaultDrain = 25 * time.Second

// DefaultReloadGrace is the period over which clients are asked to reconnect after the catalog has changed, so that
// they do not all reconnect at once.
const DefaultReloadGrace = 5 * time.Second

// A server serves one listener over gRPC: the registry, health and reflection.
type server struct {
	live *liveSnapshot
	opts Options
}

func newServer(live *liveSnapshot, opts Options) *server { return &server{live, opts.withDefaults()} }

func (s *server) newGRPC() *grpc.Server {
	around := &calls{live: s.live, log: s.opts.Log, slow: slowCall, observe: s.opts.observe}
	options := append(s.opts.guard.GRPCOptions(),
		grpc.UnaryInterceptor(around.unary),
		grpc.StreamInterceptor(around.stream),
	)
	if s.opts.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.opts.TLS)))
	}
	server := grpc.NewServer(options...)
	server.RegisterService(&registryService, s.live)
	server.RegisterService(&experimentalService, s.live)
	health.RegisterHealthServer(server, &healthService{live: s.live})
	reflection.Register(server)
	return server
}

// serve serves the clients of l until ctx is done. It closes l. It then accepts no more calls, stops gracefully, and
// forcibly after Drain, and returns nil. Until a catalog is served, registry calls wait, and health reports
// NOT_SERVING. When the catalog changes, clients are asked to reconnect; see Options.
func (s *server) serve(ctx context.Context, l net.Listener) error {
	f := &fleet{
		newServer: s.newGRPC, grace: s.opts.ReloadGrace, drain: s.opts.Drain,
		stopping: make(chan struct{}), all: map[*shard]struct{}{},
	}
	err := f.serve(ctx, s.opts.guard.Listener(l), s.live)
	s.live.drain()
	if !f.end() {
		s.opts.Log.Warn("canceling calls that did not end", "after", s.opts.Drain)
	}
	return err
}

// Certificates are PEM files for TLS. They are read again when they change, for example when a certificate is renewed.
type Certificates struct {
	Cert, Key string       // of the server
	ClientCA  string       // of authorities that sign the certificates of clients; "" lets in clients without one
	Log       *slog.Logger // receives errors about changed files that are invalid; nil drops them
}

// Config returns the TLS configuration. The error is about invalid files. If the files become invalid later, their last
// valid content is used.
func (c Certificates) Config() (*tls.Config, error) {
	r := &certificateReader{Certificates: c, files: []string{c.Cert, c.Key}}
	r.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.ClientCA != "" {
		r.files = append(r.files, c.ClientCA)
	}
	r.stamp = stampOf(r.files)
	config, err := r.read()
	if err != nil {
		return nil, err
	}
	r.config = config
	outer := config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.latest(), nil }
	return outer, nil
}

// A certificateReader caches the configuration in the files.
type certificateReader struct {
	Certificates
	files []string

	mu     sync.Mutex
	stamp  uint64
	config *tls.Config
}

// latest returns the current configuration of the files, or the last valid one.
func (r *certificateReader) latest() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := stampOf(r.files)
	if now == r.stamp {
		return r.config
	}
	config, err := r.read()
	if err != nil {
		// The next connection reads the files again: certificate and key may be written one after the other.
		r.Log.Error("the changed certificate is invalid, still using the previous one", "reason", err)
		return r.config
	}
	r.Log.Info("the certificate has changed")
	r.stamp, r.config = now, config
	return config
}

func (r *certificateReader) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(r.Cert, r.Key)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if r.ClientCA == "" {
		return config, nil
	}
	text, err := regular.ReadNamed(r.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("read certificates of clients: %w", err)
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read certificates of clients: %s contains no certificate", r.ClientCA)
	}
	return config, nil
}
