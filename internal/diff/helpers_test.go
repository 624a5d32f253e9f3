package diff_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/diff"
	"github.com/opm-toolchain/opm/internal/report"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// catalog returns a catalog with one file.
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

// written returns the text that write writes for a report.
func written(t testing.TB, write func(*report.Report, io.Writer) error, r *diff.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(r.Report(), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// graphOf returns a package with the named bundles and a channel c. vN has the version N.0.0. In an entry such as "v3
// <v2 !v1 >=1.0.0", < precedes the replaced bundle and ! a skipped bundle; the rest is the skipRange.
func graphOf(bundles string, entries ...string) string {
	var text strings.Builder
	text.WriteString("schema: olm.package\nname: p\ndefaultChannel: c\n---\n")
	text.WriteString("schema: olm.channel\npackage: p\nname: c\nentries:\n")
	for _, e := range entries {
		writeEntry(&text, strings.Fields(e))
	}
	for b := range strings.FieldsSeq(bundles) {
		text.WriteString("---\n" + bundle(b, strings.TrimPrefix(b, "v")+".0.0"))
	}
	return text.String()
}

func writeEntry(text *strings.Builder, words []string) {
	text.WriteString("- name: " + words[0] + "\n")
	var skips, ranges []string
	for _, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "<v"):
			text.WriteString("  replaces: " + w[1:] + "\n")
		case strings.HasPrefix(w, "!"):
			skips = append(skips, "  - "+w[1:]+"\n")
		default:
			ranges = append(ranges, w)
		}
	}
	if skips != nil {
		text.WriteString("  skips:\n" + strings.Join(skips, ""))
	}
	if ranges != nil {
		text.WriteString("  skipRange: '" + strings.Join(ranges, " ") + "'\n")
	}
}

// bundle returns a bundle of package p.
func bundle(name, version string) string {
	return "schema: olm.bundle\npackage: p\nname: " + name + "\nimage: registry.example/p:" + name +
		"\nproperties:\n- type: olm.package\n  value:\n    packageName: p\n    version: " + version + "\n"
}

func publishedCatalog(t testing.TB, name string) []declcfg.Source {
	t.Helper()
	dir := shared.Path(t, "data/catalogs/"+name)
	return []declcfg.Source{{Name: dir, FS: os.DirFS(dir)}}
}
