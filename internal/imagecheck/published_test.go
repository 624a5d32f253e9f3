package imagecheck_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/image"
)

func publishedCatalog(t testing.TB, name string) declcfg.Source {
	t.Helper()
	dir := shared.Path(t, "data/catalogs/"+name)
	return declcfg.Source{Name: name, FS: os.DirFS(dir)}
}

// hostsOf returns the registries, the valid references and the invalid ones of a catalog.
func hostsOf(t testing.TB, catalog declcfg.Source) (hosts map[string]bool, references, invalid map[string]bool) {
	t.Helper()
	hosts, references, invalid = map[string]bool{}, map[string]bool{}, map[string]bool{}
	meta := func(o *declcfg.Object) (*declcfg.Meta, error) { return o.Meta, nil }
	for m, err := range declcfg.Map(t.Context(), meta, catalog) {
		if err != nil {
			t.Fatal(err)
		}
		v, err := m.Decode()
		if err != nil {
			t.Fatal(err)
		}
		b, ok := v.(*declcfg.Bundle)
		if !ok {
			continue
		}
		for _, ref := range append([]declcfg.RelatedImage{{Image: b.Image}}, b.RelatedImages...) {
			if ref.Image == "" {
				continue
			}
			references[ref.Image] = true
			if _, err := image.ParseReference(ref.Image); err != nil {
				invalid[ref.Image] = true
				continue
			}
			host, _, _ := strings.Cut(ref.Image, "/")
			hosts[strings.TrimPrefix(host, "index.")] = true // mirrors of docker.io also apply to index.docker.io
		}
	}
	return hosts, references, invalid
}

// onlyMirror returns mirrors that redirect all images of the hosts to one registry, without falling back to the
// source.
func onlyMirror(t testing.TB, hosts map[string]bool, mirror string) *image.Mirrors {
	t.Helper()
	var objects strings.Builder
	for _, set := range []string{"Digest", "Tag"} {
		fmt.Fprintf(&objects, "---\napiVersion: config.openshift.io/v1\nkind: Image%sMirrorSet\nspec:\n  image%sMirrors:\n",
			set, set)
		for host := range hosts {
			fmt.Fprintf(&objects, "  - source: %s\n    mirrors: [%s/%s]\n    mirrorSourcePolicy: NeverContactSource\n",
				host, mirror, strings.NewReplacer(".", "-", ":", "-").Replace(host))
		}
	}
	file := filepath.Join(t.TempDir(), "mirrors.yaml")
	if err := os.WriteFile(file, []byte(objects.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "registries.conf")
	if err := os.WriteFile(none, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	mirrors, err := image.LoadMirrors(image.MirrorOptions{RegistriesConf: none, Files: []string{file}})
	if err != nil {
		t.Fatal(err)
	}
	return mirrors
}

// TestPublishedCatalogs checks published catalogs against an empty mirror, so that every image is missing, and then
// against a mirror with one image.
func TestPublishedCatalogs(t *testing.T) {
	for _, name := range shared.Sample([]string{"v4.12", "v4.20"}, 1) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalog := publishedCatalog(t, name)
			hosts, references, invalid := hostsOf(t, catalog)
			registry := newRegistry(t)
			opener := newOpener(t, onlyMirror(t, hosts, registry.host))
			all := mustRead(t, catalog)

			report := mustCheck(t, all, opener, 0)
			found := map[string]bool{}
			for _, p := range report.Problems {
				found[p.Names[0]] = true
				want := "missing"
				if invalid[p.Names[0]] {
					want = "invalid"
				}
				if p.Rule != want {
					t.Fatalf("%s is %s: %s", p.Names[0], p.Rule, p.Message)
				}
			}
			if report.Images != len(references) || len(found) != len(references) {
				t.Errorf("%d images, %d with problems; want %d of both", report.Images, len(found), len(references))
			}
			for path, n := range registry.requests() {
				if n != 1 && !strings.Contains(path, "@") && !strings.Contains(path, "sha256:") {
					t.Errorf("%s was asked for %d times", path, n)
				}
			}
			first := text(t, report, registry.host)
			if again := text(t, mustCheck(t, all, opener, 3), registry.host); again != first {
				t.Error("a second check has another result")
			}

			there := aTag(t, report)
			host, path, _ := strings.Cut(there, "/")
			registry.push(t, strings.ReplaceAll(host, ".", "-")+"/"+path)
			if got := mustCheck(t, all, opener, 0); len(got.Problems) >= len(report.Problems) ||
				strings.Contains(text(t, got, registry.host), " "+there+" ") {
				t.Errorf("with %s there are %d problems of %d", there, len(got.Problems), len(report.Problems))
			}
		})
	}
}

// aTag returns a missing image whose reference has no digest.
func aTag(t testing.TB, report *imagecheck.Report) string {
	t.Helper()
	for _, p := range of(report, "missing") {
		if ref := p.Names[0]; !strings.Contains(ref, "@") {
			return ref
		}
	}
	t.Fatal("no image is named by a tag")
	return ""
}

func BenchmarkRead(b *testing.B) {
	catalog := publishedCatalog(b, "v4.20")
	b.ReportAllocs()
	for b.Loop() {
		mustRead(b, catalog)
	}
}

func BenchmarkCheck(b *testing.B) {
	catalog := publishedCatalog(b, "v4.20")
	hosts, _, _ := hostsOf(b, catalog)
	registry := newRegistry(b)
	mirrors := onlyMirror(b, hosts, registry.host)
	all := mustRead(b, catalog)
	for _, jobs := range []int{1, imagecheck.DefaultJobs} {
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				mustCheck(b, all, newOpener(b, mirrors), jobs)
			}
		})
	}
}
