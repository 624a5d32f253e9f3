package list_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/list"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const catalog = `
{schema: olm.package, name: kiln, defaultChannel: stable}
---
{schema: olm.channel, package: kiln, name: stable, entries: [{name: kiln.v2, replaces: kiln.v1}, {name: kiln.v1}]}
---
{schema: olm.channel, package: kiln, name: "new\nest", entries: [{name: kiln.v2}]}
---
schema: olm.bundle
package: kiln
name: kiln.v2
image: i2
properties:
- {type: olm.package, value: {packageName: kiln, version: 2.0.0}}
- {type: olm.csv.metadata, value: {displayName: Kiln}}
---
{schema: olm.bundle, package: kiln, name: kiln.v1, image: i1, properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]}
---
schema: olm.deprecations
package: kiln
entries: [{reference: {schema: olm.bundle, name: kiln.v1}, message: Use v2.}]
`

func read(t testing.TB) *declcfg.Index {
	t.Helper()
	x, err := declcfg.ReadIndex(t.Context(), declcfg.Source{FS: fstest.MapFS{"c.yaml": {Data: []byte(catalog)}}})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// written returns the rows in a format.
func written[R list.Row](
	t testing.TB, rows func(context.Context, iter.Seq[*declcfg.PackageIndex], list.Options) ([]R, error), o list.Options,
	f output.Format,
) string {
	t.Helper()
	all, err := rows(t.Context(), read(t).Each(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := list.Result(slices.Values(all)).Write(&text, f); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestWrite(t *testing.T) {
	stable, deprecated := list.Options{Channel: "stable"}, list.Options{Deprecated: true}
	for _, tt := range []struct{ what, got, want string }{
		{
			"packages", written(t, list.Packages, list.Options{}, output.Text),
			"NAME  DISPLAY NAME  DEFAULT CHANNEL\nkiln                stable\n",
		}, {
			"packages, wide", written(t, list.Packages, list.Options{}, output.Wide),
			"NAME  DISPLAY NAME  DEFAULT CHANNEL  HEAD     VERSION  CHANNELS  BUNDLES  DEPRECATED\n" +
				"kiln  Kiln          stable           kiln.v2  2.0.0    2         2        no\n",
		}, {
			"channels as upstream", written(t, list.Channels, list.Options{}, output.Text),
			"PACKAGE  CHANNEL   HEAD\nkiln     new\\nest  kiln.v2\nkiln     stable    kiln.v2\n",
		}, {
			"names, which break no lines", written(t, list.Channels, list.Options{}, output.Name), "new\\nest\nstable\n",
		}, {
			"bundles of a channel", written(t, list.Bundles, stable, output.Name), "kiln.v1\nkiln.v2\n",
		}, {
			"what is deprecated", written(t, list.Bundles, deprecated, output.Wide),
			"PACKAGE  CHANNEL  BUNDLE   REPLACES  SKIPS  SKIP RANGE  IMAGE  VERSION  RELEASE  DEPRECATED\n" +
				"kiln     stable   kiln.v1  -         -      -           i1     1.0.0    -        yes\n",
		}, {
			"versions", written(t, list.Versions, list.Options{}, output.Text),
			"VERSION  RELEASE  NAME     CHANNELS         DEPRECATED\n" +
				"2.0.0    -        kiln.v2  new\\nest,stable  no\n1.0.0    -        kiln.v1  stable           yes\n",
		}, {
			"versions as YAML", written(t, list.Versions, deprecated, output.YAML),
			"- channels:\n  - stable\n  deprecated: true\n  deprecationMessage: Use v2.\n  headOf: []\n  image: i1\n" +
				"  name: kiln.v1\n  package: kiln\n  release: \"\"\n  version: 1.0.0\n",
		}, {
			"nothing as JSON", written(t, list.Packages, deprecated, output.JSON), "[]\n",
		},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.what, tt.got, tt.want)
		}
	}
}

func TestUpdates(t *testing.T) {
	rows, err := list.Updates(t.Context(), read(t).Each(), list.UpdateOptions{From: "1.0.0", Paths: true})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := errors.Join(
		list.UpdatesResult(rows, list.UpdateOptions{}).Write(&text, output.Text),
		list.UpdatesResult(rows, list.UpdateOptions{Paths: true}).Write(&text, output.Text),
	); err != nil {
		t.Fatal(err)
	}
	//nolint:dupword // a table
	want := `PACKAGE  CHANNEL  INSTALLED  VERSION  CLASSIC  CLASSIC HOPS  V1       V1 HOPS  DIFFERS  STRANDED  ERROR
