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

// patience is the number of consecutive failures after which a registry or a repository is given up. A single failure
// may be chance, but each may take a full timeout or all retries of an overloaded registry.
const patience = 3

// places records failures of registries and repositories, by name. The zero value is empty. Calls may be concurrent.
type places struct {
	mu   sync.Mutex
	down map[string]downtime
}

// A downtime is the number of failures of a place since its last answer, and the reason of the last one.
type downtime struct {
	failures int
	reason   string
}

// note records the result of looking up an image. Any answer about an image shows that its registry and repository
// are up.
func (p *places) note(repo name.Repository, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := repo.RegistryStr()
	switch blame(err) {
	case nobody:
		delete(p.down, place)
		delete(p.down, repo.Name())
		return
	case repository:
		place = repo.Name()
	}
	if p.down == nil {
		p.down = map[string]downtime{}
	}
	p.down[place] = downtime{p.down[place].failures + 1, reasonOf(err)}
}

// givenUp reports whether a repository or its registry is given up, with the last failure.
func (p *places) givenUp(repo name.Repository) (reason string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, place := range []string{repo.RegistryStr(), repo.Name()} {
		if d := p.down[place]; d.failures >= patience {
			return d.reason, true
		}
	}
	return "", false
}

// A blamed is the party responsible for a failed lookup.
type blamed int

const (
	nobody     blamed = iota // any answer about the image
	registry                 // unreachable, silent or overloaded
	repository               // a server error, which may not affect other repositories
)

func blame(err error) blamed {
	if err == nil || errors.Is(err, image.ErrNotFound) {
		return nobody
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		switch code := answer.StatusCode; {
		case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
			return registry
		case code >= http.StatusInternalServerError:
			return repository
		}
		return nobody
	}
	_, broken := errors.AsType[*net.OpError](err)
	if e, ok := errors.AsType[timeout](err); broken || ok && e.Timeout() {
		return registry
	}
	return nobody
}

// timeout is implemented by errors that may be timeouts, such as net.Error.
type timeout interface {
	error
	Timeout() bool
}
