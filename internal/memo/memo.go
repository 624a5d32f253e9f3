// Package memo keeps results for catalogs with many equal files, such as those for several versions of a platform.
//
//	var m memo.Memo
//	ctx = m.With(ctx) // for every catalog that is read in the same way
//	index, err := declcfg.ReadIndex(ctx, source)
//
// Functions that read catalogs find the memo in their context, so that their API does not have it.
package memo

import (
	"context"
	"sync"
)

// A Memo keeps the results of functions in memory, by key. The zero value is empty. Goroutines may share a Memo.
type Memo struct {
	mu   sync.Mutex
	kept map[any]any
}

// A partKey is the key of the memo for one of several functions.
type partKey struct{ key any }

// contextKey is the key of the Memo in a context.
type contextKey struct{}

// With returns a context with the memo.
func (m *Memo) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, m)
}

// From returns the memo of a context, or nil.
func From(ctx context.Context) *Memo {
	m, _ := ctx.Value(contextKey{}).(*Memo)
	return m
}

// For returns a context with the part of its memo for a function that depends on key. It is for a function that calls
// several, or one that depends on options.
func For(ctx context.Context, key any) context.Context {
	m := From(ctx)
	if m == nil {
		return ctx
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	part, ok := m.kept[partKey{key}].(*Memo)
	if !ok {
		part = new(Memo)
		m.keep(partKey{key}, part)
	}
	return part.With(ctx)
}

// Get returns the result for a key.
func (m *Memo) Get(key any) (v any, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok = m.kept[key]
	return v, ok
}

// Keep keeps the result for a key.
func (m *Memo) Keep(key, v any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(key, v)
}

func (m *Memo) keep(key, v any) {
	if m.kept == nil {
		m.kept = map[any]any{}
	}
	m.kept[key] = v
}
