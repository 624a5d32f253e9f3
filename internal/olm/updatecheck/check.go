// Package updatecheck reports updates that OLM refuses because of changes to CustomResourceDefinitions, and updates
// that it can never finish because an API server refuses to create or change an object, such as the selector of a
// Deployment. It needs no cluster: it reads the objects from the catalog, from bundle directories or from bundle
// images.
//
//	bundles, err := updatecheck.Read(ctx, image.SpoolOptions{}, catalog.Sources...)
//	if err != nil {
//		return err
//	}
//	defer bundles.Close()
//	report, err := bundles.Check(ctx, updatecheck.Options{})
//	if err != nil {
//		return err
//	}
//	err = problem.WriteText(os.Stdout, report.Problems, false)
//
// Like OLM v1, it checks definitions with sigs.k8s.io/crdify. It replaces the checks whose messages differ from run to
// run. Equal definitions are held once, and equal pairs are compared once. Large definitions take turns, because crdify
// takes up to 200 times their memory.
package updatecheck

import (
	"context"
	"iter"
	"maps"
	"slices"

	"golang.org/x/sync/semaphore"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// Options configure a check. The zero value enables all checks that need neither images nor a cluster.
type Options struct {
	Package string            // the package whose updates are checked; "" for all
	OLM     []graph.Semantics // nil for both versions

	// To selects bundles by package and name; only updates to them are checked. Nil selects all.
	To func(pkg, bundle string) bool

	// Images opens the images of bundles whose manifests are not in the catalog. If nil, such bundles are not
	// checked.
	Images Images

	// State has the custom resources of a cluster and its definitions, which list their stored versions. If nil, both
	// are unknown.
	State *cluster.State

	// Comparing is called with the number of pairs of definitions to compare, then Compared after each pair with its
	// name. Calls of Compared may be concurrent. Both may be nil.
	Comparing func(pairs int)
	Compared  func(name string)
}

// comparesEqual reports whether equal definitions of two bundles are compared too. OLM Classic evaluates the custom
// resources of the cluster at every update, and the definition of the cluster may be older.
func (o Options) comparesEqual() bool { return o.State != nil && slices.Contains(o.OLM, graph.Classic) }

// A pair is two objects with the same key. Before is none for a definition that only the later bundle has.
type pair struct {
	key
	before, after digest
}

// A verdict has the findings about a pair.
type verdict struct {
	pair     pair
	findings map[graph.Semantics]findings
	err      error // of reading one of the definitions

	// refused has the errors of the API server for each version of OLM, without the errors among its findings.
	refused map[graph.Semantics]error
}

// findings are the findings of one version of OLM about a pair.
type findings struct {
	kept    []Finding
	more    int  // findings dropped by cut
	refuses bool // OLM refuses the update
}

// Limits of reported findings and problems: nobody reads more, and they would take more memory than the definitions.
// They are variables for tests.
var (
	maxFindings = 1000 // of one version of OLM about a pair
	maxProblems = 100_000
)

// cut limits the number of kept findings and adds the number of the others to more.
func (f findings) cut(most int) findings {
	if more := len(f.kept) - most; more > 0 {
		f.kept, f.more = slices.Clone(f.kept[:most]), f.more+more
	}
	return f
}

// Check checks the updates. Equal pairs of definitions are compared once. It returns an error if ctx is done, there are
// too many updates, or the images, the stored definitions or the cluster's resources cannot be read at all. A
// definition that cannot be read is a problem in the report.
func (b *Bundles) Check(ctx context.Context, opts Options) (*Report, error) {
	if len(opts.OLM) == 0 {
		opts.OLM = []graph.Semantics{graph.Classic, graph.V1}
	}
	updates, err := b.updates(opts.Package, opts.To)
	if err != nil {
		return nil, err
	}
	if opts.Images != nil {
		if err := b.pull(ctx, updates, opts.Images); err != nil {
			return nil, err
		}
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	resources, err := resourcesOf(opts.State)
	if err != nil {
		return nil, err
	}
	verdicts := b.compare(ctx, pairsOf(updates, opts.comparesEqual()), resources, opts)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newReport(updates, verdicts, opts), nil
}

// pairsOf returns all pairs of the updates, without duplicates.
func pairsOf(updates []update, equal bool) []pair {
	var pairs []pair
	seen := map[pair]bool{}
	for _, u := range updates {
		for _, from := range u.from {
			for p := range common(from, u.to, equal) {
				if !seen[p] {
					seen[p] = true
					pairs = append(pairs, p)
				}
			}
		}
	}
	return pairs
}

// common yields the common objects of two bundles whose parts that are not free to change differ, and the new
// definitions. With equal, it also yields equal definitions. OLM ignores an object of the earlier bundle only.
func common(from, to *node, equal bool) iter.Seq[pair] {
	return func(yield func(pair) bool) {
		if from.err != nil || to.err != nil {
			return
		}
		for _, o := range to.objects {
			isDefinition := o.kind == declcfg.KindCRD
			p := pair{key: o.key, after: o.digest}
			if old := from.find(o.key); old != nil {
				p.before = old.digest
			}
			switch {
			case p.after == none, p.before == none && !isDefinition, p.before == p.after && !(equal && isDefinition):
				continue
			}
			if !yield(p) {
				return
			}
		}
	}
}

func (b *Bundles) compare(ctx context.Context, pairs []pair, known resources, opts Options) map[pair]verdict {
	if opts.Comparing != nil {
		opts.Comparing(len(pairs))
	}
	m, room := b.memo, semaphore.NewWeighted(maxTogether)
	compare := func(p pair) verdict {
		if opts.Compared != nil {
			defer opts.Compared(p.String())
		}
		if known, ok := m.verdicts[p]; ok {
			return known
		}
		size := m.texts[p.after].Size()
		if p.before != none {
			size += m.texts[p.before].Size()
		}
		size = min(maxTogether, size)
		if err := room.Acquire(ctx, size); err != nil {
			return verdict{pair: p, err: err}
		}
		defer room.Release(size)
		return m.compare(p, known, opts)
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
	maps.Copy(m.verdicts, verdicts)
	return verdicts
}

func (m *Memo) compare(p pair, known resources, opts Options) verdict {
	v := verdict{pair: p, findings: map[graph.Semantics]findings{}, refused: map[graph.Semantics]error{}}
	if p.kind != declcfg.KindCRD {
		v.refused = byAll(opts.OLM, m.compareObjects(p))
		return v
	}
	var after, before *definition
	if after, v.err = m.read(p.after); v.err != nil {
		return v
	}
	if p.before == none {
		v.refused = byAll(opts.OLM, refusedCreation(after))
		return v
	}
	if before, v.err = m.read(p.before); v.err != nil {
		return v
	}
	if opts.State != nil { // the cluster may store other versions than the bundle
		if in, ok := opts.State.CustomResourceDefinitions.Get("", before.Name); ok {
			before.Status.StoredVersions = in.Value.Status.StoredVersions
		}
	}
	for _, olm := range opts.OLM {
		found := Compare(olm, before, after, known.of(after))
		v.findings[olm] = findings{kept: found, refuses: slices.ContainsFunc(found, Finding.refuses)}.cut(maxFindings)
		v.refused[olm] = refusedUpdate(before, after, found)
	}
	return v
}

// byAll returns an error that all versions of OLM get, nil for no error.
func byAll(olms []graph.Semantics, err error) map[graph.Semantics]error {
	if err == nil {
		return nil
	}
	errs := map[graph.Semantics]error{}
	for _, olm := range olms {
		errs[olm] = err
	}
	return errs
}
