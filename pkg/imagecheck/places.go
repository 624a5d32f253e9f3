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

// patience is how many failures in a row are taken for a registry, or a repository, that is down. One may be chance,
// and each may take as long as a timeout, or all the retries of a busy registry.
const patience = 3

// places remember which registries and repositories are down, by their names in references. The zero value has none.
// Calls may run at once.
type places struct {
	mu   sync.Mutex
	down map[string]downtime
}

// A downtime is how often a place has failed without an answer in between, and how at last.
type downtime struct {
	failures int
	reason   string
}

// note records the answer of a registry about an image. Any answer about an image shows that its registry and its
// repository are up.
func (p *places) note(repo name.Repository, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch blame(err) {
	case registry:
		p.fail(repo.RegistryStr(), err)
	case repository:
		p.fail(repo.Name(), err)
	case nobody:
		delete(p.down, repo.RegistryStr())
		delete(p.down, repo.Name())
	}
}

func (p *places) fail(place string, err error) {
	if p.down == nil {
		p.down = map[string]downtime{}
	}
	p.down[place] = downtime{p.down[place].failures + 1, reasonOf(err)}
}

// givenUp reports whether a repository or its registry is given up, and its last failure.
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

// A blamed is the cause of a failure to ask for an image.
type blamed int

const (
	nobody     blamed = iota // any answer about the image
	registry                 // it cannot be reached, is silent, or has too much to do
	repository               // a failure of the server, which may not affect other repositories
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
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return registry
	}
	if e, ok := errors.AsType[timeout](err); ok && e.Timeout() {
		return registry
	}
	return nobody
}

// timeout is the interface of timeouts.
type timeout interface {
	error
	Timeout() bool
}
