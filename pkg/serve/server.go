package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// DefaultDrain is how long calls may go on after the server was told to end: less than the 30 seconds after which a
// cluster kills a pod.
const DefaultDrain = 25 * time.Second

// DefaultReloadGrace is the time over which clients are asked to reconnect after the catalog has changed: so that not
// all come back at once.
const DefaultReloadGrace = 5 * time.Second

// defaultSlow is how long a call takes that is worth a line in the log. Most take less than a thousandth of it.
const defaultSlow = time.Second

// ServerOptions say how a server treats its clients. The zero value speaks plain text, as registries in clusters do.
type ServerOptions struct {
	TLS   *tls.Config   // nil is plain text; see [Certificates]
	Log   *slog.Logger  // nil drops what is said
	Slow  time.Duration // calls that take as long are logged; 0 means a second
	Drain time.Duration // how long calls may go on after the server is told to stop; 0 means DefaultDrain

	// ReloadGrace is the time over which clients are asked to reconnect after the catalog has changed; 0 means
	// DefaultReloadGrace, and less than 0 keeps their connections. OLM reads a catalog again when it has reconnected.
	ReloadGrace time.Duration

	// Observe is called when a call has ended, if it is not nil; of registry calls without the time that they
	// waited for the first catalog. It may be called from several goroutines.
	Observe func(method string, code codes.Code, took time.Duration)

	Limits Limits // on what clients may take

	limits *limits // shared with HTTP; nil are those of Limits
}

// withDefaults returns the options with those that are not set.
func (o ServerOptions) withDefaults() ServerOptions {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Slow = cmp.Or(o.Slow, defaultSlow)
	o.Drain = cmp.Or(o.Drain, DefaultDrain)
	o.ReloadGrace = cmp.Or(o.ReloadGrace, DefaultReloadGrace)
	if o.limits == nil {
		o.limits = newLimits(o)
	}
	return o
}

// A Server serves a Live over gRPC: the registry, health and reflection.
type Server struct {
	live *Live
	opts ServerOptions
}

// NewServer returns a server of what live serves. It serves one listener; see [Server.Serve].
func NewServer(live *Live, opts ServerOptions) *Server { return &Server{live, opts.withDefaults()} }

// newGRPC returns a gRPC server with the services.
func (s *Server) newGRPC() *grpc.Server {
	around := &calls{live: s.live, log: s.opts.Log, slow: s.opts.Slow, observe: s.opts.Observe}
	options := append(s.opts.limits.options(),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.UnaryInterceptor(around.unary),
		grpc.StreamInterceptor(around.stream),
	)
	if s.opts.TLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.opts.TLS)))
	}
	server := grpc.NewServer(options...)
	answers := &registry{s.live}
	server.RegisterService(&registryService, answers)
	server.RegisterService(&experimentalService, answers)
	health.RegisterHealthServer(server, &healthService{live: s.live})
	reflection.Register(server)
	return server
}

// Serve answers clients of l, which it closes, until ctx is done. Then it takes no more calls, lets those end that are
// under way, cuts off what takes longer than Drain, and returns nil. Until something is served, calls to the registry
// wait, and health says NOT_SERVING. When the catalog changes, clients are asked to reconnect; see ServerOptions.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	f := newFleet(s.opts, s.newGRPC)
	err := f.serve(ctx, s.opts.limits.listener(l), s.live)
	s.live.drain()
	if !f.end() {
		s.opts.Log.Warn("calls that do not end are cut off", "after", s.opts.Drain)
	}
	return err
}
