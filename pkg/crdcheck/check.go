// Package crdcheck reports updates that OLM refuses because of what they change in CustomResourceDefinitions. It needs
// no cluster: the definitions are in the catalog, in bundle directories or in the images of bundles.
//
//	bundles, err := crdcheck.Read(ctx, image.SpoolOptions{}, catalog.Sources...)
//	if err != nil {
//		return err
//	}
//	defer bundles.Close()
//	report, err := bundles.Check(ctx, crdcheck.Options{})
//	if err != nil {
//		return err
//	}
//	err = problem.WriteText(os.Stdout, report.Problems, false)
//
// OLM v1 checks definitions with sigs.k8s.io/crdify, and so does this package.
package crdcheck

import (
	"context"
	"iter"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/cluster"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Options are what is checked, and how. The zero value checks everything that needs no image and no cluster.
type Options struct {
	Package string            // whose updates are checked; "" for all
	OLM     []graph.Semantics // none means both

	// Images opens the images of bundles whose manifests are not in the catalog. Without it, these are not checked.
	Images Images

	// State has the custom resources of a cluster, and its definitions, which say in which versions they are stored. Nil
	// means that these are not known.
	State *cluster.State

	// Comparing is called with the number of pairs of definitions that are to be compared, and then Compared after each
	// with its name; calls of Compared may run at once. They may be nil.
	Comparing func(pairs int)
	Compared  func(name string)
}

// A pair is two definitions of one name that differ.
type pair struct {
	name          string
	before, after digest
}

// A verdict is the findings about a pair.
type verdict struct {
	pair     pair
	findings map[graph.Semantics]findings
	err      error // of reading one of them
}

// findings are those of a version of OLM about a pair.
type findings struct {
	kept    []Finding
	more    int  // that are not kept
	refuses bool // an update
}

// Limits of what is reported. Nobody reads more, and it takes more memory than the definitions. They are variables for
// tests.
var (
	maxFindings = 1000 // of a version of OLM about a pair
	maxProblems = 100_000
)

// cut keeps up to so many findings.
func (f findings) cut(most int) findings {
	if more := len(f.kept) - most; more > 0 {
		f.kept, f.more = slices.Clone(f.kept[:most]), f.more+more
	}
	return f
}

// Check checks the updates. Equal pairs of definitions are compared once. The error is that of ctx, or that of the
// images as a whole.
func (b *Bundles) Check(ctx context.Context, opts Options) (*Report, error) {
	if len(opts.OLM) == 0 {
		opts.OLM = []graph.Semantics{graph.Classic, graph.V1}
	}
	updates, err := b.updates(opts.Package)
	if err != nil {
		return nil, err
	}
	if opts.Images != nil {
		if err := b.pull(ctx, updates, opts.Images); err != nil {
			return nil, err
		}
	}
	if err := b.library.finish(); err != nil {
		return nil, err
	}
	resources, err := resourcesOf(opts.State)
	if err != nil {
		return nil, err
	}
	verdicts := b.compare(ctx, pairsOf(updates), resources, opts)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newReport(updates, verdicts, opts), nil
}

// pairsOf returns all pairs of the updates, each once.
func pairsOf(updates []update) []pair {
	var pairs []pair
	seen := map[pair]bool{}
	for _, u := range updates {
		for _, from := range u.from {
			for p := range differences(from, u.to) {
				if !seen[p] {
					seen[p] = true
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs
}

// differences yields the definitions that differ in two bundles. One that only one of them has does not matter to OLM.
func differences(from, to *node) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		if from.err != nil || to.err != nil {
			return
		}
		for i, name := range to.names {
			before, ok := from.find(name)
			if after := to.digests[i]; ok && before != after && !yield(pair{name, before, after}) {
				return
			}
		}
	}
}

func (b *Bundles) compare(ctx context.Context, pairs []pair, known resources, opts Options) map[pair]verdict {
	if opts.Comparing != nil {
		opts.Comparing(len(pairs))
	}
	room := semaphore.NewWeighted(maxTogether)
	compare := func(p pair) verdict {
		size := min(maxTogether, b.library.texts[p.before].Size()+b.library.texts[p.after].Size())
		if err := room.Acquire(ctx, size); err != nil {
			return verdict{pair: p, err: err}
		}
		defer room.Release(size)
		v := b.library.compare(p, known, opts)
		if opts.Compared != nil {
			opts.Compared(p.name)
		}
		return v
	}
	verdicts := make(map[pair]verdict, len(pairs))
	kept := 0
	for v := range parallel.Map(ctx, 0, slices.Values(pairs), compare) {
		for _, olm := range opts.OLM {
			if kept += len(v.findings[olm].kept); kept > maxProblems {
				v.findings[olm] = v.findings[olm].cut(1)
			}
		}
		verdicts[v.pair] = v
	}
	return verdicts
}

func (l *library) compare(p pair, known resources, opts Options) verdict {
	v := verdict{pair: p, findings: map[graph.Semantics]findings{}}
	before, err := l.read(p.before)
	if err != nil {
		v.err = err
		return v
	}
	after, err := l.read(p.after)
	if err != nil {
		v.err = err
		return v
	}
	stored(opts.State, before)
	for _, olm := range opts.OLM {
		found := Compare(olm, before, after, known.of(after))
		v.findings[olm] = findings{kept: found, refuses: slices.ContainsFunc(found, Finding.refuses)}.cut(maxFindings)
	}
	return v
}
