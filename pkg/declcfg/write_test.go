package declcfg_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func TestSort(t *testing.T) {
	// Each object's name says its expected position; "-" means no package.
	all := metas(t, source("a.yaml", `
{schema: z, name: "15"}
---
{schema: olm.deprecations, package: b, name: "13"}
---
{schema: x, package: b, name: "11"}
---
{schema: a, package: b, name: "09"}
---
{schema: olm.bundle, package: b, name: "08"}
---
{schema: a, package: b, name: "10"}
---
{schema: olm.channel, package: b, name: "06"}
---
{schema: olm.bundle, package: b, name: "07"}
---
{schema: olm.package, name: b, x: "04"}
---
{schema: olm.channel, package: b, name: "05"}
---
{schema: olm.deprecations, package: b, name: "14"}
---
{schema: x, package: b, name: "12"}
---
{schema: a, name: "16"}
---
{schema: olm.package, name: a, x: "02"}
---
{schema: a, package: B, name: "01"}
---
{schema: olm.bundle, package: a, name: "03"}
`))
	declcfg.Sort(all)
	var got []string
	for _, m := range all {
		switch m.Name {
		case "a":
			got = append(got, "02")
		case "b":
			got = append(got, "04")
		default:
			got = append(got, m.Name)
		}
	}
	if len(got) != 16 || !slices.IsSorted(got) {
		t.Errorf("order %q", got)
	}
}

func TestOwners(t *testing.T) {
	all := metas(t, source("a.yaml", `
{schema: olm.package, package: x}
---
{schema: olm.channel, name: x}
---
{schema: other}
---
{schema: olm.bundle, name: x, package: x}
---
{schema: olm.deprecations, package: ""}
`))
	want := "c/a.yaml:2:1: the package has no name\nc/a.yaml:4:1: the olm.channel object has no package\n" +
		"c/a.yaml:10:1: the olm.deprecations object has no package"
	var out bytes.Buffer
	dir := t.TempDir() + "/out"
	var owners []error
	for _, m := range all {
		owners = append(owners, declcfg.CheckOwner(m))
	}
	for doing, err := range map[string]error{
		"CheckOwner": errors.Join(owners...),
		"Write":      declcfg.Write(t.Context(), &out, all, declcfg.WriteOptions{}),
		"WriteDir":   declcfg.WriteDir(t.Context(), dir, all, declcfg.WriteOptions{}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want\n%s", doing, err, want)
		}
	}
	if out.Len() > 0 || exists(t, dir) {
		t.Error("something was written")
	}
}

func TestWrite(t *testing.T) {
	all := metas(t, source("a.json", `{"name":"n","schema":"olm.package"}{"schema":"s","b":[{"d":1,"c":"<é"}],"a":{}}`, "b.yaml", `
schema: olm.bundle
package: "n"
name: b
properties: [{value: {b: 1, a: 2}, type: t}]
more: yes
`))
	for format, want := range map[declcfg.Format]string{
		declcfg.JSON: `{
    "schema": "olm.package",
    "name": "n",
    "defaultChannel": ""
}
{
    "a": {},
    "b": [
        {
            "c": "<é",
            "d": 1
        }
    ],
    "schema": "s"
}
{
    "schema": "olm.bundle",
    "name": "b",
    "package": "n",
    "image": "",
    "properties": [
        {
            "type": "t",
            "value": {
                "a": 2,
                "b": 1
            }
        }
    ],
    "more": true
}
`,
		declcfg.YAML: `---
defaultChannel: ""
name: "n"
schema: olm.package
---
a: {}
b:
- c: <é
  d: 1
schema: s
---
image: ""
more: true
name: b
package: "n"
properties:
- type: t
  value:
    a: 2
    b: 1
schema: olm.bundle
`,
	} {
		if got := write(t, all, declcfg.WriteOptions{Format: format}); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
	}
	if got := write(t, nil, declcfg.WriteOptions{}); got != "" {
		t.Errorf("nothing is written as %q", got)
	}
}

// write returns the output of writing metas.
func write(t testing.TB, metas []*declcfg.Meta, opts declcfg.WriteOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := declcfg.Write(context.Background(), &out, metas, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteEdited(t *testing.T) {
	all := metas(t, source("a.yaml", "{schema: olm.bundle, package: p, name: b}\n---\n{schema: olm.channel, package: p, name: c}\n"))
	edit := func(b *declcfg.Bundle) error {
		if b.Name == "c" {
			return errors.New("never asked for")
		}
		b.Image = "edited"
		return nil
	}
	if got := write(t, all, declcfg.WriteOptions{Edit: edit}); !strings.Contains(got, `"image": "edited"`) {
		t.Errorf("got %s", got)
	}
	fail := func(*declcfg.Bundle) error { return errors.New("cannot") }
	err := declcfg.Write(t.Context(), io.Discard, all, declcfg.WriteOptions{Edit: fail})
	if err == nil || err.Error() != "c/a.yaml:1:1: cannot" {
		t.Errorf("error %v", err)
	}
}

// A fullDisk accepts some bytes and then none.
type fullDisk struct{ room int }

var errFull = errors.New("disk full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) > d.room {
		return d.room, errFull
	}
	d.room -= len(p)
	return len(p), nil
}

// TestWriteManyProperties checks that the time to write a bundle is linear in its properties, even if it has a key that
// opm does not write.
func TestWriteManyProperties(t *testing.T) {
	shared.OneGoroutine(t)
	properties := strings.Repeat(`{"type":"t","value":0},`, 100_000)
	in := `{"schema":"olm.bundle","package":"p","name":"a","properties":[` + strings.TrimSuffix(properties, ",") + `],"more":1}`
	all := metas(t, source("a", in))
	if got := strings.Count(write(t, all, declcfg.WriteOptions{}), `"value": 0`); got != 100_000 {
		t.Errorf("%d values, want 100,000", got)
	}
}

func TestWriteErrors(t *testing.T) {
	defer goleak.VerifyNone(t)
	declcfg.SetChunkSize(t, 64)
	all := metas(t, source("a.json", strings.Repeat(`{"schema":"s","x":[1,2,3]}`+"\n", 5000)))
	if err := declcfg.Write(t.Context(), &fullDisk{1000}, all, declcfg.WriteOptions{}); !errors.Is(err, errFull) {
		t.Errorf("error %v, want that of the writer", err)
	}
	if err := declcfg.Write(t.Context(), &fullDisk{1 << 30}, all, declcfg.WriteOptions{}); err != nil {
		t.Error(err)
	}
}

// TestWriteMemory checks that writing a catalog does not hold all of it in memory.
func TestWriteMemory(t *testing.T) {
	if !shared.Full() {
		t.Skip("writes 400 MB")
	}
	object := `{"schema":"olm.bundle","package":"p","name":"n","properties":[{"type":"t","value":{"x":"` + strings.Repeat("é ", 5000) + `"}}]}`
	g := &generated{unit: object + "\n", times: 10_000}
	all := metas(t, g.source("a.json"))
	for _, format := range []declcfg.Format{declcfg.JSON, declcfg.YAML} {
		var size int64
		heap := heapWhile(func(look func()) {
			w := writerFunc(func(p []byte) (int, error) {
				size += int64(len(p))
				look()
				return len(p), nil
			})
			if err := declcfg.Write(t.Context(), w, all, declcfg.WriteOptions{Format: format}); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s: %d MB of heap for %d MB", format, heap>>20, size>>20)
		if heap > 64<<20 || size < g.size() {
			t.Errorf("%s: %d MB of heap for %d MB", format, heap>>20, size>>20)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
