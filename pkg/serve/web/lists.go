package web

import (
	"sync"

	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// lists remembers the list of packages of each catalog, since making it reads a bundle of every package. The zero value
// is ready for use.
type lists struct {
	mu     sync.Mutex
	byName map[string]*listOf
}

// A listOf is the list of a catalog; it is made once, when it is asked for first.
type listOf struct {
	mu      sync.Mutex
	objects *store.Catalog
	list    *packageList
}

// of returns the list of a catalog, and makes it if there is none for its present content; others that ask for it
// meanwhile wait. An error is not remembered.
func (l *lists) of(c *Catalog) (*packageList, error) {
	one := l.entry(c)
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.list == nil {
		list, err := c.list()
		if err != nil {
			return nil, err
		}
		one.list = list
	}
	return one.list, nil
}

func (l *lists) entry(c *Catalog) *listOf {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName == nil {
		l.byName = map[string]*listOf{}
	}
	if one := l.byName[c.Name]; one != nil && one.objects == c.Objects {
		return one
	}
	one := &listOf{objects: c.Objects}
	l.byName[c.Name] = one
	return one
}
