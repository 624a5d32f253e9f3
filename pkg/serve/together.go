package serve

import (
	"slices"
	"sync"

	"github.com/opm-toolchain/opm/pkg/serve/store"
	"github.com/opm-toolchain/opm/pkg/serve/web"
)

// together is what is known of all registries of a process.
type together struct {
	// loading is held by the registry that is being loaded: one at a time, since loading takes memory.
	loading sync.Mutex

	metrics *web.Metrics // that nobody sees without HTTP
	ready   func()       // called when the last registry is loaded for the first time; nil after that
	loads   []*web.Load  // of each registry; nil before the first
}

func newTogether(registries int, metrics *web.Metrics, ready func()) *together {
	return &together{metrics: metrics, ready: ready, loads: make([]*web.Load, registries)}
}

// loaded says what one of the registries serves from now on. The caller holds loading.
func (s *together) loaded(number int, load web.Load) {
	s.loads[number] = new(load)
	load.Stats, load.Catalogs = sum(s.loads)
	s.metrics.Loaded(load)
	switch {
	case slices.Contains(s.loads, nil):
		s.metrics.Now(web.Loading)
	case s.ready != nil:
		s.ready()
		s.ready = nil
	}
}

// sum returns the numbers and the catalogs of all loads that there are.
func sum(loads []*web.Load) (stats store.Stats, catalogs []web.Catalog) {
	for _, l := range loads {
		if l == nil {
			continue
		}
		stats.Packages += l.Stats.Packages
		stats.Channels += l.Stats.Channels
		stats.Bundles += l.Stats.Bundles
		stats.Entries += l.Stats.Entries
		stats.Bytes += l.Stats.Bytes
		catalogs = append(catalogs, l.Catalogs...)
	}
	return stats, catalogs
}
