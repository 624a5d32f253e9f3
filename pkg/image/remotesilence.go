package image

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// maxSilence is how often a registry is tried that nobody answers for.
const maxSilence = 3

// A silence remembers the registries that nobody answers for, since each attempt at one may take as long as its
// timeout, and there may be thousands of images in it. The zero value is ready.
type silence struct {
	mu   sync.Mutex
	last map[string]silentAnswer
}

type silentAnswer struct {
	times int
	err   error
}

// ask calls fn, which asks the registry called key, or returns what fn returned where it was called often enough.
func (s *silence) ask(ctx context.Context, key string, fn func() error) error {
	s.mu.Lock()
	last := s.last[key]
	s.mu.Unlock()
	if last.times >= maxSilence {
		return last.err
	}
	err := fn()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !isSilent(err):
		delete(s.last, key)
	case ctx.Err() == nil:
		if s.last == nil {
			s.last = map[string]silentAnswer{}
		}
		s.last[key] = silentAnswer{s.last[key].times + 1, err}
	}
	return err
}

var isSilent = either(isTimeout, either(as[*net.DNSError], isAny(syscall.ECONNREFUSED)))
