package serve

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/opm-toolchain/opm/pkg/api"
)

// A healthService reports whether a catalog is being served. As upstream, it ignores which service is asked about.
type healthService struct {
	health.UnimplementedHealthServer
	live *Live
}

// services are those that List returns; "" is the server as a whole.
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

// Watch sends the current state, and then every change. It ends with the server, which waits for all calls to end.
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

// now returns how it is, whether that is for ever, and when to ask again.
func (h *healthService) now() (answer *health.HealthCheckResponse, draining bool, changed <-chan struct{}) {
	serving, draining, changed := h.live.state()
	answer = &health.HealthCheckResponse{Status: health.HealthCheckResponse_NOT_SERVING}
	if serving && !draining {
		answer.Status = health.HealthCheckResponse_SERVING
	}
	return answer, draining, changed
}
