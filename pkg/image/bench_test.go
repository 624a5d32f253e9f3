package image

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
)

// BenchmarkOpen opens 100 images of three layers in a local registry, 8 concurrently, and reads their files.
func BenchmarkOpen(b *testing.B) {
	const images, jobs = 100, 8
	registry := newRegistry(b)
	var refs []string
	for n := range images {
		refs = append(refs, registry.push(b, fmt.Sprintf("org/image%d:v1", n), imageOf(b, nil,
			tarOf(b, fmt.Sprintf("manifests/csv.yaml=%d%s", n, strings.Repeat("spec: x\n", 2000))),
			tarOf(b, fmt.Sprintf("metadata/annotations.yaml=%d", n)),
			tarOf(b, fmt.Sprintf("tests/scorecard.yaml=%d", n)))))
	}
	for _, delay := range []time.Duration{0, 50 * time.Millisecond} {
		registry.intercept(func(http.ResponseWriter, *http.Request) bool {
			time.Sleep(delay)
			return false
		})
		for _, kind := range []string{"no cache", "new cache", "full cache"} {
			full := b.TempDir()
			b.Run(fmt.Sprintf("%v/%s", delay, kind), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					dir := map[string]string{"no cache": "", "full cache": full}[kind]
					if kind == "new cache" {
						dir = b.TempDir()
					}
					openAll(b, refs, dir, jobs)
				}
			})
		}
	}
}

func openAll(b *testing.B, refs []string, dir string, jobs int) {
	opts := testOptions(b)
	opts.Keychain = authn.NewMultiKeychain()
	opts.Cache = OpenCache(dir, CacheOptions{})
	defer opts.Cache.Close()
	opener := NewOpener(opts)
	work := make(chan string)
	var group sync.WaitGroup
	for range jobs {
		group.Go(func() {
			for ref := range work {
				img, err := opener.Open(b.Context(), ref)
				if err != nil {
					b.Error(err)
					continue
				}
				if _, err := img.Files(b.Context(), "/", "manifests", "metadata"); err != nil {
					b.Error(err)
				}
				img.Close()
			}
		})
	}
	for _, ref := range refs {
		work <- ref
	}
	close(work)
	group.Wait()
}

// BenchmarkBuild builds the images of all published bundles.
func BenchmarkBuild(b *testing.B) {
	dirs := realBundles(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, dir := range dirs {
			mustBuild(b, realBundleOptions(dir))
		}
	}
}
