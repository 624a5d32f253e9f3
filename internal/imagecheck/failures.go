package imagecheck

import (
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/opm-toolchain/opm/pkg/image"
)

// maxFailures is the number of consecutive failures after which a registry or a repository is given up. A single
// failure may be chance, but each may take a full timeout or all retries of an overloaded registry.
const maxFailures = 3

// A failureLog records failures of registries and repositories, by name. The zero value is empty. Calls may be
// concurrent.
type failureLog struct {
	mu   sync.Mutex
	down map[string]downtime
}

// A downtime is the number of failures of a registry or repository since its last answer, and the last reason.
type downtime struct {
	failures int
	reason   string
}

// note records the result of looking up an image. Any answer about an image shows that its registry and repository
// are up.
func (l *failureLog) note(repo name.Repository, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	place := repo.RegistryStr()
	switch scopeOf(err) {
	case noFailure:
		delete(l.down, place)
		delete(l.down, repo.Name())
		return
	case repository:
		place = repo.Name()
	}
	if l.down == nil {
		l.down = map[string]downtime{}
	}
	l.down[place] = downtime{l.down[place].failures + 1, reasonOf(err)}
}

// givenUp reports whether a repository or its registry is given up, with the last failure.
func (l *failureLog) givenUp(repo name.Repository) (reason string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, place := range []string{repo.RegistryStr(), repo.Name()} {
		if d := l.down[place]; d.failures >= maxFailures {
			return d.reason, true
		}
	}
	return "", false
}

// A failureScope is the part of a registry that a failed lookup counts against.
type failureScope int

const (
	noFailure  failureScope = iota // any answer about the image
	registry                       // unreachable, silent or overloaded
	repository                     // a server error, which may not affect other repositories
)

func scopeOf(err error) failureScope {
	if err == nil || errors.Is(err, image.ErrNotFound) {
		return noFailure
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		switch code := answer.StatusCode; {
		case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
			return registry
		case code >= http.StatusInternalServerError:
			return repository
		}
		return noFailure
	}
	_, broken := errors.AsType[*net.OpError](err)
	if e, ok := errors.AsType[timeout](err); broken || ok && e.Timeout() {
		return registry
	}
	return noFailure
}

// timeout is implemented by errors that may be timeouts, such as net.Error.
type timeout interface {
	error
	Timeout() bool
}
