package serve

import (
	"context"
	"errors"
	"net"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/opm-toolchain/opm/internal/serve/guard"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
	"github.com/opm-toolchain/opm/pkg/api"
)

// handler returns the HTTP handler for the catalogs of all lives.
func handler(lives []*liveSnapshot, process *processStatus, opts Options) http.Handler {
	return web.New(web.Options{
		Acquire: func() ([]web.Catalog, func()) { return acquireAll(lives) },
		Ready: func() bool {
			for _, live := range lives {
				if serving, draining, _ := live.state(); !serving || draining {
					return false
				}
			}
			return true
		},
		Failed: func(err error) {
			for _, live := range lives { // any may be the damaged one
				if errors.Is(err, store.ErrDataLoss) {
					live.reportDamage(err)
				}
			}
			opts.Log.Error("request failed", "error", err)
		},
		Memory:  opts.guard.Memory,
		Stall:   guard.StallTime,
		Pace:    guard.PaceBytes,
		Notes:   process.notes,
		Metrics: process.metrics,
	})
}

// acquireAll returns the catalogs of all lives, in the order of lives. If one of them, or its HTTP content, is not
// loaded yet, it returns no catalogs.
func acquireAll(lives []*liveSnapshot) (catalogs []web.Catalog, release func()) {
	var releases []func()
	release = func() {
		for _, r := range releases {
			r()
		}
	}
	for _, live := range lives {
		s, done, err := live.acquire()
		if err != nil {
			return nil, release
		}
		releases = append(releases, done)
		if s.catalogs == nil {
			return nil, release
		}
		if len(lives) == 1 {
			return s.catalogs, done
		}
		catalogs = append(catalogs, s.catalogs...)
	}
	return catalogs, release
}

// serveHTTP serves the clients of l until ctx is done. It closes l. It stops gracefully, and forcibly after Drain.
func serveHTTP(ctx context.Context, l net.Listener, handler http.Handler, opts Options) error {
	server := opts.guard.HTTPServer(handler)
	server.TLSConfig = opts.TLS
	l = opts.guard.Listener(l)
	ended := make(chan error, 1)
	go func() {
		if opts.TLS != nil {
			ended <- server.ServeTLS(l, "", "")
			return
		}
		ended <- server.Serve(l)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), opts.Drain)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		opts.Log.Warn("closing requests that did not finish", "after", opts.Drain)
		server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A healthService reports whether a catalog is being served. As upstream, it ignores the service that a request names.
type healthService struct {
	health.UnimplementedHealthServer
	live *liveSnapshot
}

// services are the names that List returns; "" is the server as a whole.
var services = []string{"", api.Registry_ServiceDesc.ServiceName, api.ExperimentalRegistry_ServiceDesc.ServiceName}

// Check returns the current state.
func (h *healthService) Check(context.Context, *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	answer, _, _ := h.now()
	return answer, nil
}

// List returns the current state of every service.
func (h *healthService) List(context.Context, *health.HealthListRequest) (*health.HealthListResponse, error) {
	answer, _, _ := h.now()
	all := &health.HealthListResponse{Statuses: map[string]*health.HealthCheckResponse{}}
	for _, name := range services {
		all.Statuses[name] = answer
	}
	return all, nil
}

// Watch sends the current state, and then every change. It returns when the server stops, because the server waits for
// all calls to end.
func (h *healthService) Watch(
	_ *health.HealthCheckRequest, to grpc.ServerStreamingServer[health.HealthCheckResponse],
) error {
	last := health.HealthCheckResponse_UNKNOWN
	for {
		answer, draining, changed := h.now()
		if answer.GetStatus() != last {
			if err := to.Send(answer); err != nil {
				return err
			}
			last = answer.GetStatus()
		}
		if draining {
			return status.Error(codes.Unavailable, "server stopped")
		}
		select {
		case <-changed:
		case <-to.Context().Done():
			return status.FromContextError(to.Context().Err()).Err()
		}
	}
}

// now returns the current state, and whether it is the last one. The channel is closed when it may have changed.
func (h *healthService) now() (answer *health.HealthCheckResponse, draining bool, changed <-chan struct{}) {
	serving, draining, changed := h.live.state()
	answer = &health.HealthCheckResponse{Status: health.HealthCheckResponse_NOT_SERVING}
	if serving && !draining {
		answer.Status = health.HealthCheckResponse_SERVING
	}
	return answer, draining, changed
}
