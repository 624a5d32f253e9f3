package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/serve/guard"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
)

// slowCall is the minimum duration of a call that is logged. Most calls take less than a thousandth of it.
const slowCall = time.Second

// An observer is called after each call. The duration of a registry call excludes its wait for the first catalog. Calls
// may be concurrent.
type observer func(method string, code codes.Code, took time.Duration)

// calls intercepts every gRPC call. It waits until a catalog is served, maps errors to codes, and logs slow and failed
// calls. Other calls are not logged.
type calls struct {
	live    *liveSnapshot
	log     *slog.Logger
	slow    time.Duration
	observe observer // may be nil
}

func (c *calls) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	open, err := guard.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	var answer any
	err = c.call(ctx, info.FullMethod, func() (err error) {
		answer, err = next(ctx, req)
		if err == nil && guard.IsHealth(info.FullMethod) {
			answer, err = guard.Encode(ctx, answer, 0) // 0 bytes: never waits for memory
		}
		return err
	})
	return answer, err
}

func (c *calls) stream(srv any, to grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	requests, err := guard.Receive(to, info.IsClientStream)
	if err != nil {
		return err
	}
	defer requests.Close()
	return c.call(to.Context(), info.FullMethod, func() error {
		if guard.IsHealth(info.FullMethod) {
			return next(srv, requests) // which sends only changes
		}
		leased := guard.NewStream(requests)
		defer leased.Done()
		return next(srv, leased)
	})
}

func (c *calls) call(ctx context.Context, method string, next func() error) error {
	if isRegistry(method) {
		if err := c.live.wait(ctx); err != nil {
			return statusOf(err)
		}
	}
	start := time.Now()
	err := parallel.Catch(next)
	if errors.Is(err, store.ErrDataLoss) {
		c.live.reportDamage(err)
	}
	if p, ok := errors.AsType[*parallel.PanicError](err); ok {
		c.log.Error("panic in handler", "value", p.Value, "stack", string(p.Stack))
		err = fmt.Errorf("panic: %v", p.Value)
	}
	if err != nil {
		err = statusOf(err)
	}
	c.report(ctx, method, time.Since(start), err)
	return err
}

func isRegistry(method string) bool { return strings.HasPrefix(method, "/api.") }

func (c *calls) report(ctx context.Context, method string, took time.Duration, err error) {
	code := status.Code(err)
	if c.observe != nil {
		c.observe(method, code, took)
	}
	level, message := slog.LevelDebug, "call"
	switch {
	case code == codes.Internal || code == codes.Unknown || code == codes.DataLoss:
		level, message = slog.LevelError, "call failed"
	case took >= c.slow && isRegistry(method):
		level, message = slog.LevelWarn, "slow call"
	}
	if !c.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", method), slog.String("code", code.String()), slog.Duration("took", took),
	}
	if p, ok := peer.FromContext(ctx); ok {
		attrs = append(attrs, slog.String("client", p.Addr.String()))
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", status.Convert(err).Message()))
	}
	c.log.LogAttrs(ctx, level, message, attrs...)
}

// counted returns an observer that counts each registry call in m.
func counted(m *web.Metrics) observer {
	return func(method string, code codes.Code, took time.Duration) {
		if isRegistry(method) {
			m.Call(path.Base(method), code.String(), took)
		}
	}
}
