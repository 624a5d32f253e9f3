package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/opm-toolchain/opm/pkg/serve/store"
	"github.com/opm-toolchain/opm/pkg/serve/web"
)

const (
	httpHeaderTime = 10 * time.Second // within which a request has to begin
	httpIdleTime   = 2 * time.Minute  // that connections wait for the next
)

// handler answers over HTTP for what live serves.
func handler(live *Live, metrics *web.Metrics, opts ServerOptions) http.Handler {
	return web.New(web.Options{
		Acquire: func() ([]web.Catalog, func()) {
			s, release, err := live.Acquire()
			if err != nil {
				return nil, func() {}
			}
			return s.catalogs, release
		},
		Ready: func() bool {
			serving, draining, _ := live.state()
			return serving && !draining
		},
		Failed: func(err error) {
			if errors.Is(err, store.ErrDataLoss) {
				live.Damaged(err)
			}
			opts.Log.Error("request failed", "error", err)
		},
		Memory:  opts.limits.request,
		Stall:   opts.stall,
		Metrics: metrics,
	})
}

// serveHTTP answers clients of l, which it closes, until ctx is done, and then those that it answers already, for as
// long as the options let them.
func serveHTTP(ctx context.Context, l net.Listener, handler http.Handler, opts ServerOptions) error {
	server := &http.Server{
		Handler:           opts.limits.countRequests(handler),
		TLSConfig:         opts.TLS,
		ReadHeaderTimeout: httpHeaderTime,
		IdleTimeout:       min(httpIdleTime, opts.limits.idle),
		ConnState:         opts.limits.connState,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
	}
	l = opts.limits.listener(l)
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
