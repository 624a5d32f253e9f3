package serve

import (
	"context"
	"errors"
	"sync"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
)

// A Snapshot is the content of catalogs at the time they were loaded.
type Snapshot struct {
	Store *store.Store // of all catalogs
	Key   store.Key
	Built bool // the store was built, not opened from the cache

	catalogs []web.Catalog  // for HTTP; nil if the store was built without its content
	withheld []web.Withheld // invalid packages of the catalogs, which are not in the store

	users   int  // number of calls that read it; guarded by Live
	retired bool // another snapshot is served instead; guarded by Live
}

// Close closes the files of the snapshot.
func (s *Snapshot) Close() error {
	if s.Store == nil {
		return nil
	}
	return s.Store.Close()
}

// A Live holds the served snapshot, which can be replaced at any time. At first it has none. It is safe for concurrent
// use.
type Live struct {
	mu       sync.Mutex
	current  *Snapshot
	contents int // number of times that another catalog replaced current
	draining bool
	changed  chan struct{} // closed when current or draining changes, and replaced

	damaged chan error // an error of reading the store, if there was one
}

// NewLive returns a Live without a snapshot.
func NewLive() *Live { return &Live{changed: make(chan struct{}), damaged: make(chan error, 1)} }

// ErrNotServing is returned if there is no snapshot.
var ErrNotServing = errors.New("the catalog is not being served")

// Acquire returns the served snapshot, which stays open until it is released. The error is ErrNotServing if there is
// none.
func (l *Live) Acquire() (s *Snapshot, release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return nil, nil, ErrNotServing
	}
	s = l.current
	s.users++
	return s, func() {
		l.mu.Lock()
		s.users--
		unused := s.retired && s.users == 0
		l.mu.Unlock()
		if unused {
			s.Close()
		}
	}, nil
}

// Wait waits for a snapshot. It returns the error of ctx, or ErrNotServing if the server is stopping and there will be
// none.
func (l *Live) Wait(ctx context.Context) error {
	for {
		serving, draining, changed := l.state()
		switch {
		case draining:
			return ErrNotServing
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
func (l *Live) state() (serving, draining bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current != nil, l.draining, l.changed
}

// content returns a number that changes when another catalog replaces the current one, and a channel that is closed
// when it may have changed.
func (l *Live) content() (number int, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.contents, l.changed
}

// Swap serves s instead of the current snapshot, which is closed when the last call that reads it has ended. If s is
// nil, no catalog is served.
func (l *Live) Swap(s *Snapshot) {
	l.mu.Lock()
	old := l.current
	l.current = s
	unused := old != nil && old.users == 0
	if old != nil {
		old.retired = true
		if s != nil && s.Key != old.Key {
			l.contents++
		}
	}
	l.notify()
	l.mu.Unlock()
	if unused {
		old.Close()
	}
}

// drain wakes up all calls of Wait, and makes health report NOT_SERVING.
func (l *Live) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draining = true
	l.notify()
}

func (l *Live) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Damaged records that the store could not be read, so that it is rebuilt. Package serve calls it for errors in its own
// calls.
func (l *Live) Damaged(err error) {
	select {
	case l.damaged <- err:
	default: // one was reported already
	}
}
