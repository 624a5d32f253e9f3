package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A Catalog is the content served under one name.
type Catalog struct {
	Name   string // for HTTP, unique
	Source declcfg.Source
}

// An Input is a set of open catalogs.
type Input struct {
	Catalogs []Catalog
	Close    func() // closes them
}

// LoadOptions select the catalogs to load and the place of the store built from them.
type LoadOptions struct {
	// Open opens the catalogs. It is called again for each reload.
	Open func(context.Context) (*Input, error)

	// CacheDir keeps the store for the next start; it is created if it does not exist. A stale or corrupt store there
	// is replaced, but not a file that opm did not write. If CacheDir is "" or cannot be written, the store lives as
	// long as the process, in an unnamed file or in memory.
	CacheDir string
	// CacheName names the store in CacheDir, which may have stores of several registries; empty means catalog.
	CacheName string
	// Enforce makes it an error that the store in CacheDir is stale, corrupt or missing.
	Enforce bool
	// CacheOnly makes it an error that CacheDir, if there is one, cannot be written.
	CacheOnly bool

	// KeepGoing serves catalogs without their invalid packages, if any valid ones remain. Such a store is not cached.
	KeepGoing bool

	HTTP     bool         // keeps all objects for HTTP; a store in CacheDir without them is replaced
	Modified time.Time    // when the catalogs were changed, for HTTP; zero asks their files
	Log      *slog.Logger // nil drops all messages
}

// A ProblemsError reports that catalogs cannot be served, with all problems.
type ProblemsError struct {
	Problems []*problem.Problem
	Clash    bool // catalogs of one registry have a package of the same name
	system   bool // some are errors of the system, such as a failed read, which may be temporary
}

func (e *ProblemsError) Error() string {
	return fmt.Sprintf("the catalog is invalid:\n%s", problem.Lines(e.Problems))
}

// load returns a snapshot of the catalogs, from the cache if possible. The error is a *ProblemsError for invalid
// catalogs.
func load(ctx context.Context, opts LoadOptions) (*snapshot, error) {
	l := loader{LoadOptions: opts}
	l.Log = cmp.Or(opts.Log, slog.New(slog.DiscardHandler))
	return l.load(ctx, nil, false)
}

type loader struct {
	LoadOptions

	// allowPartial accepts a store without HTTP content from the cache if nothing is served yet.
	allowPartial bool
}

// load returns a snapshot, or nil if the key is have. If rebuild is set, it ignores the cached store.
func (l *loader) load(ctx context.Context, have *store.Key, rebuild bool) (*snapshot, error) {
	in, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	s := &snapshot{}
	if s.key, err = store.KeyOf(ctx, in.sources()...); err != nil {
		return nil, problems(err)
	}
	if have != nil && s.key == *have {
		return nil, nil
	}
	if !rebuild {
		if s.store, err = l.cached(s.key, l.allowPartial && have == nil); err != nil {
			return nil, err
		}
	}
	if s.store == nil {
		if err := l.make(ctx, s, in); err != nil {
			return nil, err
		}
		s.built = true
	}
	if l.HTTP {
		s.catalogs = l.webCatalogs(s, in)
	}
	return s, nil
}

func (l *loader) make(ctx context.Context, s *snapshot, in *Input) (err error) {
	s.store, err = l.build(ctx, content{s.key, store.BuildOptions{HTTP: l.HTTP}, in.sources()}, l.locations())
	invalid, ok := errors.AsType[*ProblemsError](err)
	if !ok || !l.KeepGoing || l.CacheOnly || invalid.system { // the system may have recovered at the next attempt
		return err
	}
	if s.withheld, err = withhold(ctx, in, invalid); err != nil {
		return err
	}
	for _, held := range s.withheld {
		l.Log.Warn("package is withheld", "package", held.Package, "catalog", held.Catalog, "reason", held.Reasons[0])
	}
	s.store, err = l.build(ctx, content{s.key, store.BuildOptions{HTTP: l.HTTP}, in.sources()}, temporaryLocations())
	return err
}

// withhold removes the invalid packages from catalogs. It returns invalid if no package remains.
func withhold(ctx context.Context, in *Input, invalid *ProblemsError) (all []web.Withheld, err error) {
	left := false
	for i := range in.Catalogs {
		c := &in.Catalogs[i]
		report, err := validate.Catalog(ctx, validate.Options{ErrorsOnly: true}, c.Source)
		if err != nil {
			return nil, err
		}
		held := report.Withheld()
		left = left || !held.HasAll(report.Index)
		if held == nil {
			continue
		}
		c.Source = held.Without(c.Source)[0]
		own := errorsByPackage(report.Problems)
		for _, name := range held.Names() {
			reasons := reasonsFor(held[name], own[legible.Value(name)])
			all = append(all, web.Withheld{Catalog: c.Name, Package: name, Reasons: reasons})
		}
	}
	if !left {
		return nil, invalid
	}
	return all, nil
}

