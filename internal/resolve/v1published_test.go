package resolve

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestV1AgreesWithUpdates checks, for every bundle of published catalogs, that the answer equals the answer of opm
// updates: the next update, the refusal, the error.
func TestV1AgreesWithUpdates(t *testing.T) {
	for _, dir := range shared.Catalogs(t) {
		c, err := ReadCatalog(t.Context(), declcfg.Source{Name: dir, FS: os.DirFS(dir)})
		if err != nil {
			t.Fatal(err)
		}
		c.Name = "x"
		asked, refused, failed := 0, 0, 0
		for i, x := range c.Index.Packages() {
			if i%shared.Step(1, 16) > 0 {
				continue
			}
			p := graph.NewPackage(x)
			for _, channel := range append([]*graph.Channel{nil}, p.Channels...) {
				for _, version := range []string{"", ">=1.0.0-0 <4", "2.x || ~4.10"} {
					// opm updates knows nothing of install modes and manifests.
					e := V1Request{Package: x.Name, Version: version, SingleOwnNamespace: true}
					o := graph.V1Options{Version: parseRange(t, version)}
					bundles := p.Bundles
					if channel != nil {
						e.Channels, o.Channels, bundles = []string{channel.Name}, []*graph.Channel{channel}, channel.Members()
					}
					plan := p.V1(o)
					for _, b := range bundles {
						agree(t, c, e, plan, b)
						asked++
						if err := plan.Err(b); errors.Is(err, graph.ErrNoBundles) {
							failed++
						} else if err != nil {
							refused++
						}
					}
					if t.Failed() {
						return
					}
				}
			}
		}
		t.Logf("%s: %d questions, %d refusals, %d errors", dir, asked, refused, failed)
	}
}

func parseRange(t *testing.T, text string) *graph.Constraint {
	t.Helper()
	if text == "" {
		return nil
	}
	c, err := graph.ParseConstraint(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// agree compares the answer about an installed bundle with a plan.
func agree(t *testing.T, c *Catalog, e V1Request, plan *graph.Plan, b *graph.Bundle) {
	t.Helper()
	e.Installed = &InstalledBundle{Name: b.Name}
	if b.Version != nil {
		e.Installed.Version, e.Installed.Release = b.Version.Semver.String(), b.Version.Release.String()
	}
	got := e.Resolve([]*Catalog{c})
	if err := plan.Err(b); err != nil {
		if got.Message != err.Error() || got.Outcome != Failed {
			t.Errorf("%+v: got %+v, want the error %v", e, got, err)
		}
		return
	}
	want, by := b.Name, graph.Same
	if s, updates := plan.Next(b); updates {
		want, by = s.To.Name, s.By
	}
	if strings.HasPrefix(got.Message, fmt.Sprintf("error for resolved bundle %q with version ", want)) {
		return
	}
	if got.Outcome != Resolved || got.Choice.Bundle != want || got.Choice.By != by && got.Choice.Bundle != b.Name {
		t.Errorf("%+v: got %+v, %+v, want %s by %s", e, got, got.Choice, want, by)
	}
}
