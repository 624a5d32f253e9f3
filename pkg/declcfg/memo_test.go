package declcfg_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A placed is a result of Map that can be moved.
type placed struct{ meta *declcfg.Meta }

func (p placed) Moved(t declcfg.Twin) any { return placed{t.Meta(p.meta)} }

func TestMemo(t *testing.T) {
	const kiln = "---\nschema: olm.package\nname: kiln\n---\nschema: olm.channel\npackage: kiln\nname: stable\n"
	const broken = "schema: olm.package\nname: [\n"
	trees := []fstest.MapFS{
		{"kiln.yaml": {Data: []byte(kiln)}, "loom.yaml": {Data: []byte("schema: olm.package\nname: loom\n")}, "broken.yaml": {Data: []byte(broken)}},
		{"kiln.yaml": {Data: []byte(kiln)}, "loom.yaml": {Data: []byte("schema: olm.package\nname: room\n")}, "broken.yaml": {Data: []byte(broken)}},
		{"other.yaml": {Data: []byte(kiln)}, "moved.yaml": {Data: []byte("# A comment.\n" + kiln)}},
	}
	var calls atomic.Int64
	read := func(memo *declcfg.Memo) (lines []string) {
		for i, tree := range trees {
			s := declcfg.Source{Name: fmt.Sprintf("v%d", i+1), FS: tree, Memo: memo}
			s.Note = func(err *declcfg.Error) { lines = append(lines, "note: "+err.Error()) }
			fn := func(o *declcfg.Object) (placed, error) {
				calls.Add(1)
				return placed{o.Meta}, nil
			}
			for p, err := range declcfg.Map(t.Context(), fn, s) {
				if err != nil {
					lines = append(lines, err.Error())
					continue
				}
				o, err := p.meta.Read()
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprintf("%s: %s %s\n%s", p.meta.Pos, p.meta.Schema, p.meta.Name, o.JSON()))
			}
		}
		return lines
	}
	want := read(nil)
	if n := calls.Swap(0); n != 10 {
		t.Errorf("without a memo: %d calls, want 10", n)
	}
	if got := read(new(declcfg.Memo)); !slices.Equal(got, want) {
		t.Errorf("with a memo:\n%s\nwithout:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := calls.Load(); n != 6 {
		t.Errorf("with a memo: %d calls, want 6: kiln.yaml is read once", n)
	}
}

// TestReadIndexAnd checks that the parts of objects are taken from the memo, and kept for each catalog.
func TestReadIndexAnd(t *testing.T) {
	const text = "schema: olm.package\nname: kiln\n---\nschema: olm.bundle\npackage: kiln\nname: kiln.v1\nimage: i\n"
	var memo declcfg.Memo
	var parts atomic.Int64
	for i, tree := range []fstest.MapFS{
		{"a.yaml": {Data: []byte(text)}}, {"b.yaml": {Data: []byte(text)}, "loom.yaml": {Data: []byte("schema: olm.package\nname: loom\n")}},
	} {
		var kept []string
		part := func(_ *declcfg.Meta, v any) (string, error) {
			parts.Add(1)
			if b, ok := v.(*declcfg.Bundle); ok {
				return b.Image, nil
			}
			return "", nil
		}
		keep := func(m *declcfg.Meta, image string) { kept = append(kept, m.Pos.String()+" "+image) }
		x, err := declcfg.ReadIndexAnd(t.Context(), part, keep, declcfg.Source{Name: "c", FS: tree, Memo: &memo})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"c/a.yaml:1:1 ", "c/a.yaml:4:1 i"}
		if i == 1 {
			want = []string{"c/b.yaml:1:1 ", "c/b.yaml:4:1 i", "c/loom.yaml:1:1 "}
		}
		if !slices.Equal(kept, want) {
			t.Errorf("kept %q, want %q", kept, want)
		}
		if b := x.Package("kiln").Bundles[0]; b.Meta.Pos.String()+" "+b.Value.Image != want[1] {
			t.Errorf("got %+v %+v", b.Meta, b.Value)
		}
	}
	if n := parts.Load(); n != 3 {
		t.Errorf("%d parts of 3 different objects", n)
	}
}
