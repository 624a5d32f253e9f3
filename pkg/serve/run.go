package serve

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/internal/serve/guard"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
)

// retryDamaged is the delay before the next rebuild, if a rebuilt store is damaged too or the rebuild failed.
const retryDamaged = 10 * time.Second

// Options are the served registries and the settings of the server. Zero values are defaults; connections are plain
// text, as those of registries in clusters.
type Options struct {
	// Registries are served independently. They share the limits, and HTTP serves the catalogs of all, in their order.
	Registries []Registry

	HTTP   net.Listener  // serves HTTP too, and is closed at the end; nil serves gRPC only
	Ready  func()        // called when all catalogs are served for the first time, unless it is nil
	TLS    *tls.Config   // nil means plain text; see [Certificates]
	Log    *slog.Logger  // nil drops all messages
	Drain  time.Duration // time that calls have to end when the server stops; 0 means DefaultDrain
	Limits Limits        // of all clients together

	// ReloadGrace is the period over which clients are asked to reconnect after the catalog has changed; 0 means
	// DefaultReloadGrace, and less than 0 keeps their connections. OLM reads a catalog again after it has reconnected.
	ReloadGrace time.Duration

	watchEvery time.Duration // interval at which watched paths are checked; 0 means a second
	guard      *guard.Guard  // shared by gRPC and HTTP; nil for one with the limits of Limits
	observe    observer      // called after each call, unless it is nil
}

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Drain = cmp.Or(o.Drain, DefaultDrain)
	o.ReloadGrace = cmp.Or(o.ReloadGrace, DefaultReloadGrace)
	o.watchEvery = cmp.Or(o.watchEvery, time.Second)
	if o.guard == nil {
		o.guard = newGuard(o)
	}
	return o
}

// A Registry is the set of catalogs that gRPC clients see at one address.
type Registry struct {
	Listener net.Listener // for gRPC, closed at the end; nil serves over HTTP only
	Load     LoadOptions  // a nil Log is the Log of the server

	// Watch are directories and files. After a change, when no other change has followed for a second, all catalogs
	// are loaded again. The previous content is served until then, and also if the new one is invalid. If loading fails
	// for another reason, it is retried.
	Watch []string
}

