package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/pkg/serve/store"
	"github.com/opm-toolchain/opm/pkg/serve/web"
)

// defaultWatchEvery is how often watched paths are looked at.
const defaultWatchEvery = time.Second

// retryDamaged is how long to wait before a store that is damaged again, or could not be built, is rebuilt.
const retryDamaged = 10 * time.Second

// Options say what is served, and how.
type Options struct {
	Load   LoadOptions // its Log is that of Server where it is nil
	Server ServerOptions

	// Watch are directories and files. When one changes, and then no more for WatchEvery, everything is loaded again; what
	// was served goes on until then, and also after it if the new catalog is invalid.
	Watch      []string
	WatchEvery time.Duration // how often they are looked at; 0 means a second

	HTTP net.Listener // serves HTTP too, and is closed at the end; nil serves gRPC only

	Ready func() // called when the catalogs are served for the first time, unless it is nil
}

// Run serves what Load.Open opens on l, which it closes, until ctx is done. Clients may connect before the catalog is
// loaded; see [Server.Serve]. It returns nil after ctx is done, and an error when the catalog cannot be loaded at first
// or a listener fails.
func Run(ctx context.Context, l net.Listener, opts Options) error {
	opts.Server = opts.Server.withDefaults()
	opts.Load.Log = cmp.Or(opts.Load.Log, opts.Server.Log)
	opts.WatchEvery = cmp.Or(opts.WatchEvery, defaultWatchEvery)

	live := NewLive()
	defer live.Swap(nil)
	g, running := errgroup.WithContext(ctx)
	metrics := web.NewMetrics()
	opts.Server.Observe = counted(metrics, opts.Server.Observe)
	r := &runner{live: live, opts: opts, log: opts.Server.Log, metrics: metrics}
	if opts.HTTP != nil {
		opts.Load.HTTP = true
		g.Go(func() error {
			return serveHTTP(running, opts.HTTP, handler(live, metrics, opts.Server), opts.Server)
		})
	}
	r.loader = loader{opts.Load}
	g.Go(func() error { return NewServer(live, opts.Server).Serve(running, l) })
	g.Go(func() error { return r.run(running) })
	g.Go(func() error { return opts.Server.limits.tidy(running) })
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// Cache makes the store in the cache directory, unless there is one that is up to date.
func Cache(ctx context.Context, opts LoadOptions) error {
	start := time.Now()
	s, err := Load(ctx, opts, nil)
	if err != nil {
		return err
	}
	if opts.Log != nil {
		message := "cache is up to date"
		if opts.CacheDir == "" {
			message = "catalogs can be served"
			opts.Log.Warn("nothing was kept, since --cache-dir is not set")
		}
		opts.Log.Info(message, "took", time.Since(start).Round(time.Millisecond), "store", s.Store.Stats().Bytes)
	}
	return s.Close()
}

// A runner keeps a Live up to date.
type runner struct {
	live    *Live
	loader  loader
	opts    Options
	log     *slog.Logger
	metrics *web.Metrics // that nobody sees without HTTP

	key   store.Key // of what is served
	stamp uint64    // of the watched paths when it was loaded
}

// run loads the catalogs, and again when they change or the store is damaged.
func (r *runner) run(ctx context.Context) error {
	r.stamp = stampOf(r.opts.Watch)
	if err := r.load(ctx, "ready", nil, false); err != nil {
		return err
	}
	if r.opts.Ready != nil {
		r.opts.Ready()
	}
	var ticks <-chan time.Time // never, where nothing is watched
	if len(r.opts.Watch) > 0 {
		ticker := time.NewTicker(r.opts.WatchEvery)
		defer ticker.Stop()
		ticks = ticker.C
	}
	latest := r.stamp
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks:
			latest = r.look(ctx, latest)
		case found := <-r.live.damaged:
			if err := r.repair(ctx, found.why); err != nil {
				return err
			}
		}
	}
}

// load serves the catalogs, and says so in the log. Those whose key is have are served already.
func (r *runner) load(ctx context.Context, done string, have *store.Key, rebuild bool) error {
	start := time.Now()
	s, err := r.loader.load(ctx, have, rebuild)
	if err != nil {
		r.metrics.LoadFailed()
		return err
	}
	if s == nil {
		return nil
	}
	took := time.Since(start)
	stats := s.Store.Stats()
	r.metrics.Loaded(web.Load{Stats: stats, Built: s.Built, Took: took, Catalogs: s.catalogs})
	r.key = s.Key
	if s.Built {
		debug.FreeOSMemory() // what that took is not needed for serving
	}
	r.live.Swap(s)
	r.log.Info(done, "took", took.Round(time.Millisecond), "memory", residentMemory(),
		"packages", stats.Packages, "bundles", stats.Bundles, "store", stats.Bytes, "key", s.Key)
	return nil
}

// look loads the catalogs again if the watched paths have changed and are at rest. It returns their stamp, and takes
// the one of the last look.
func (r *runner) look(ctx context.Context, last uint64) uint64 {
	now := stampOf(r.opts.Watch)
	if now == r.stamp || now != last {
		return now
	}
	r.stamp = now
	err := r.load(ctx, "serving the changed catalog", &r.key, false)
	if err != nil && ctx.Err() == nil {
		LogError(r.log, "changed catalog cannot be served, still serving the previous one", err)
	}
	return now
}

// repair rebuilds a store that could not be read. It fails where damage is to be fatal.
func (r *runner) repair(ctx context.Context, damage error) error {
	if r.opts.Load.Enforce {
		return damage
	}
	r.metrics.Now(web.Damaged)
	r.log.Error("store is corrupt, rebuilding it", "reason", damage)
	err := r.load(ctx, "store rebuilt", nil, true)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		LogError(r.log, "store cannot be rebuilt", err)
	}
	// Calls that were under way have met the same damage; and where it stays, making stores is not all that is done.
	select {
	case <-ctx.Done():
	case <-time.After(retryDamaged):
	}
	r.live.undamaged()
	return ctx.Err()
}

// LogError logs an error that a load ended with: each of several problems by itself.
func LogError(log *slog.Logger, message string, err error) {
	if e, ok := errors.AsType[*ProblemsError](err); ok {
		for _, p := range e.Problems {
			log.Error(p.String())
		}
		log.Error(message, "problems", len(e.Problems))
		return
	}
	log.Error(message, "reason", err)
}