// errorsByPackage returns the errors that are in a package, by its printed name, in their order.
func errorsByPackage(problems []*problem.Problem) map[string][]*problem.Problem {
	all := map[string][]*problem.Problem{}
	for _, p := range problems {
		if p.Severity == problem.Error && p.Package != "" {
			all[p.Package] = append(all[p.Package], p)
		}
	}
	return all
}

// reasonsFor returns the texts of the first error that concerns a package and of the errors that are in it, at most
// shownReasons.
func reasonsFor(first *problem.Problem, own []*problem.Problem) []string {
	reasons := []string{problem.Reason([]*problem.Problem{first})}
	for _, p := range own {
		if p != first && len(reasons) < shownReasons {
			reasons = append(reasons, problem.Reason([]*problem.Problem{p}))
		}
	}
	return reasons
}

const shownReasons = 100 // of a withheld package, on the page

func (in *Input) sources() []declcfg.Source {
	all := make([]declcfg.Source, len(in.Catalogs))
	for i, c := range in.Catalogs {
		all[i] = c.Source
	}
	return all
}

// webCatalogs returns the catalogs served over HTTP, nil if the store was built without HTTP content.
func (l *loader) webCatalogs(s *snapshot, in *Input) []web.Catalog {
	var all []web.Catalog
	for i, objects := range s.store.Catalogs() {
		c := in.Catalogs[i]
		modified := l.Modified
		if modified.IsZero() {
			var err error
			if modified, err = web.Newest(c.Source); err != nil {
				l.Log.Warn("modification time of the catalog is unknown", "catalog", c.Name, "reason", err)
			}
		}
		all = append(all, web.Catalog{
			Name: c.Name, Objects: objects, Providing: s.store.PackagesProviding, Tag: s.key.String(), Modified: modified,
			Withheld: slices.DeleteFunc(slices.Clone(s.withheld), func(w web.Withheld) bool { return w.Catalog != c.Name }),
		})
	}
	return all
}

// A CacheError reports that a cache directory has no valid store, although [LoadOptions.Enforce] requires one.
type CacheError struct{ Err error }

func (e *CacheError) Error() string { return fmt.Sprintf("cache requires rebuild: %v", e.Err) }

func (e *CacheError) Unwrap() error { return e.Err }

// cached returns the store in the cache directory, or nil if it is stale, corrupt or missing, or lacks required HTTP
// content. With allowPartial, that content may still be missing.
func (l *loader) cached(key store.Key, allowPartial bool) (*store.Store, error) {
	if l.CacheDir == "" {
		return nil, nil
	}
	path := l.path()
	s, err := store.Open(path, key)
	if err == nil && l.HTTP && s.Catalogs() == nil && (l.Enforce || !allowPartial) {
		s.Close()
		err = fmt.Errorf("open %s: it was built without HTTP content; build it with --cache-only --with-http", path)
	}
	switch {
	case err == nil:
		return s, nil
	case l.Enforce:
		return nil, &CacheError{err}
	case errors.Is(err, fs.ErrNotExist):
		l.Log.Info("no cache yet", "cache", path)
	default:
		l.Log.Warn("cache cannot be used, rebuilding it", "reason", err)
	}
	return nil, nil
}

func (l *loader) path() string {
	return filepath.Join(l.CacheDir, store.FileName(l.CacheName))
}

// problems returns errors about catalogs as a *ProblemsError, and others as they are.
func problems(err error) error {
	if _, ok := errors.AsType[*declcfg.Error](err); !ok {
		return err
	}
	return &ProblemsError{Problems: problem.FromError("", err), system: isSystemError(err)}
}

// isSystemError reports whether err is, or wraps, an error of the operating system.
func isSystemError(err error) bool {
	_, ok := errors.AsType[syscall.Errno](err)
	return ok
}

// build checks the catalogs, and builds the store in the first location that can hold it.
func (l *loader) build(ctx context.Context, c content, locations []location) (*store.Store, error) {
	var failed []error
	for _, p := range locations {
		check, err := newCheck(c.sources)
		if err != nil {
			return nil, err
		}
		c.opts.Check = check
		s, err := p.build(ctx, c)
		err = problems(err)
		switch _, invalid := errors.AsType[*ProblemsError](err); {
		case err == nil && p.warning != "":
			l.Log.Warn(p.warning)
			return s, nil
		case err == nil:
			return s, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case invalid:
			return nil, err
		}
		failed = append(failed, fmt.Errorf("build the store in %s: %w", p.name, err))
		if p.mustLog {
			l.Log.Warn("store cannot be written to the cache directory", "reason", err)
		}
	}
	return nil, errors.Join(failed...)
}

