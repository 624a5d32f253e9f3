package updatecheck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/render"
)

// writeBundle writes the directory of a bundle of package kiln, with this schema for the field size.
func writeBundle(t testing.TB, dir, version, size string) {
	t.Helper()
	files := map[string]string{
		"manifests/csv.yaml": fmt.Sprintf(`{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion,
			metadata: {name: kiln.v%s}, spec: {version: %[1]s}}`, version),
		"manifests/crd.yaml": head + fmt.Sprintf(`
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: %s}}}}
`, size),
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: kiln}",
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// checkCatalog checks a catalog of one file.
func checkCatalog(t testing.TB, catalog string, opts Options) (*Report, error) {
	t.Helper()
	source := declcfg.Source{Name: "c", FS: fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}}
	bundles, err := Read(t.Context(), image.SpoolOptions{}, source)
	if err != nil {
		t.Fatal(err)
	}
	defer bundles.Close()
	return bundles.Check(t.Context(), opts)
}

// openDirectories is an Images that opens bundle directories.
func openDirectories(ctx context.Context, refs []string, failed func(string, error)) (*render.Catalog, error) {
	return render.Open(ctx, refs, render.Options{Bundles: &bundle.Options{}, Skipped: failed})
}

// catalogOf returns a catalog with these channel entries and a bundle for each directory: v1, v2, and so on.
func catalogOf(entries string, dirs ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "{schema: olm.channel, package: kiln, name: stable, entries: [%s]}\n", entries)
	for i, dir := range dirs {
		fmt.Fprintf(&text, "---\n{schema: olm.bundle, package: kiln, name: v%d, image: %q, "+
			"properties: [{type: olm.package, value: {packageName: kiln, version: %[1]d.0.0}}]}\n", i+1, dir)
	}
	return text.String()
}

