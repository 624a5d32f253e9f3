package validate

import (
	"reflect"
	"slices"
	"sync"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/platform"
)

// A Memo keeps results of checks for catalogs with equal files, such as those for several versions of a platform. A
// file that is equal to a file of an earlier catalog is not parsed and checked again, and neither are the updates of a
// package if only such files define it. The zero value is empty.
type Memo struct {
	objects declcfg.Memo

	mu      sync.Mutex
	updates map[*declcfg.Channel]packageUpdates // by the first channel of a package
}

// packageUpdates are the findings about the updates of a package with these values.
type packageUpdates struct {
	values []any
	found  []scope // by channel
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

// updatesOf returns the result of check for a package, or the earlier result for a package with the same values. Equal
// objects of several catalogs have the same value if declcfg's memo has it.
func (m *Memo) updatesOf(x *declcfg.PackageIndex, check func(*declcfg.PackageIndex) []scope) []scope {
	if m == nil || len(x.Channels) == 0 {
		return check(x)
	}
	values, key := valuesOf(x), x.Channels[0].Value
	m.mu.Lock()
	known, ok := m.updates[key]
	m.mu.Unlock()
	if !ok || !slices.Equal(known.values, values) {
		found := check(x)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.updates == nil {
			m.updates = map[*declcfg.Channel]packageUpdates{}
		}
		m.updates[key] = packageUpdates{values, found}
		return found
	}
	found := slices.Clone(known.found)
	for i := range found {
		found[i].meta = x.Channels[i].Meta
	}
	return found
}

// valuesOf returns the values of all objects of a package.
func valuesOf(x *declcfg.PackageIndex) []any {
	all := make([]any, 0, len(x.Packages)+len(x.Channels)+len(x.Bundles)+len(x.Deprecations))
	all = appendValues(all, x.Packages)
	all = appendValues(all, x.Channels)
	all = appendValues(all, x.Bundles)
	return appendValues(all, x.Deprecations)
}

func appendValues[T any](all []any, objects []declcfg.Indexed[T]) []any {
	for _, o := range objects {
		all = append(all, o.Value)
	}
	return all
}
