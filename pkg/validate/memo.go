package validate

import (
	"reflect"
	"slices"
	"sync"

	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A Memo keeps results of checks for catalogs with equal files, such as those for several versions of a platform. A
// file that is equal to a file of an earlier catalog is not parsed and checked again, and neither are the updates of a
// package if only such files define it. The zero value is empty.
type Memo struct {
	objects declcfg.Memo

	mu      sync.Mutex
	updates map[string]packageUpdates // by name of the package, of the last catalog
}

// packageUpdates are the findings about the updates of a package.
type packageUpdates struct {
	content uint64
	found   []scope // by channel
}

// ShareMemo reports whether validations with these options and with others can share a [Memo], because they check
// single objects and updates in the same way. Catalogs for several platforms can.
func (o Options) ShareMemo(others Options) bool {
	for _, target := range []*platform.Platform{&o.Target, &others.Target} {
		if *target != (platform.Platform{}) { // objects do not depend on the version, see needs and fitTarget
			*target = platform.Platform{Metadata: "any", OLMv1: target.OLMv1}
			if target.OLMv1 != platform.OLMv1Absent {
				target.OLMv1 = ""
			}
		}
	}
	o.Memo, others.Memo = nil, nil
	return reflect.DeepEqual(o, others)
}

// sharing returns the sources with the memo. The memo may be nil.
func (m *Memo) sharing(sources []declcfg.Source) []declcfg.Source {
	if m == nil {
		return sources
	}
	sources = slices.Clone(sources)
	for i := range sources {
		sources[i].Memo = &m.objects
	}
	return sources
}

// updatesOf returns the result of check for a package, or the earlier result for a package with the same values.
func (m *Memo) updatesOf(x *declcfg.PackageIndex, check func(*declcfg.PackageIndex) []scope) []scope {
	if m == nil {
		return check(x)
	}
	m.mu.Lock()
	known, ok := m.updates[x.Name]
	m.mu.Unlock()
	if !ok || known.content != x.Content() {
		found := check(x)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.updates == nil {
			m.updates = map[string]packageUpdates{}
		}
		m.updates[x.Name] = packageUpdates{x.Content(), found}
		return found
	}
	found := slices.Clone(known.found)
	for i := range found {
		found[i].meta = x.Channels[i].Meta
	}
	return found
}