// Run serves registries until ctx is done. Clients may connect before the catalogs are loaded, and wait for them. A
// cached store without HTTP content is served over gRPC at once; HTTP clients are asked to retry until that content is
// built. Run returns nil when ctx is done, and an error if a catalog cannot be loaded at the start or a listener fails.
func Run(ctx context.Context, opts Options) error {
	opts = opts.withDefaults()

	g, running := errgroup.WithContext(ctx)
	metrics := web.NewMetrics()
	opts.observe = counted(metrics)
	status := newProcessStatus(opts.Registries, metrics, opts.Ready)
	var lives []*liveSnapshot
	for i, r := range opts.Registries {
		live := newLiveSnapshot()
		defer live.swap(nil)
		lives = append(lives, live)
		r.Load.Log = cmp.Or(r.Load.Log, opts.Log)
		r.Load.HTTP = r.Load.HTTP || opts.HTTP != nil
		runner := &runner{
			number: i, live: live, watch: r.Watch, every: opts.watchEvery, log: r.Load.Log, status: status,
			loader: loader{LoadOptions: r.Load, allowPartial: r.Listener != nil},
			guard:  opts.guard,
			wait:   backoff.NewExponentialBackOff(), // up to a minute

			modified: map[string]time.Time{},
		}
		g.Go(func() error { return runner.run(running) })
		g.Go(func() error { return serveGRPC(running, r.Listener, live, opts) })
	}
	if opts.HTTP != nil {
		g.Go(func() error {
			return serveHTTP(running, opts.HTTP, handler(lives, status, opts), opts)
		})
	}
	g.Go(func() error { return opts.guard.Run(running) })
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// serveGRPC serves live on l, if there is one.
func serveGRPC(ctx context.Context, l net.Listener, live *liveSnapshot, opts Options) error {
	if l != nil {
		return newServer(live, opts).serve(ctx, l)
	}
	<-ctx.Done()
	live.drain()
	return nil
}

// Cache builds the store in the cache directory, unless it is up to date.
func Cache(ctx context.Context, opts LoadOptions) error {
	start := time.Now()
	s, err := load(ctx, opts)
	if err != nil {
		return err
	}
	if opts.Log != nil {
		attrs := []any{"took", time.Since(start).Round(time.Millisecond), "store", s.store.Stats().Bytes}
		if opts.CacheDir == "" {
			opts.Log.Warn("the store was not kept: --cache-dir is not set")
			opts.Log.Info("catalogs can be served", attrs...)
		} else {
			opts.Log.Info("cache is up to date", append(attrs, "readers", "this opm, not upstream's")...)
		}
	}
	return s.close()
}

// A runner keeps a liveSnapshot up to date.
type runner struct {
	number int // of the registry in status
	live   *liveSnapshot
	loader loader
	watch  []string
	every  time.Duration // interval at which watch is checked
	log    *slog.Logger
	status *processStatus
	guard  *guard.Guard

	stamp    uint64               // of the watched paths when they were loaded
	key      store.Key            // of the catalogs that are served
	modified map[string]time.Time // of each catalog that was served over HTTP
	state
	wait *backoff.ExponentialBackOff // before the next attempt
}

// run loads the catalogs, and loads them again if they change, if the store is damaged, and if the last attempt failed
// for a temporary reason.
func (r *runner) run(ctx context.Context) error {
	r.stamp = stampOf(r.watch)
	if err := r.load(ctx, "ready", nil, false); err != nil {
		return err
	}
	again := time.NewTimer(0)
	defer again.Stop()
	if r.httpMissing {
		r.log.Warn("cache has no HTTP content, building it while serving gRPC", "cache", r.loader.path(),
			"remedy", "build the cache with --cache-only --with-http")
	} else {
		again.Stop()
	}
	var ticks <-chan time.Time // never, if nothing is watched
	if len(r.watch) > 0 {
		ticker := time.NewTicker(r.every)
		defer ticker.Stop()
		ticks = ticker.C
	}
	latest := r.stamp
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks:
			now := stampOf(r.watch)
			if now != r.stamp && now == latest { // changed, and no longer changing
				r.stamp = now
				again.Reset(0)
			}
			latest = now
		case <-again.C:
			if r.reload(ctx) {
				again.Reset(r.wait.NextBackOff())
			} else {
				r.wait.Reset()
			}
		case err := <-r.live.damaged:
			if err := r.repair(ctx, err); err != nil {
				return err
			}
		}
	}
}

// load loads the catalogs, serves them and logs that. It does nothing if their key is have.
func (r *runner) load(ctx context.Context, done string, have *store.Key, rebuild bool) error {
	r.status.loading.Lock()
	defer r.status.loading.Unlock()
	start := time.Now()
	s, err := r.loader.load(ctx, have, rebuild)
	if err != nil {
		r.status.metrics.LoadFailed()
		return err
	}
	if s == nil {
		r.setState(state{withheld: r.withheld})
		return nil
	}
	took := time.Since(start)
	stats := s.store.Stats()
	r.advance(s)
	r.key = s.key
	if s.built {
		debug.FreeOSMemory() // return the memory of the build
	}
	r.guard.Loaded()
	r.setState(state{httpMissing: r.loader.HTTP && s.catalogs == nil, withheld: s.withheld}) // before clients see s
	r.live.swap(s)
	r.log.Info(done, "took", took.Round(time.Millisecond), "memory", residentMemory(),
		"packages", stats.Packages, "bundles", stats.Bundles, "store", stats.Bytes, "key", s.key)
	r.status.loaded(r.number, web.Load{
		Stats: stats, Built: s.built, Took: took, Catalogs: s.catalogs, Withheld: len(s.withheld),
	})
	return nil
}

// advance makes the times of the catalogs of s later than the times of the previous catalogs with the same names,
// because HTTP clients that only send a date would otherwise keep the previous content.
func (r *runner) advance(s *snapshot) {
	for i, c := range s.catalogs {
		if last, ok := r.modified[c.Name]; ok && !c.Modified.IsZero() {
			if s.key != r.key {
				last = last.Truncate(time.Second).Add(time.Second) // HTTP dates are in whole seconds
			}
			if c.Modified.Before(last) {
				s.catalogs[i].Modified = last
			}
		}
		r.modified[c.Name] = s.catalogs[i].Modified
	}
}

