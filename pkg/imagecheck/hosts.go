package imagecheck

import (
	"errors"
	"net"
	"sync"
)

// patience is how many failures in a row are taken for a registry that is down. One may be chance, and each may take as
// long as a timeout, or all the retries of a busy registry.
const patience = 3

// hosts remember which registries are down. The zero value knows of none. Calls may run at once.
type hosts struct {
	mu   sync.Mutex
	down map[string]downtime
}

// A downtime is how often a registry has failed without an answer in between, and how at last.
type downtime struct {
	failures int
	reason   string
}

// note takes in how a registry answered.
func (h *hosts) note(host string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil || !isDown(err) {
		delete(h.down, host)
		return
	}
	if h.down == nil {
		h.down = map[string]downtime{}
	}
	h.down[host] = downtime{h.down[host].failures + 1, reasonOf(err)}
}

// givenUp tells whether a registry is given up, and how it failed at last.
func (h *hosts) givenUp(host string) (reason string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.down[host]
	return d.reason, d.failures >= patience
}

// isDown tells whether a failure is that of a registry, as opposed to what it says about one image: it cannot be
// reached, is silent, or says that it has too much to do.
func isDown(err error) bool {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	if e, ok := errors.AsType[timeout](err); ok && e.Timeout() {
		return true
	}
	e, ok := errors.AsType[temporary](err)
	return ok && e.Temporary()
}

// What timeouts, and answers such as 429 and 503, call themselves.
type (
	timeout interface {
		error
		Timeout() bool
	}
	temporary interface {
		error
		Temporary() bool
	}
)
