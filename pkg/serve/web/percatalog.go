package web

import (
	"context"
	"sync"

	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// perCatalog keeps a value for each catalog that takes long to make, such as the list of its packages. The zero value
// is ready for use.
type perCatalog[T any] struct {
	mu     sync.Mutex
	byName map[string]*valueOf[T]
}

// A valueOf is the value for the content of a catalog. It is made at the first request.
type valueOf[T any] struct {
	turn    chan struct{} // holds one while the value is read or made
	objects *store.Catalog
	made    bool
	value   T
}

// of returns the value of a catalog, and makes it if there is none for its present content; concurrent callers wait for
// it. An error is not kept, and may be ctx's.
func (p *perCatalog[T]) of(ctx context.Context, c *Catalog, produce func() (T, error)) (T, error) {
	v := p.entry(c)
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	if !v.made {
		value, err := produce()
		if err != nil {
			return value, err
		}
		v.value, v.made = value, true
	}
	return v.value, nil
}

func (p *perCatalog[T]) entry(c *Catalog) *valueOf[T] {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byName == nil {
		p.byName = map[string]*valueOf[T]{}
	}
	if v := p.byName[c.Name]; v != nil && v.objects == c.Objects {
		return v
	}
	v := &valueOf[T]{turn: make(chan struct{}, 1), objects: c.Objects}
	p.byName[c.Name] = v
	return v
}