// reload loads changed catalogs, or builds missing HTTP content. It reports whether to retry later.
func (r *runner) reload(ctx context.Context) (again bool) {
	done, have := "serving the changed catalog", &r.key
	failed := "changed catalog cannot be served, still serving the previous one"
	if r.httpMissing {
		done, have = "serving HTTP content", nil
		failed = "HTTP content cannot be built"
	}
	was := r.state
	err := r.load(ctx, done, have, was.httpMissing)
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil && !was.stale.IsZero():
		r.log.Info("the catalog is up to date again", "stale", time.Since(was.stale).Round(time.Millisecond))
		return false
	case err == nil:
		return false
	}
	if was.why = err; !was.httpMissing && was.stale.IsZero() {
		was.stale = time.Now()
	}
	r.setState(was)
	LogError(r.log, failed, err)
	invalid, ok := errors.AsType[*ProblemsError](err)
	return !ok || invalid.system
}

func (r *runner) setState(s state) {
	r.state = s
	r.status.setState(r.number, s)
}

// repair rebuilds a store that could not be read. With Enforce, it returns the damage.
func (r *runner) repair(ctx context.Context, damage error) error {
	if r.loader.Enforce {
		return damage
	}
	r.status.metrics.Now(web.Damaged)
	r.log.Error("store is corrupt, rebuilding it", "reason", damage)
	err := r.load(ctx, "store rebuilt", nil, true)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		LogError(r.log, "store cannot be rebuilt", err)
	}
	// Calls in progress report the same damage. If it persists, the server must not spend all its time on rebuilding.
	select {
	case <-ctx.Done():
	case <-time.After(retryDamaged):
	}
	select {
	case <-r.live.damaged: //nolint:errcheck // the error was logged for the first call
	default:
	}
	return ctx.Err()
}

// LogError logs the error of loading catalogs: a line for each of several problems.
func LogError(log *slog.Logger, message string, err error) {
	if e, ok := errors.AsType[*ProblemsError](err); ok {
		for _, p := range e.Problems {
			log.Error(p.String())
		}
		log.Error(message, "problems", len(e.Problems))
		return
	}
	lines := strings.SplitN(err.Error(), "\n", maxReasons+1)
	if len(lines) > maxReasons {
		lines[maxReasons] = plural.Of(strings.Count(lines[maxReasons], "\n")+1, "more line") + " not logged"
	}
	log.Error(message, "reason", strings.Join(lines, "\n"))
}

// maxReasons is the maximum number of logged lines of an error. Each may be an error about an object.
const maxReasons = 1000

// stampOf returns a value that changes when files below the paths change: their names, sizes and times, and the targets
// of links. It follows links to files, since a mounted ConfigMap swaps linked files. A read error is a state like any
// other.
func stampOf(paths []string) uint64 {
	sum := fnv.New64a()
	for _, path := range paths {
		root := path
		if target, err := filepath.EvalSymlinks(path); err == nil {
			root = target
		}
		fmt.Fprintf(sum, "root %q %q\n", path, root)
		//nolint:errcheck // every error is part of the stamp
		filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			stamp(sum, name, e, err)
			return nil
		})
	}
	return sum.Sum64()
}

func stamp(w io.Writer, name string, e fs.DirEntry, err error) {
	if err != nil {
		fmt.Fprintf(w, "%q %v\n", name, err)
		return
	}
	stampFile(w, name, e.Info)
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		fmt.Fprintf(w, "-> %q %v\n", target, err)
		stampFile(w, name, func() (fs.FileInfo, error) { return os.Stat(name) })
	}
}

func stampFile(w io.Writer, name string, stat func() (fs.FileInfo, error)) {
	info, err := stat()
	if err != nil {
		fmt.Fprintf(w, "%q %v\n", name, err)
		return
	}
	fmt.Fprintf(w, "%q %v %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
}
