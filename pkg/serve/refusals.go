package serve

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// refusalsEvery is how often the log says what clients were refused. Each refusal by itself would fill it.
const refusalsEvery = time.Minute

// refusals count what clients were refused, since that was logged last.
type refusals struct {
	calls   atomic.Int64 // gRPC and HTTP, when too many were open
	evicted atomic.Int64 // connections that made room for others
	refused atomic.Int64 // connections for which nothing made room
}

// keepLogging logs the counts from time to time, and once more when ctx is done.
func (r *refusals) keepLogging(ctx context.Context, log *slog.Logger) error {
	ticker := time.NewTicker(refusalsEvery)
	defer ticker.Stop()
	defer r.log(log)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
			r.log(log)
		}
	}
}

func (r *refusals) log(log *slog.Logger) {
	calls, evicted, refused := r.calls.Swap(0), r.evicted.Swap(0), r.refused.Swap(0)
	if calls+evicted+refused > 0 {
		log.Warn("too many clients: calls or connections were refused",
			"calls", calls, "connectionsClosed", evicted, "connectionsRefused", refused)
	}
}