kiln     stable   kiln.v1    1.0.0    kiln.v2  1             kiln.v2  1        no       no        -
package kiln, channel stable, kiln.v1:
  classic kiln.v2
  v1      kiln.v2
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", text.String(), want)
	}
}

// TestManyRows checks that columns are as wide as their widest cell, even with more rows than maxHeld.
func TestManyRows(t *testing.T) {
	for _, n := range []int{9_999, 10_000, 20_000} {
		rows := func(yield func(list.Channel) bool) {
			for i := range n {
				if !yield(list.Channel{Package: strings.Repeat("package", 1+i/(n-1)), Name: "c", Head: "h"}) {
					return
				}
			}
		}
		var text strings.Builder
		if err := list.Result(rows).Write(&text, output.Wide); err != nil {
			t.Fatal(err)
		}
		want := "PACKAGE         CHANNEL  HEAD  VERSION  DEFAULT  BUNDLES  DEPRECATED\n" +
			strings.Repeat("package         c        h     -        no       0        no\n", n-1) +
			"packagepackage  c        h     -        no       0        no\n"
		if text.String() != want {
			t.Errorf("%d rows: got %.300s", n, text.String())
		}
	}
}

// TestCountedUpdates checks the numbers of rows of the last iteration, and that rows end with ctx. Only kiln.v1 is
// notable, since OLM Classic updates it twice.
func TestCountedUpdates(t *testing.T) {
	text := `
{schema: olm.package, name: kiln, defaultChannel: a}
---
schema: olm.channel
package: kiln
name: a
entries: [{name: kiln.v3, replaces: kiln.v2}, {name: kiln.v2, replaces: kiln.v1}, {name: kiln.v1}]
`
	for _, v := range []string{"1", "2", "3"} {
		text += "---\n{schema: olm.bundle, package: kiln, name: kiln.v" + v + ", image: i, properties: " +
			"[{type: olm.package, value: {packageName: kiln, version: " + v + ".0.0}}]}\n"
	}
	index, err := declcfg.ReadIndex(t.Context(), declcfg.Source{FS: fstest.MapFS{"c.yaml": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	for notable, want := range map[bool]list.UpdateCounts{false: {Shown: 3, Total: 3}, true: {Shown: 1, Total: 3}} {
		ctx, cancel := context.WithCancel(t.Context())
		var n list.UpdateCounts
		rows, err := list.Updates(ctx, index.Each(), list.UpdateOptions{Notable: notable, Count: &n})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := len(slices.Collect(rows)); n != want || got != want.Shown {
				t.Errorf("notable %t: %d rows, counted as %+v", notable, got, n)
			}
		}
		cancel()
		if got := len(slices.Collect(rows)); got > 0 {
			t.Errorf("%d rows after the end of the context", got)
		}
	}
}

func TestListEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if rows, err := list.Packages(ctx, read(t).Each(), list.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", rows, err)
	}
}

func TestNotFound(t *testing.T) {
	packages := read(t).Each()
	_, errPackage := list.Choose(read(t), "kiln", "klin")
	_, errChannel := list.Bundles(t.Context(), packages, list.Options{Channel: "stabel"})
	_, errUpdates := list.Updates(t.Context(), packages, list.UpdateOptions{Channel: "stabel"})
	_, errVersion := list.Updates(t.Context(), packages, list.UpdateOptions{From: "1.5.0"})
	_, errAnywhere := list.Updates(t.Context(), packages, list.UpdateOptions{From: "1.5.0", None: true})
	_, errBundle := list.Explain(read(t).Package("kiln"), list.UpdateOptions{From: "kiln.v1"}, "kiln.v3")
	if !errors.Is(errAnywhere, declcfg.ErrNotFound) {
		t.Errorf("without a channel: %v", errAnywhere)
	}
	for want, err := range map[string]error{
		`no package "klin" (did you mean "kiln"?)`:                                         errPackage,
		`no channel "stabel" (did you mean "stable"?)`:                                     errChannel,
		`package "kiln" has no channel "stabel" (did you mean "stable"?)`:                  errUpdates,
		`package "kiln": no bundle has or updates version "1.5.0" (did you mean "1.0.0"?)`: errVersion,
		`package "kiln" has no bundle "kiln.v3" (did you mean "kiln.v1"?)`:                 errBundle,
	} {
		if !errors.Is(err, declcfg.ErrNotFound) || err.Error() != want {
			t.Errorf("got the error %v, want %s", err, want)
		}
	}
}
