package imagecheck_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/imagecheck"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

const noDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestCheck(t *testing.T) {
	registry := newRegistry(t)
	digest := registry.push(t, "org/bundle:v1")
	registry.push(t, "org/latest:latest")
	registry.answer("/v2/private/", http.StatusUnauthorized)
	host := registry.host
	catalog := "{schema: olm.package, name: oak}\n" +
		bundle("oak", "oak.v1", host+"/org/bundle:v1",
			"="+host+"/org/bundle:v1", // the bundle image, not counted again
			"by digest="+host+"/org/bundle@"+digest,
			"both="+host+"/org/bundle:old@"+digest,
			"latest="+host+"/org/latest",
			"gone="+host+"/org/gone:v1",
			"gone="+host+"/org/gone:v1", // reported once
		) +
		bundle("oak", "oak.v2", host+"/org/gone:v1",
			"no such digest="+host+"/org/bundle@"+noDigest,
			"secret="+host+"/private/image:v1",
			"short=org/image:v1",
			"=",
		) +
		bundle("pine", "pine.v1", "", "="+host+"/org/gone:v1")
	const want = `c/catalog.yaml:3:1: error: package "oak": bundle "oak.v1": related image "gone" HOST/org/gone:v1 does not exist: HOST answers 404 Not Found: ADVICE [missing]
c/catalog.yaml:19:1: error: package "oak": bundle "oak.v2": image HOST/org/gone:v1 does not exist: HOST answers 404 Not Found: ADVICE [missing]
c/catalog.yaml:19:1: error: package "oak": bundle "oak.v2": related image "" is not valid: the reference is empty [invalid]
c/catalog.yaml:19:1: error: package "oak": bundle "oak.v2": related image "no such digest" HOST/org/bundle@NODIGEST does not exist: HOST answers 404 Not Found: ADVICE [missing]
c/catalog.yaml:19:1: error: package "oak": bundle "oak.v2": related image "secret" HOST/private/image:v1 cannot be checked: HOST answers 401 Unauthorized: ADVICE [unknown]
c/catalog.yaml:19:1: error: package "oak": bundle "oak.v2": related image "short" "org/image:v1" is not valid: it must begin with the host of a registry, as in docker.io/org/image:v1 [invalid]
c/catalog.yaml:31:1: error: package "pine": bundle "pine.v1": related image HOST/org/gone:v1 does not exist: HOST answers 404 Not Found: ADVICE [missing]
`
	references := mustRead(t, source(catalog))
	for _, jobs := range []int{0, 1, 16} {
		registry.requests()
		report := mustCheck(t, references, newOpener(t, nil), jobs)
		got := withoutAdvice(strings.ReplaceAll(text(t, report, host), noDigest, "NODIGEST"))
		if got != want {
			t.Errorf("%d jobs: got\n%s\nwant\n%s", jobs, got, want)
		}
		if report.Images != 9 {
			t.Errorf("%d jobs: got %d images", jobs, report.Images)
		}
		wantRequests := map[string]int{
			"org/bundle/manifests/v1": 1, "org/bundle/manifests/" + digest: 2, "org/latest/manifests/latest": 1,
			"org/gone/manifests/v1": 1, "org/bundle/manifests/" + noDigest: 1, "private/image/manifests/v1": 1,
		}
		if got := registry.requests(); !maps.Equal(got, wantRequests) {
			t.Errorf("%d jobs: the registry was asked for %v, want %v", jobs, got, wantRequests)
		}
	}
}

