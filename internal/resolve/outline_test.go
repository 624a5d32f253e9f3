package resolve

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// checkOutline compares the dependencies that an outline finds with the dependencies in the whole catalog. It returns
// their number, and the number of packages that the outline read for them.
func checkOutline(t *testing.T, source declcfg.Source) (total, read int) {
	t.Helper()
	c, err := ReadCatalog(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	var o Outline
	index, err := o.ReadIndex(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	whole := c.Dependencies()
	outlined, err := o.Dependencies(t.Context(), index, index.Each())
	if err != nil {
		t.Error(err)
	}
	for i, p := range index.Packages() {
		for j, b := range p.Bundles {
			want, wantErr := whole.Of(t.Context(), c.Index.Packages()[i].Bundles[j].Meta)
			got, err := outlined.Of(t.Context(), b.Meta)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || !slices.EqualFunc(got, want, equalDependencies) {
				t.Errorf("%s: got %+v, %v, want %+v, %v", b.Value.Name, got, err, want, wantErr)
			}
			total += len(got)
		}
	}
	counted := countedPackages{Outline: &o}
	var again []*foundDependency
	for _, d := range outlined.known {
		again = append(again, newDependency(d.requirement))
	}
	if err := satisfyFrom(t.Context(), &counted, again...); err != nil {
		t.Error(err)
	}
	return total, counted.read
}

// countedPackages counts the packages that are read.
type countedPackages struct {
	*Outline
	read int
}

func (c *countedPackages) Read(name string) (*Catalog, error) {
	c.read++
	return c.Outline.Read(name)
}

func equalDependencies(a, b *Dependency) bool {
	return a.Requires == b.Requires && a.Sentence == b.Sentence && slices.Equal(a.SatisfiedBy, b.SatisfiedBy)
}

func TestOutline(t *testing.T) {
	const provided = `{type: olm.gvk, value: {group: g, version: v1, kind: K}}`
	pkg := func(name, properties string) string {
		return fmt.Sprintf(`---
{schema: olm.package, name: %s, defaultChannel: c}
---
{schema: olm.channel, package: %[1]s, name: c, entries: [{name: %[1]s.v1}]}
---
{schema: olm.bundle, package: %[1]s, name: %[1]s.v1, properties: [%s]}
`, name, properties)
	}
	others := pkg("a", provided) + pkg("b", provided+", {type: olm.label, value: {label: l}}") +
		pkg("c", `{type: olm.package, value: {packageName: b, version: 1.0.0}}`) + pkg("d", "") + pkg("e", "{type: olm.gvk, value: 1}")
	const api = `{group: g, version: v1, kind: K}`
	for _, tt := range []struct {
		requires string
		read     int
	}{
		{`{type: olm.gvk.required, value: ` + api + `}`, 2},
		{`{type: olm.package.required, value: {packageName: b, versionRange: ">0.0.0"}}`, 1},
		{`{type: olm.label.required, value: {label: l}}`, 6},
		{`{type: olm.constraint, value: {failureMessage: m, any: {constraints: [{gvk: ` + api + `}, {package: {packageName: d, versionRange: ">0.0.0"}}]}}}`, 3},
		{`{type: olm.constraint, value: {failureMessage: m, all: {constraints: [{gvk: ` + api + `}, {package: {packageName: b, versionRange: ">0.0.0"}}]}}}`, 1},
		{`{type: olm.constraint, value: {failureMessage: m, cel: {rule: "properties.exists(p, p.type == 'olm.label')"}}}`, 6},
		{`{type: olm.gvk.required, value: {group: g, version: v2, kind: K}}`, 0},
		{`{type: olm.gvk.required, value: ` + api + `}, {type: olm.package.required, value: {packageName: missing, versionRange: ">0.0.0"}}`, 3},
	} {
		t.Run(tt.requires, func(t *testing.T) {
			text := others + pkg("z", tt.requires)
			source := declcfg.Source{FS: fstest.MapFS{"c.yaml": {Data: []byte(text)}}}
			if total, read := checkOutline(t, source); total == 0 || read != tt.read {
				t.Errorf("%d dependencies; %d packages were read, want %d", total, read, tt.read)
			}
		})
	}
}

func TestOutlineOfPublishedCatalogs(t *testing.T) {
	shared.OneGoroutine(t)
	all := 0
	for _, dir := range shared.Catalogs(t) {
		total, _ := checkOutline(t, declcfg.Source{FS: os.DirFS(dir)})
		all += total
	}
	if all == 0 {
		t.Error("no bundle has dependencies")
	}
}

// TestOutlineOfChangedFile checks that a changed file is an error, not a dependency that no bundle satisfies.
func TestOutlineOfChangedFile(t *testing.T) {
	const text = `{schema: olm.bundle, package: p, name: v1, properties: [
  {type: olm.package.required, value: {packageName: p, versionRange: ">0.0.0"}}]}`
	files := fstest.MapFS{"c.yaml": {Data: []byte(text)}}
	var o Outline
	index, err := o.ReadIndex(t.Context(), declcfg.Source{FS: files})
	if err != nil {
		t.Fatal(err)
	}
	files["c.yaml"] = &fstest.MapFile{Data: []byte("{}")}
	if _, err = o.Dependencies(t.Context(), index, index.Each()); !errors.Is(err, declcfg.ErrChanged) {
		t.Errorf("error %v, want %v", err, declcfg.ErrChanged)
	}
}
