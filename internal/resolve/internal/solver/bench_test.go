package solver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A catalog is a problem of packages that all have the same number of bundles. The first bundle of a package is
// preferred.
type catalog struct {
	Problem

	bundles int
}

func newCatalog(packages, bundles int) *catalog {
	c := &catalog{Problem{Variables: 1 + packages*bundles}, bundles}
	for p := range packages {
		c.add(one(c.window(p, 0, bundles)...))
	}
	return c
}

func (c *catalog) add(constraint Constraint) { c.Constraints = append(c.Constraints, constraint) }

func (c *catalog) bundle(pkg, n int) int { return 1 + pkg*c.bundles + n }

// window returns n bundles of a package, starting at the given one.
func (c *catalog) window(pkg, start, n int) []int {
	vs := make([]int, n)
	for i := range vs {
		vs[i] = c.bundle(pkg, (start+i)%c.bundles)
	}
	return vs
}

// chain returns a catalog whose bundles need any bundle of the next package.
func chain(packages, bundles int) *catalog {
	c := newCatalog(packages, bundles)
	c.add(must(0))
	c.add(need(0, c.window(0, 0, bundles)...))
	for p := range packages - 1 {
		for b := range bundles {
			c.add(need(c.bundle(p, b), c.window(p+1, 0, bundles)...))
		}
	}
	return c
}

// diamonds returns a catalog with some wanted packages of which only the last bundle can be installed: the other
// bundles have three needs and two packages to satisfy them. Propagation does not detect that; the search does after it
// has chosen all of them.
func diamonds(wanted, bundles int) *catalog {
	c := newCatalog(3*wanted, bundles)
	for p := 0; p < 3*wanted; p += 3 {
		anchor := c.Variables
		c.Variables++
		c.add(must(anchor))
		c.add(need(anchor, c.window(p, 0, bundles)...))
		for b := range bundles - 1 {
			for n := range 3 {
				c.add(need(c.bundle(p, b), c.bundle(p+1, n), c.bundle(p+2, n)))
			}
		}
	}
	return c
}

// windows returns a catalog in which each bundle needs one of a few bundles of two random other packages.
func windows(packages, bundles, width int) *catalog {
	r := rand.New(rand.NewPCG(1, 1))
	c := newCatalog(packages, bundles)
	c.add(must(0))
	c.add(need(0, c.window(0, 0, bundles)...))
	for p := range packages {
		for b := range bundles {
			for range 2 {
				c.add(need(c.bundle(p, b), c.window(r.IntN(packages), r.IntN(bundles), width)...))
			}
		}
	}
	return c
}

// TestSolveDeadline checks that a search that would take hours ends at its deadline.
func TestSolveDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := windows(200, 60, 5).Solve(ctx)
	if !errors.Is(err, ErrUndecided) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v; want that there is no answer", err)
	}
}

func TestSolveCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := windows(200, 60, 5).Solve(ctx); !errors.Is(err, ErrUndecided) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v; want that there is no answer", err)
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		bench(b, fmt.Sprintf("chain/%d", n), chain(n, 12))
	}
	for _, n := range []int{10, 100} {
		bench(b, fmt.Sprintf("diamonds/%d", n), diamonds(n, 12))
	}
	large := windows(200, 60, 40)
	bench(b, "windows", large)
	large.add(must(large.bundle(0, 0)))
	large.add(must(large.bundle(0, 1)))
	bench(b, "unsatisfiable", large)
}

func bench(b *testing.B, name string, c *catalog) {
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Solve(b.Context()); errors.Is(err, ErrUndecided) {
				b.Fatal(err)
			}
		}
	})
}
