package serve

import (
	"context"
	"errors"
	"sync"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
)

// A snapshot is the content of catalogs at the time they were loaded.
type snapshot struct {
	store *store.Store // of all catalogs
	key   store.Key
	built bool // the store was built, not opened from the cache

	catalogs []web.Catalog  // for HTTP; nil if the store was built without its content
	withheld []web.Withheld // invalid packages of the catalogs, which are not in the store

	users   int  // number of calls that read it; guarded by liveSnapshot
	retired bool // another snapshot is served instead; guarded by liveSnapshot
}

// close closes the files of the snapshot.
func (s *snapshot) close() error {
	if s.store == nil {
		return nil
	}
	return s.store.Close()
}

// A liveSnapshot holds the served snapshot, which can be replaced at any time. At first it has none. It is safe for
// concurrent use.
type liveSnapshot struct {
	mu       sync.Mutex
	current  *snapshot
	contents int // number of times that another catalog replaced current
	draining bool
	changed  chan struct{} // closed when current or draining changes, and replaced

	damaged chan error // an error of reading the store, if there was one
}

// newLiveSnapshot returns a liveSnapshot without a snapshot.
func newLiveSnapshot() *liveSnapshot {
	return &liveSnapshot{changed: make(chan struct{}), damaged: make(chan error, 1)}
}

// errNotServing is returned if there is no snapshot.
var errNotServing = errors.New("the catalog is not being served")

// acquire returns the served snapshot, which stays open until it is released. The error is errNotServing if there is
// none.
func (l *liveSnapshot) acquire() (s *snapshot, release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return nil, nil, errNotServing
	}
	s = l.current
	s.users++
	return s, func() {
		l.mu.Lock()
		s.users--
		unused := s.retired && s.users == 0
		l.mu.Unlock()
		if unused {
			s.close()
		}
	}, nil
}

// wait waits for a snapshot. It returns the error of ctx, or errNotServing if the server is stopping and there will be
// none.
func (l *liveSnapshot) wait(ctx context.Context) error {
	for {
		serving, draining, changed := l.state()
		switch {
		case draining:
			return errNotServing
		case serving:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// state reports whether there is a snapshot and whether the server is stopping. The channel is closed when one of them
// may have changed.
func (l *liveSnapshot) state() (serving, draining bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current != nil, l.draining, l.changed
}

// content returns a number that changes when another catalog replaces the current one, and a channel that is closed
// when it may have changed.
func (l *liveSnapshot) content() (number int, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.contents, l.changed
}

// swap serves s instead of the current snapshot, which is closed when the last call that reads it has ended. If s is
// nil, no catalog is served.
func (l *liveSnapshot) swap(s *snapshot) {
	l.mu.Lock()
	old := l.current
	l.current = s
	unused := old != nil && old.users == 0
	if old != nil {
		old.retired = true
		if s != nil && s.key != old.key {
			l.contents++
		}
	}
	l.notify()
	l.mu.Unlock()
	if unused {
		old.close()
	}
}

// drain wakes up all calls of wait, and makes health report NOT_SERVING.
func (l *liveSnapshot) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draining = true
	l.notify()
}

func (l *liveSnapshot) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// reportDamage records that the store could not be read, so that it is rebuilt.
func (l *liveSnapshot) reportDamage(err error) {
	select {
	case l.damaged <- err:
	default: // one was reported already
	}
}