// A location is a directory, or the memory, where a store can be built.
type location struct {
	name    string
	build   func(context.Context, content) (*store.Store, error) // makes the store and opens it
	mustLog bool                                                 // the user chose this location
	warning string                                               // about its use
}

type content struct {
	key     store.Key
	opts    store.BuildOptions
	sources []declcfg.Source
}

// locations returns all candidate locations in order of preference.
func (l *loader) locations() []location {
	var all []location
	if l.CacheDir != "" {
		all = append(all, location{name: l.CacheDir, build: l.inCache, mustLog: true})
		if l.CacheOnly {
			return all
		}
	}
	return append(all, temporaryLocations()...)
}

// temporaryLocations returns the locations where a store does not outlive the process.
func temporaryLocations() []location {
	var all []location
	dirs := []string{os.TempDir(), "/var/tmp", "/dev/shm"}
	for i, dir := range dirs {
		build := func(ctx context.Context, c content) (*store.Store, error) {
			return store.Temp(ctx, dir, c.key, c.opts, c.sources...)
		}
		if !slices.Contains(dirs[:i], dir) {
			all = append(all, location{name: dir, build: build})
		}
	}
	return append(all, location{
		name:    "memory",
		build:   inMemory,
		warning: "no directory is writable, keeping the store in memory; set --cache-dir to a writable directory",
	})
}

// inCache builds the store in the cache directory, for the next start. It does not replace a file that opm did not
// write. The file mode allows the user of an image to read the store, whoever built it.
func (l *loader) inCache(ctx context.Context, c content) (*store.Store, error) {
	if old, err := store.Open(l.path(), c.key); errors.Is(err, store.ErrForeign) {
		return nil, err
	} else if err == nil {
		old.Close()
	}
	if err := atomicfile.MkdirAll(l.CacheDir, 0o755); err != nil {
		return nil, err
	}
	err := atomicfile.Write(l.path(), atomicfile.Options{Replace: true, Mode: 0o644}, func(w io.Writer) error {
		return store.Write(ctx, w, c.key, c.opts, c.sources...)
	})
	if err != nil {
		return nil, err
	}
	return store.Open(l.path(), c.key)
}

// A check validates each catalog while the store of all of them is built, and rejects packages that are in several
// catalogs, since clients request a package without naming its catalog.
type check struct {
	catalogs []*validate.Checker
	system   bool // see [ProblemsError]
}

func newCheck(sources []declcfg.Source) (*check, error) {
	all := &check{}
	for _, s := range sources {
		c, err := validate.NewChecker(validate.Options{ErrorsOnly: true}, s)
		if err != nil {
			return nil, err
		}
		all.catalogs = append(all.catalogs, c)
	}
	return all, nil
}

// Object implements [store.Check].
func (c *check) Object(source int, o *declcfg.Object, value any, err error) any {
	return c.catalogs[source].Object(o, value, err)
}

// Add implements [store.Check].
func (c *check) Add(source int, m *declcfg.Meta, object any, err error) {
	c.system = c.system || isSystemError(err)
	c.catalogs[source].Add(m, object, err)
}

// Done implements [store.Check]. The error about an invalid catalog is a [*ProblemsError].
func (c *check) Done(ctx context.Context) error {
	invalid := &ProblemsError{system: c.system}
	owners := map[string]*declcfg.Meta{} // by package
	for _, catalog := range c.catalogs {
		report, err := catalog.Report(ctx)
		if err != nil {
			return err
		}
		invalid.Problems = append(invalid.Problems, report.Problems...)
		for name, defined := range report.Index.Definitions() {
			if len(defined) == 0 || name == "" {
				continue
			}
			meta := defined[0].Meta
			other, ok := owners[name]
			if !ok {
				owners[name] = meta
				continue
			}
			invalid.Clash = true
			invalid.Problems = append(invalid.Problems, &problem.Problem{
				Rule: "duplicate-package", Severity: problem.Error, Pos: meta.Pos, Package: name,
				Path: fmt.Sprintf("package %q", name), Message: "another catalog defines it too, at " + other.Pos.String(),
			})
		}
	}
	if len(invalid.Problems) > 0 {
		return invalid
	}
	return nil
}
