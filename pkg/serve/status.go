package serve

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/serve/web"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// A processStatus is the combined state of all registries of a process.
type processStatus struct {
	// loading is locked while a registry is being loaded. One is loaded at a time, since loading needs memory.
	loading sync.Mutex

	metrics *web.Metrics // served over HTTP only
	ready   func()       // called when the last registry is loaded for the first time; nil after that
	loads   []*web.Load  // of each registry; nil before the first

	mu     sync.Mutex
	names  []string // of the registries in notes
	states []state  // of the registries
}

func newProcessStatus(registries []Registry, metrics *web.Metrics, ready func()) *processStatus {
	all := &processStatus{
		metrics: metrics, ready: ready, loads: make([]*web.Load, len(registries)), states: make([]state, len(registries)),
	}
	for _, r := range registries {
		all.names = append(all.names, r.Load.CacheName)
	}
	return all
}

// A state describes how the content that a registry serves differs from the current catalogs.
type state struct {
	httpMissing bool      // HTTP content is not built yet
	stale       time.Time // since when a changed catalog cannot be served; zero if it can
	why         error     // error of the last attempt, or nil

	withheld []web.Withheld // packages that are not served
}

func (s *processStatus) setState(number int, is state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[number] = is
	var first time.Time
	for _, other := range s.states {
		if first.IsZero() || !other.stale.IsZero() && other.stale.Before(first) {
			first = other.stale
		}
	}
	s.metrics.Stale(first)
}

// notes returns a line for each registry that does not serve the current catalogs, and for each withheld package.
func (s *processStatus) notes() (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, is := range s.states {
		for _, held := range is.withheld {
			lines = append(lines, validate.WithheldText(held.Package)+": "+held.Reasons[0])
		}
		var line string
		switch {
		case is.httpMissing:
			line = "HTTP content is not ready yet"
		case !is.stale.IsZero():
			line = "the catalog may be stale since " + is.stale.UTC().Format(time.RFC3339)
		default:
			continue
		}
		if is.why != nil {
			if e, ok := errors.AsType[*ProblemsError](is.why); ok {
				line += ": " + problem.Reason(e.Problems)
			} else {
				line += ": " + legible.Text(strings.ReplaceAll(is.why.Error(), "\n", "; "))
			}
		}
		if len(s.states) > 1 {
			line = s.names[i] + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// loaded records the catalogs that a registry now serves. The caller must hold loading.
func (s *processStatus) loaded(number int, load web.Load) {
	s.loads[number] = new(load)
	s.metrics.Loaded(sum(s.loads, load))
	switch {
	case slices.Contains(s.loads, nil):
		s.metrics.Now(web.Loading)
	case s.ready != nil:
		s.ready()
		s.ready = nil
	}
}

// sum returns the last load with the counts and the catalogs of all loads.
func sum(loads []*web.Load, last web.Load) web.Load {
	all := web.Load{Built: last.Built, Took: last.Took}
	stats := &all.Stats
	for _, l := range loads {
		if l == nil {
			continue
		}
		stats.Packages += l.Stats.Packages
		stats.Channels += l.Stats.Channels
		stats.Bundles += l.Stats.Bundles
		stats.Entries += l.Stats.Entries
		stats.Bytes += l.Stats.Bytes
		all.Catalogs = append(all.Catalogs, l.Catalogs...)
		all.Withheld += l.Withheld
	}
	return all
}