func TestEqualPairsAreComparedOnce(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	writeBundle(t, a, "1.0.0", "{type: string}")
	writeBundle(t, b, "2.0.0", "{type: integer}")
	const entries = "{name: v1}, {name: v2, replaces: v1}, {name: v3, skipRange: <3.0.0}, {name: v4, replaces: v3}, {name: v5, replaces: v4}"
	var pairs int
	var opened [][]string
	report, err := checkCatalog(t, catalogOf(entries, a, a, b, b, a), Options{
		Images: func(ctx context.Context, refs []string, failed func(string, error)) (*render.Catalog, error) {
			opened = append(opened, refs)
			return openDirectories(ctx, refs, failed)
		},
		Comparing: func(n int) { pairs = n },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(opened) != 1 || len(opened[0]) != 2 {
		t.Errorf("opened %q, want both directories once", opened)
	}
	want := map[graph.Semantics]int{graph.V1: 3}
	if pairs != 2 || report.Compared != 2 || report.Updates != 5 || report.Unchecked != 0 || !maps.Equal(report.Refused, want) {
		t.Errorf("%d pairs, %+v", pairs, report)
	}
	var found []string
	for _, p := range report.Problems {
		if p.Rule == "v1-type" {
			found = append(found, fmt.Sprintf("%s %q", p.Path, p.Names))
		}
	}
	if want := []string{
		`package "kiln": bundle "v3" ["kilns.pottery.example" "v1: ^.size" "v1" "v2"]`,
		`package "kiln": bundle "v5" ["kilns.pottery.example" "v1: ^.size" "v4"]`,
	}; !slices.Equal(found, want) {
		t.Errorf("got %q, want %q", found, want)
	}
}

// TestMemo checks that catalogs with equal bundles have their images opened once and their definitions compared once.
func TestMemo(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	writeBundle(t, a, "1.0.0", "{type: string}")
	writeBundle(t, b, "2.0.0", "{type: integer}")
	var memo Memo
	defer memo.Close()
	var opened []string
	opts := Options{Images: func(ctx context.Context, refs []string, failed func(string, error)) (*render.Catalog, error) {
		opened = append(opened, refs...)
		return openDirectories(ctx, refs, failed)
	}}
	for _, catalog := range []string{
		catalogOf("{name: v1}, {name: v2, replaces: v1}", a, b), catalogOf("{name: v1}, {name: v2, replaces: v1}, {name: v3}", a, b, b),
	} {
		source := declcfg.Source{Name: "c", FS: fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}}
		bundles, err := memo.Read(t.Context(), image.SpoolOptions{}, source)
		if err != nil {
			t.Fatal(err)
		}
		report, err := bundles.Check(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if report.Compared != 1 || report.Refused[graph.V1] != 1 || len(report.Problems) == 0 {
			t.Errorf("%+v", report)
		}
	}
	if len(opened) != 2 || len(memo.verdicts) != 1 || len(memo.texts) != 2 {
		t.Errorf("opened %q, %d verdicts, %d definitions", opened, len(memo.verdicts), len(memo.texts))
	}
}

// TestMemoAfterErrors compares definitions that the memo has from a catalog that was not checked, or that could not be
// read as a whole.
func TestMemoAfterErrors(t *testing.T) {
	files := fstest.MapFS{"channel.yaml": {Data: []byte("{schema: olm.channel, package: kiln, name: stable, " +
		"entries: [{name: v1}, {name: v2, replaces: v1}]}")}}
	for i, kind := range []string{"string", "integer"} {
		crd := head + "\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: " +
			"{openAPIV3Schema: {type: object, properties: {size: {type: " + kind + "}}}}}]\n"
		files[kind+".yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil,
			"{schema: olm.bundle, package: kiln, name: v%d, properties: [%s]}", i+1, objects(t, crd))}
	}
	broken := maps.Clone(files)
	broken["z.yaml"] = &fstest.MapFile{Data: []byte("schema: [")}
	for name, first := range map[string]fstest.MapFS{"not checked": files, "not read": broken} {
		var memo Memo
		defer memo.Close()
		_, err := memo.Read(t.Context(), image.SpoolOptions{}, declcfg.Source{Name: "a", FS: first})
		if (err != nil) != (name == "not read") {
			t.Fatal(err)
		}
		bundles, err := memo.Read(t.Context(), image.SpoolOptions{}, declcfg.Source{Name: "b", FS: files})
		if err != nil {
			t.Fatal(err)
		}
		report, err := bundles.Check(t.Context(), Options{})
		if err != nil || report.Unchecked != 0 || report.Refused[graph.V1] != 1 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// TestNotChecked checks updates of bundles whose manifests are not available.
func TestNotChecked(t *testing.T) {
	a := t.TempDir()
	writeBundle(t, a, "1.0.0", "{type: string}")
	const entries = "{name: v1, replaces: v0}, {name: v2, replaces: v1}, {name: v3, replaces: v2}"
	catalog := catalogOf(entries, a, filepath.Join(a, "missing"), a)
	for _, tt := range []struct {
		name   string
		images Images
		want   []string
	}{
		{"a directory that is missing", openDirectories, []string{"not-in-catalog v1", "manifests v2"}},
		{"no images", nil, []string{"manifests v1", "not-in-catalog v1", "manifests v2", "manifests v3"}},
	} {
		report, err := checkCatalog(t, catalog, Options{Images: tt.images})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range report.Problems {
			_, name, _ := strings.Cut(p.Path, `bundle "`)
			got = append(got, p.Rule+" "+strings.TrimSuffix(name, `"`))
		}
		if !slices.Equal(got, tt.want) || report.Unchecked != 3 || len(report.Refused) != 0 {
			t.Errorf("%s: %q, %+v", tt.name, got, report)
		}
	}
	failed := errors.New("no registry")
	if _, err := checkCatalog(t, catalog, Options{
		Images: func(context.Context, []string, func(string, error)) (*render.Catalog, error) { return nil, failed },
	}); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
}

// TestManyUpdates checks that a package with too many updates is an error, and quickly so.
func TestManyUpdates(t *testing.T) {
	shared.OneGoroutine(t)
	var entries []string
	dirs := make([]string, 2000)
	for i := range dirs {
		entries = append(entries, fmt.Sprintf("{name: v%d, skipRange: '>=0.0.0'}", i+1))
	}
	_, err := checkCatalog(t, catalogOf(strings.Join(entries, ", "), dirs...), Options{})
	if err == nil || !strings.Contains(err.Error(), `package "kiln": more than 1000000 updates`) {
		t.Errorf("got %v", err)
	}
}

// TestLargeDefinitions checks the limits of definitions, which would take too long otherwise.
func TestLargeDefinitions(t *testing.T) {
	shared.OneGoroutine(t)
	const most = 120 // levels of properties
	deep := func(levels int, end string) string {
		return strings.Repeat("{type: object, properties: {a: ", levels) + end + strings.Repeat("}}", levels)
	}
	described := func(n int, kind string) string {
		return "{type: " + kind + ", description: " + strings.Repeat("x", n) + "}"
	}
	for _, tt := range []struct{ before, after, rule, want string }{
		{deep(most, "{type: string}"), deep(most, "{type: integer}"), "v1-type", "type changed"},
		{deep(2*most, "{type: string}"), deep(2*most, "{type: integer}"), "crd", "its schema has more than 250 levels"},
		{described(1600<<10, "string"), described(1600<<10, "integer"), "crd", "it has more than the 1536 KB that a cluster accepts"},
	} {
		a, b := t.TempDir(), t.TempDir()
		writeBundle(t, a, "1.0.0", tt.before)
		writeBundle(t, b, "2.0.0", tt.after)
		report, err := checkCatalog(t, catalogOf("{name: v1}, {name: v2, replaces: v1}", a, b), Options{Images: openDirectories})
		if err != nil {
			t.Fatal(err)
		}
		p := report.Problems[len(report.Problems)-1]
		if p.Rule != tt.rule || !strings.Contains(p.Message, tt.want) {
			t.Errorf("got %v, want %q", p, tt.want)
		}
	}
}

// TestTooManyFindings checks two updates, each with more findings than the limit.
func TestTooManyFindings(t *testing.T) {
	defer func(findings, problems int) { maxFindings, maxProblems = findings, problems }(maxFindings, maxProblems)
	a, b := t.TempDir(), t.TempDir()
	writeBundle(t, a, "1.0.0", "{type: string, format: email, pattern: a}")
	writeBundle(t, b, "2.0.0", "{type: integer}")
	catalog := catalogOf("{name: v1}, {name: v2, replaces: v1}, {name: v3, replaces: v2}", a, b, a)
	for _, tt := range []struct {
		findings, problems int
		want               []string // without information
	}{
		{3, 6, []string{"v1-pattern v2", "v1-type v2", "v1-unhandled v2", "v1-pattern v3", "v1-type v3", "v1-unhandled v3"}},
		{2, 6, []string{"too-many v2", "v1-pattern v2", "v1-type v2", "too-many v3", "v1-pattern v3", "v1-type v3"}},
		{3, 5, []string{"v1-pattern v2", "v1-type v2", "v1-unhandled v2", "too-many v3", "v1-pattern v3"}},
		{3, 4, []string{"too-many ", "v1-pattern v2", "v1-type v2", "v1-unhandled v2", "v1-pattern v3"}},
	} {
		maxFindings, maxProblems = tt.findings, tt.problems
		report, err := checkCatalog(t, catalog, Options{Images: openDirectories})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range report.Problems {
			_, name, _ := strings.Cut(p.Path, `bundle "`)
			if p.Severity == problem.Error {
				got = append(got, p.Rule+" "+strings.TrimSuffix(name, `"`))
			}
		}
		if !slices.Equal(got, tt.want) || report.Refused[graph.V1] != 2 {
			t.Errorf("up to %d findings, %d problems: got %q, want %q; %s",
				tt.findings, tt.problems, got, tt.want, report.Summary())
		}
		out := report.Report()
		counts := map[string]int{
			"updates": report.Updates, "unchecked": 0, "refusedByClassic": report.Refused[graph.Classic], "refusedByV1": 2,
		}
		if !maps.Equal(out.Counts, counts) || len(out.Problems) != len(report.Problems) ||
			!slices.Equal(out.Summary, []string{report.Summary()}) {
			t.Errorf("got %v, %q; want %v", out.Counts, out.Summary, counts)
		}
	}
}

// TestPublished checks published catalogs and bundles, whose results were verified by hand.
func TestPublished(t *testing.T) {
	for _, tt := range []struct {
		name                           string
		refs                           []string
		updates, classic, v1, problems int
	}{
		{"catalog", []string{shared.Path(t, "data/catalogs/v4.12")}, 153, 1, 24, 118},
		{"neighbours", published(t), 36, 3, 16, 98},
	} {
		if !shared.Full() && tt.name == "catalog" {
			continue
		}
		r := checkRefs(t, tt.refs)
		if n := problem.Count(r.Problems, problem.Error); r.Updates != tt.updates || r.Unchecked != 0 || n != tt.problems ||
			r.Refused[graph.Classic] != tt.classic || r.Refused[graph.V1] != tt.v1 {
			t.Errorf("%s: %s, %d problems", tt.name, r.Summary(), n)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	refs := published(b)
	for b.Loop() {
		checkRefs(b, refs)
	}
}

// published returns the directories of published bundles, for packages with several bundles.
func published(t testing.TB) []string {
	packages, err := filepath.Glob(shared.Path(t, "data/operators") + "/*")
	if err != nil {
		t.Fatal(err)
	}
	var several []string
	for _, dir := range packages {
		if all, _ := filepath.Glob(dir + "/*"); len(all) > 1 {
			several = append(several, all...)
		}
	}
	return several
}

func checkRefs(t testing.TB, refs []string) *Report {
	t.Helper()
	catalog, err := render.Open(t.Context(), refs, render.Options{Bundles: &bundle.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	defer catalog.Close()
	bundles, err := Read(t.Context(), image.SpoolOptions{}, catalog.Sources...)
	if err != nil {
		t.Fatal(err)
	}
	defer bundles.Close()
	r, err := bundles.Check(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
