package edit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/template"
)

// TestPublishedTemplates checks that each edit of a published template, followed by its undo, gives the original bytes,
// and that comments stay.
func TestPublishedTemplates(t *testing.T) {
	for _, path := range shared.Sample(shared.Glob(t, "data/catalog-templates/*/*.yaml"), 20) {
		t.Run(filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), func(t *testing.T) {
			t.Parallel()
			roundTrips(t, path)
		})
	}
}

// TestPublishedCatalog is the same check for the packages of a published catalog, which have one file each.
func TestPublishedCatalog(t *testing.T) {
	for _, path := range shared.Sample(shared.Glob(t, "data/catalogs/v4.20/*/*"), 5) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			roundTrips(t, path)
		})
	}
}

// A pair is an edit and its undo.
type pair struct{ edit, undo Edit }

// roundTrips applies pairs of edits to a copy of a file.
func roundTrips(t *testing.T, path string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(copied, before, 0o600); err != nil {
		t.Fatal(err)
	}
	pairs := pairsFor(t, copied)
	if len(pairs) == 0 {
		t.Fatal("no edits")
	}
	for _, p := range pairs {
		rewrite(t, copied, p.edit)
		edited := read(t, copied)
		if bytes.Equal(edited, before) {
			t.Fatalf("%+v changed nothing", p.edit)
		}
		if got, want := comments(edited), comments(before); got != want {
			t.Errorf("%+v changed the comments to\n%s\nfrom\n%s", p.edit, got, want)
		}
		rewrite(t, copied, p.undo)
		if after := read(t, copied); !bytes.Equal(after, before) {
			t.Fatalf("%+v and %+v changed bytes:\n%s", p.edit, p.undo, firstDifference(before, after))
		}
	}
}

// pairsFor returns edits after which the package of a file is still valid.
func pairsFor(t *testing.T, path string) (pairs []pair) {
	t.Helper()
	o, err := open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o.pkg != nil && o.pkg.template == template.Semver {
		return stagePairs(o.pkg)
	}
	p, err := o.choose(DefaultChannel{}, "")
	if err != nil {
		t.Fatal(err)
	}
	b := &declcfg.Bundle{
		Schema: declcfg.SchemaBundle, Name: p.name + ".v99.0.0", Package: p.name, Image: "example.com/i:v99",
	}
	property, err := declcfg.NewProperty(declcfg.PropertyPackage, declcfg.PackageProperty{PackageName: p.name, Version: "99.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	b.Properties = []declcfg.Property{property}
	pairs = append(pairs, pair{
		Deprecate{Kind: Package, Name: p.name, Message: "no: \"longer\"\n'maintained' # any more"},
		Deprecate{Kind: Package, Name: p.name, Undo: true},
	})
	packages, _ := values[declcfg.Package](p)
	channels, _ := values[declcfg.Channel](p)
	for _, c := range channels[:1] {
		image := ""
		if p.template != "" {
			image = b.Image
		}
		pairs = append(pairs,
			pair{Add{Bundle: b, Channel: c.Name}, Remove{Kind: Bundle, Name: b.Name, Image: image}},
			pair{
				Add{Bundle: b, Channel: c.Name, Updates: Updates{Skips: []string{"a", "b"}, SkipRange: ">=1.0.0 <99.0.0"}},
				Remove{Kind: Bundle, Name: b.Name, Image: image},
			},
			pair{
				Deprecate{Kind: Bundle, Name: c.Entries[0].Name, Message: "old"},
				Deprecate{Kind: Bundle, Name: c.Entries[0].Name, Undo: true},
			},
		)
		if c.Name != packages[0].DefaultChannel {
			pairs = append(pairs, pair{DefaultChannel{c.Name}, DefaultChannel{packages[0].DefaultChannel}})
		}
		for _, other := range channels {
			if entryOf(other, c.Entries[0].Name) < 0 {
				pairs = append(pairs, pair{
					Promote{Bundle: c.Entries[0].Name, To: other.Name},
					Remove{Kind: Bundle, Name: c.Entries[0].Name, Channel: other.Name},
				})
				break
			}
		}
	}
	return pairs
}

// stagePairs returns edits of a semver template.
func stagePairs(p *pkg) (pairs []pair) {
	b := &declcfg.Bundle{Name: "b", Image: "example.com/i:v99"}
	for _, stage := range template.Stages() {
		pairs = append(pairs, pair{Add{Bundle: b, Channel: stage}, Remove{Kind: Bundle, Name: b.Image, Channel: stage}})
		images := p.parsed.Stage(stage)
		for _, to := range template.Stages() {
			if len(p.parsed.Stage(to)) == 0 && len(images) > 0 {
				pairs = append(pairs, pair{Promote{Bundle: images[0], To: to}, Remove{Kind: Bundle, Name: images[0], Channel: to}})
			}
		}
	}
	return pairs
}

// rewrite applies an edit without waiting for the disk.
func rewrite(t *testing.T, path string, e Edit) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil { // a recently written file would make the edit wait
		t.Fatal(err)
	}
	p, err := newPlan(t.Context(), path, e, Options{})
	if err != nil || len(p.result.Problems) > 0 {
		t.Fatalf("%+v: %v, %v", e, p, err)
	}
	w, err := newWriter([]*plan{p})
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	var text bytes.Buffer
	if err := w.changes[0].copy(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// comments returns the lines that look like comments.
func comments(text []byte) string {
	var all []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			all = append(all, line)
		}
	}
	return strings.Join(all, "")
}

// firstDifference returns the text around the first difference.
func firstDifference(a, b []byte) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-200)
	return "want " + string(a[from:min(len(a), i+100)]) + "\ngot  " + string(b[from:min(len(b), i+100)])
}
