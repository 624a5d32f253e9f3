package diff_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/diff"
)

// catalog returns a catalog of one file.
func catalog(text string) []declcfg.Source {
	return []declcfg.Source{{Name: "catalog", FS: fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}}}
}

// compare compares two catalogs of one file each.
func compare(t testing.TB, before, after string) *diff.Report {
	t.Helper()
	return compareSources(t, catalog(before), catalog(after))
}

func compareSources(t testing.TB, before, after []declcfg.Source) *diff.Report {
	t.Helper()
	r, err := diff.Compare(t.Context(), before, after)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// written returns what a function writes of a report.
func written(t testing.TB, write func(io.Writer, *diff.Report) error, r *diff.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// graphOf returns a package with the channel c, which has entries such as "v3 <v2 !v1 >=1.0.0", where < replaces, ! skips
// and the rest is the skipRange, and with the bundles of the names, vN being of version N.0.0. It is in flow style.
func graphOf(bundles string, entries ...string) string {
	var text strings.Builder
	text.WriteString("{schema: olm.package, name: p, defaultChannel: c}\n---\n")
	text.WriteString("{schema: olm.channel, package: p, name: c, entries: [")
	for _, e := range entries {
		words := strings.Fields(e)
		text.WriteString("{name: " + words[0])
		var skips, ranges []string
		for _, w := range words[1:] {
			if name, ok := strings.CutPrefix(w, "<v"); ok {
				text.WriteString(", replaces: v" + name)
			} else if name, ok := strings.CutPrefix(w, "!"); ok {
				skips = append(skips, name)
			} else {
				ranges = append(ranges, w)
			}
		}
		if skips != nil {
			text.WriteString(", skips: [" + strings.Join(skips, ", ") + "]")
		}
		if ranges != nil {
			text.WriteString(", skipRange: '" + strings.Join(ranges, " ") + "'")
		}
		text.WriteString("}, ")
	}
	text.WriteString("]}\n")
	for b := range strings.FieldsSeq(bundles) {
		text.WriteString("---\n" + bundle(b, strings.TrimPrefix(b, "v")+".0.0"))
	}
	return text.String()
}

// bundle returns a bundle of package p.
func bundle(name, version string) string {
	return "{schema: olm.bundle, package: p, name: " + name + ", image: registry.example/p:" + name +
		", properties: [{type: olm.package, value: {packageName: p, version: " + version + "}}]}\n"
}

// published is where real catalogs lie that are too large for this repository.
const published = "../../../shared/data/catalogs"

func publishedCatalog(t testing.TB, name string) []declcfg.Source {
	t.Helper()
	dir := filepath.Join(published, name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("needs %s", dir)
	}
	return []declcfg.Source{{Name: dir, FS: os.DirFS(dir)}}
}