// withoutAdvice replaces the advice that package image adds to errors.
func withoutAdvice(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if before, after, ok := strings.Cut(line, ": check the name"); ok {
			line = before + ": ADVICE" + after[strings.LastIndex(after, " ["):]
		}
		if before, after, ok := strings.Cut(line, ": there are no credentials"); ok {
			line = before + ": ADVICE" + after[strings.LastIndex(after, " ["):]
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestCheckAllThere(t *testing.T) {
	registry := newRegistry(t)
	registry.push(t, "org/bundle:v1")
	references := mustRead(t, source(bundle("oak", "oak.v1", registry.host+"/org/bundle:v1")))
	report := mustCheck(t, references, newOpener(t, nil), 0)
	if report.Images != 1 || text(t, report, registry.host) != "" {
		t.Errorf("got %+v\n%s", report, text(t, report, registry.host))
	}
	if report := mustCheck(t, mustRead(t), newOpener(t, nil), 0); len(report.Problems) != 0 || report.Images != 0 {
		t.Errorf("nothing to check: got %+v", report)
	}
}

// TestDownRegistry checks that an unusable registry is given up, and that a registry that answers about images is
// not, whatever its answers.
func TestDownRegistry(t *testing.T) {
	const images = 12
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close() // connections are refused
	registry := newRegistry(t)
	for _, tt := range []struct {
		name, host string
		status     int
		asked      int // HTTP requests
		taken      int // images looked up before the registry is given up
	}{
		{"refuses", listener.Addr().String(), 0, 0, 3},
		{"busy", registry.host, http.StatusTooManyRequests, 3, 3},
		{"overloaded", registry.host, http.StatusServiceUnavailable, 3, 3},
		{"broken", registry.host, http.StatusInternalServerError, 3, 3},
		{"private", registry.host, http.StatusForbidden, images, images},
		{"empty", registry.host, http.StatusNotFound, images, images},
	} {
		t.Run(tt.name, func(t *testing.T) {
			registry.answer("/v2/org/", tt.status)
			registry.requests()
			var related []string
			for n := range images {
				related = append(related, fmt.Sprintf("=%s/org/image:v%d", tt.host, n))
			}
			report := mustCheck(t, mustRead(t, source(bundle("oak", "oak.v1", "", related...))), newOpener(t, nil), 1)
			kind := "unknown"
			if tt.status == http.StatusNotFound {
				kind = "missing"
			}
			if got := len(of(report, kind)); got != images || len(report.Problems) != images {
				t.Errorf("%d of %d problems are %s, want all %d", got, len(report.Problems), kind, images)
			}
			passedOver := 0
			for _, p := range report.Problems {
				reason, ok := strings.CutPrefix(reasonOf(p), "not asked, since ")
				if ok {
					passedOver++
				}
				if first := reasonOf(report.Problems[0]); reason != first || reason == "" {
					t.Errorf("got %q and %q", reason, first)
				}
			}
			if want := images - tt.taken; passedOver != want {
				t.Errorf("%d images are said to be passed over, want %d", passedOver, want)
			}
			if got := len(registry.requests()); got != tt.asked {
				t.Errorf("the registry was asked for %d images, want %d", got, tt.asked)
			}
		})
	}
}

// TestBrokenRepository checks that other repositories of a registry are still asked while one of them fails, even if
// no answer in between shows that the registry is up.
func TestBrokenRepository(t *testing.T) {
	registry := newRegistry(t)
	registry.push(t, "org/sound:v1")
	for _, status := range []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout} {
		registry.answer("/v2/org/broken/", status)
		var related []string
		for n := range 6 {
			related = append(related, fmt.Sprintf("=%s/org/broken:v%d", registry.host, n))
		}
		related = append(related, "="+registry.host+"/org/sound:v1")
		report := mustCheck(t, mustRead(t, source(bundle("oak", "oak.v1", "", related...))), newOpener(t, nil), 1)
		asked := registry.requests()
		if len(asked) != 4 || asked["org/sound/manifests/v1"] != 1 || len(of(report, "unknown")) != 6 ||
			len(report.Problems) != 6 {
			t.Errorf("%d: the registry was asked for %v; problems:\n%s", status, asked, text(t, report, registry.host))
		}
	}
}

// TestFailuresInBetween checks that a registry is not given up as long as it answers now and then.
func TestFailuresInBetween(t *testing.T) {
	registry := newRegistry(t)
	var related []string
	for n := range 12 {
		repository := fmt.Sprintf("org/image%02d", n)
		if n%3 > 0 {
			registry.answer("/v2/"+repository, http.StatusServiceUnavailable)
		}
		related = append(related, "="+registry.host+"/"+repository+":v1")
	}
	report := mustCheck(t, mustRead(t, source(bundle("oak", "oak.v1", "", related...))), newOpener(t, nil), 1)
	if got := len(registry.requests()); got != 12 || len(of(report, "unknown")) != 8 {
		t.Errorf("the registry was asked for %d images, want 12; problems:\n%s", got, text(t, report, registry.host))
	}
}

func TestCheckCanceled(t *testing.T) {
	registry := newRegistry(t)
	ctx, cancel := context.WithCancel(t.Context())
	references := mustRead(t, source(bundle("oak", "oak.v1", registry.host+"/org/bundle:v1")))
	cancel()
	report, err := imagecheck.Check(ctx, references, newOpener(t, nil), imagecheck.Options{})
	if !errors.Is(err, context.Canceled) || report != nil {
		t.Errorf("got %v, %v", report, err)
	}
}

func TestRead(t *testing.T) {
	registry := newRegistry(t)
	shared, own := registry.host+"/org/shared:v1", registry.host+"/org/own:v1"
	references := mustRead(t, source("{schema: olm.package, name: pine}\n"+
		"---\n{schema: example.com/other, package: fir, image: 1}\n"+
		bundle("oak", "oak.v1", shared, "x="+own)+bundle("pine", "pine.v1", shared)))
	if got, want := references.Packages(), []string{"fir", "oak", "pine"}; !slices.Equal(got, want) {
		t.Errorf("packages %v, want %v", got, want)
	}
	for pkg, want := range map[string][]string{"oak": {own, shared}, "pine": {shared}, "fir": nil, "yew": nil} {
		of := references.Of(pkg)
		report := mustCheck(t, of, newOpener(t, nil), 0)
		var got []string
		for _, p := range report.Problems {
			got = append(got, p.Names...)
			if p.Package != pkg {
				t.Errorf("%s: got %v", pkg, p)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || len(registry.requests()) != len(want) {
			t.Errorf("%s: problems with %v, want %v", pkg, got, want)
		}
		if isThere := slices.Contains(references.Packages(), pkg); (len(of.Packages()) == 1) != isThere {
			t.Errorf("%s: packages %v", pkg, of.Packages())
		}
	}
}

// TestReadUnreadable checks that a catalog with unreadable parts is not checked, and that all errors are reported.
func TestReadUnreadable(t *testing.T) {
	catalog := "schema: olm.bundle\npackage: oak\nname: oak.v1\nimage: [1]\n---\ntext\n---\n" +
		"schema: olm.bundle\nname: b\nrelatedImages: [{image: {}}]\n"
	references, err := imagecheck.Read(t.Context(), source(catalog))
	if references != nil || err == nil {
		t.Fatalf("got %v, %v", references, err)
	}
	const want = `c/catalog.yaml:4:8: image: want a string, found a list
c/catalog.yaml:6:1: want an object, found a string
c/catalog.yaml:10:25: relatedImages[0].image: want a string, found an object`
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if _, ok := errors.AsType[*declcfg.Error](err); !ok {
		t.Errorf("got %T", err)
	}
}
