package declcfg_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestMemo checks that Convert yields the same with a memo as without, also where files are equal only in part.
func TestMemo(t *testing.T) {
	const kiln = "---\nschema: olm.package\nname: kiln\n---\nschema: olm.channel\npackage: kiln\nname: stable\n"
	const broken = "schema: olm.package\nname: [\n"
	trees := []fstest.MapFS{
		{"kiln.yaml": {Data: []byte(kiln)}, "loom.yaml": {Data: []byte("schema: olm.package\nname: loom\n")}, "broken.yaml": {Data: []byte(broken)}},
		{"kiln.yaml": {Data: []byte(kiln)}, "loom.yaml": {Data: []byte("schema: olm.package\nname: room\n")}, "broken.yaml": {Data: []byte(broken)}},
		{"other.yaml": {Data: []byte(kiln)}, "moved.yaml": {Data: []byte("# A comment.\n" + kiln)}},
	}
	var calls atomic.Int64
	read := func(ctx context.Context) (lines []string) {
		for i, tree := range trees {
			s := declcfg.Source{Name: fmt.Sprintf("v%d", i+1), FS: tree}
			s.Note = func(err *declcfg.Error) { lines = append(lines, "note: "+err.Error()) }
			fn := func(o *declcfg.Object) (string, error) {
				calls.Add(1)
				return string(o.JSON()), nil
			}
			for c, err := range declcfg.Convert(ctx, fn, s) {
				if err != nil {
					lines = append(lines, err.Error())
					continue
				}
				o, err := c.Meta.Read()
				if err != nil {
					t.Fatal(err)
				}
				lines = append(lines, fmt.Sprintf("%s: %s %s\n%s%s", c.Meta.Pos, c.Meta.Schema, c.Meta.Name, o.JSON(), c.Value))
			}
		}
		return lines
	}
	want := read(t.Context())
	if n := calls.Swap(0); n != 10 {
		t.Errorf("without a memo: %d calls, want 10", n)
	}
	if got := read(new(memo.Memo).With(t.Context())); !slices.Equal(got, want) {
		t.Errorf("with a memo:\n%s\nwithout:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := calls.Load(); n != 6 {
		t.Errorf("with a memo: %d calls, want 6: kiln.yaml is read once", n)
	}
}

// TestReadIndexAnd checks that the parts of objects are taken from the memo, and kept for each catalog.
func TestReadIndexAnd(t *testing.T) {
	const text = "schema: olm.package\nname: kiln\n---\nschema: olm.bundle\npackage: kiln\nname: kiln.v1\nimage: i\n"
	ctx := new(memo.Memo).With(t.Context())
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
		x, err := declcfg.ReadIndexAnd(ctx, part, keep, declcfg.Source{Name: "c", FS: tree})
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

// TestMemoOfParts checks that the equal beginning of two long files is converted once.
func TestMemoOfParts(t *testing.T) {
	var start strings.Builder
	for i := range 200 {
		fmt.Fprintf(&start, "---\nschema: custom\nname: c%d\ntext: %s\n", i, strings.Repeat("x", 10_000))
	}
	ctx := new(memo.Memo).With(t.Context())
	var calls atomic.Int64
	for i, end := range []string{"a", "b"} {
		tree := fstest.MapFS{"c.yaml": {Data: []byte(start.String() + "---\nschema: custom\nname: " + end + "\n")}}
		fn := func(o *declcfg.Object) (string, error) {
			calls.Add(1)
			return o.Name, nil
		}
		var names []string
		keep := func(m *declcfg.Meta, name string) {
			if m.Name != name {
				t.Errorf("%s: result of %q for %q", m.Pos, name, m.Name)
			}
			names = append(names, name)
		}
		s := declcfg.Source{Name: fmt.Sprint(i), FS: tree}
		if err := declcfg.Collect(ctx, fn, keep, s); err != nil {
			t.Fatal(err)
		}
		if len(names) != 201 || names[200] != end {
			t.Errorf("got %d names, the last %q, want 201 and %q", len(names), names[200], end)
		}
	}
	if n := calls.Load(); n < 202 || n >= 300 {
		t.Errorf("%d calls, want 201 and those of the last part", n)
	}
}
