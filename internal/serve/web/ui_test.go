package web_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// The answers of the page's addresses, as far as tests look at them.
type (
	packageList struct {
		Packages []struct {
			Name, DisplayName, Summary, Provider, DefaultChannel, Version string
			Channels, Keywords                                            []string
			Deprecated, HasIcon                                           bool
		}
	}
	packageView struct {
		Name, DisplayName, Description, Icon, DefaultChannel, Deprecation, Head, Version string
		Deprecated                                                                       bool
		Channels                                                                         []channelView
	}
	channelView struct {
		Name, Head, Version, Refused, Deprecation string
		Bundles                                   []nodeView
	}
	nodeView struct {
		Name, Version, Deprecation                  string
		Head, Outside, Missing, Skipped, Deprecated bool
		Classic, V1                                 *graph.Fate
	}
	bundleView struct {
		Name, Version, Image string
		Entries              []struct {
			Channel, Replaces, SkipRange string
			Skips                        []string
		}
		Properties []struct {
			Type  string
			Value any
			Bytes int
		}
		RelatedImages []struct{ Name, Image string }
		CSV           struct {
			DisplayName, Description, Provider, Maturity string
			InstallModes                                 []string
			Owned, Required                              []struct{ Kind, Version, Name string }
		}
	}
)

// address returns one of the page's addresses; parameters are names and values by turns.
func address(what string, parameters ...string) string {
	v := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		v.Add(parameters[i], parameters[i+1])
	}
	return "/ui/v1/" + what + "?" + v.Encode()
}

// TestPublishedViews compares the views of the page with the catalogs themselves.
func TestPublishedViews(t *testing.T) {
	for _, dir := range publishedCatalogs(t) {
		source := dirSource(dir)
		name := filepath.Base(dir)
		h := handlerOf(t, catalogOf(t, name, source))
		x, err := declcfg.ReadIndex(context.Background(), source)
		if err != nil {
			t.Fatal(err)
		}
		list := decode[packageList](t, h, address("packages", "catalog", name)).Packages
		if len(list) != len(x.Packages()) {
			t.Fatalf("%s: %d packages, want %d", name, len(list), len(x.Packages()))
		}
		for i, p := range x.Packages() {
			g := graph.NewPackage(p)
			item := list[i]
			if item.Name != p.Name || item.DefaultChannel != g.DefaultChannel || len(item.Channels) != len(g.Channels) || item.Deprecated != g.Deprecated {
				t.Errorf("%s: package %s is listed as %+v", name, p.Name, item)
			}
			if item.DisplayName == "" || item.Summary == "" || item.Version == "" || strings.Contains(item.Summary, "\n") {
				t.Errorf("%s: package %s is listed as %+v", name, p.Name, item)
			}
			v := decode[packageView](t, h, address("package", "catalog", name, "package", p.Name))
			comparePackage(t, name, v, g)
			if icon := decode[packageView](t, h, address("icon", "catalog", name, "package", p.Name)).Icon; icon != v.Icon || (icon != "") != item.HasIcon {
				t.Errorf("%s: package %s: icon %.40q, listed as %t, and %.40q", name, p.Name, icon, item.HasIcon, v.Icon)
			}
			b := decode[bundleView](t, h, address("bundle", "catalog", name, "package", p.Name, "name", v.Head))
			if b.Version != v.Version || b.CSV.DisplayName != v.DisplayName || b.Image == "" || len(b.Entries) == 0 || len(b.CSV.Owned) == 0 && len(b.RelatedImages) == 0 {
				t.Errorf("%s: bundle %s: %+v", name, v.Head, b)
			}
		}
	}
}

// comparePackage compares a package with its graph.
func comparePackage(t *testing.T, catalog string, v packageView, g *graph.Package) {
	t.Helper()
	if v.Name != g.Name || v.DefaultChannel != g.DefaultChannel || len(v.Channels) != len(g.Channels) {
		t.Errorf("%s: package %s: %+v", catalog, g.Name, v)
		return
	}
	for i, c := range g.Channels {
		got := v.Channels[i]
		seq, err := g.Outlooks(c, graph.V1Options{}, false)
		outlooks := slices.Collect(seq)
		if got.Name != c.Name || !slices.Equal(c.Heads(), []string{got.Head}) || (err != nil) != (got.Refused != "") {
			t.Errorf("%s: channel %s of %s: %+v", catalog, c.Name, g.Name, got)
		}
		nodes := c.Nodes()
		if len(got.Bundles) != len(nodes) {
			t.Errorf("%s: channel %s of %s has %d bundles, want %d", catalog, c.Name, g.Name, len(got.Bundles), len(nodes))
			continue
		}
		for j, n := range nodes {
			b := got.Bundles[j]
			if b.Name != n.Name || b.Head != n.Head || b.Skipped != n.Skipped || b.Outside == (n.Entry != nil) || b.Missing != n.Virtual || b.Deprecated != n.Deprecated {
				t.Errorf("%s: %s in channel %s: %+v", catalog, n.Name, c.Name, b)
			}
			k := slices.IndexFunc(outlooks, func(o graph.Outlook) bool { return o.Installed == n.Name })
			if b.Classic == nil || b.V1 == nil || fmt.Sprint(*b.Classic) != fmt.Sprint(outlooks[k].Classic) || fmt.Sprint(*b.V1) != fmt.Sprint(outlooks[k].V1) {
				t.Errorf("%s: %s in channel %s: updates %v and %v", catalog, n.Name, c.Name, b.Classic, b.V1)
			}
		}
	}
}

const deprecatedCatalog = `schema: olm.package
name: kiln
defaultChannel: stable
---
schema: olm.channel
package: kiln
name: stable
entries: [{name: kiln.v2.0.0, replaces: kiln.v1.0.0, skips: [kiln.v0.9.0], skipRange: <2.0.0}, {name: kiln.v1.0.0}]
---
schema: olm.bundle
package: kiln
name: kiln.v1.0.0
image: example.com/kiln:1
properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
---
schema: olm.bundle
package: kiln
name: kiln.v2.0.0
image: example.com/kiln:2
relatedImages: [{name: "", image: "example.com/kiln:2"}]
properties:
- {type: olm.package, value: {packageName: kiln, version: 2.0.0}}
- {type: example.com/price, value: {amount: 1.50}}
- type: olm.csv.metadata
  value:
    annotations: {description: Fires pots.}
    displayName: The Kiln
    description: "# The Kiln\n\nIt is hot."
    provider: {name: Potters}
    installModes: [{type: OwnNamespace, supported: false}, {type: AllNamespaces, supported: true}]
    crdDescriptions: {owned: [{name: fires.example.com, version: v1, kind: Fire}]}
    apiServiceDefinitions: {required: [{name: a, group: g.example.com, version: v2, kind: Glaze}]}
---
schema: olm.deprecations
package: kiln
entries:
- {reference: {schema: olm.package}, message: Use ovens.}
- {reference: {schema: olm.channel, name: stable}, message: No more.}
- {reference: {schema: olm.bundle, name: kiln.v1.0.0}, message: Too hot.}
`

func TestViews(t *testing.T) {
	h := handlerOf(t, catalogOf(t, "c", textSource(deprecatedCatalog)))
	list := decode[packageList](t, h, address("packages", "catalog", "c"))
	if got, want := fmt.Sprintf("%+v", list), "{Packages:[{Name:kiln DisplayName:The Kiln Summary:Fires pots. Provider:Potters DefaultChannel:stable Version:2.0.0 Channels:[stable] Keywords:[] Deprecated:true HasIcon:false}]}"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p := decode[packageView](t, h, address("package", "catalog", "c", "package", "kiln"))
	if p.Deprecation != "Use ovens." || p.Channels[0].Deprecation != "No more." || p.Description != "# The Kiln\n\nIt is hot." {
		t.Errorf("%+v", p)
	}
	var rows []string
	for _, b := range p.Channels[0].Bundles {
		rows = append(rows, strings.Join([]string{b.Name, b.Version, states(b), b.Deprecation, "Classic:" + b.Classic.Next, "v1:" + b.V1.Next}, " "))
	}
	if got, want := strings.Join(rows, "\n"), `kiln.v2.0.0 2.0.0 head  Classic: v1:
kiln.v1.0.0 1.0.0 deprecated Too hot. Classic:kiln.v2.0.0 v1:kiln.v2.0.0
kiln.v0.9.0  outside missing skipped  Classic:kiln.v2.0.0 v1:kiln.v2.0.0`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	b := decode[bundleView](t, h, address("bundle", "catalog", "c", "package", "kiln", "name", "kiln.v2.0.0"))
	const want = "{kiln.v2.0.0 2.0.0 example.com/kiln:2 [{stable kiln.v1.0.0 <2.0.0 [kiln.v0.9.0]}] " +
		"[{olm.package map[packageName:kiln version:2.0.0] 40} {example.com/price map[amount:1.5] 14} {olm.csv.metadata <nil> 436}] " +
		"[{ example.com/kiln:2}] {The Kiln # The Kiln\n\nIt is hot. Potters  [AllNamespaces] [{Fire v1 fires.example.com}] [{Glaze v2 g.example.com}]}}"
	if got := fmt.Sprint(b); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for _, format := range []string{"", "html", "svg"} {
		for _, channel := range [][]string{nil, {"channel", "stable"}} {
			target := address("graph", append([]string{"catalog", "c", "package", "kiln", "format", format}, channel...)...)
			if got := get(t, h, target); !strings.Contains(got, "<svg") || !strings.Contains(got, "v2.0.0") {
				t.Errorf("%s: %.200s", target, got)
			}
		}
	}
}

// states returns the states of a bundle.
func states(b nodeView) string {
	var words []string
	for _, s := range []struct {
		holds bool
		word  string
	}{{b.Head, "head"}, {b.Outside, "outside"}, {b.Missing, "missing"}, {b.Skipped, "skipped"}, {b.Deprecated, "deprecated"}} {
		if s.holds {
			words = append(words, s.word)
		}
	}
	return strings.Join(words, " ")
}

func TestViewsRefuse(t *testing.T) {
	h := handlerOf(t, catalogOf(t, "c", textSource(deprecatedCatalog)))
	for target, code := range map[string]int{
		address("package", "catalog", "c", "package", "none"):                                      404,
		address("package", "catalog", "d", "package", "kiln"):                                      404,
		address("package", "package", "kiln"):                                                      400, // "" is no name of a catalog
		address("packages", "catalog", "c", "x", ""):                                               400,
		address("catalogs", "x", ""):                                                               400,
		address("search", "catalog", "c", "text", ""):                                              400,
		address("search", "catalog", "d", "text", "kiln"):                                          404,
		address("search", "catalog", "c", "text", "kiln", "x", ""):                                 400,
		address("icon", "catalog", "c", "package", "none"):                                         404,
		address("bundle", "catalog", "c", "package", "kiln", "name", ""):                           404,
		address("bundle", "catalog", "c", "package", "kiln", "name", "kiln.v0.9.0"):                404,
		address("bundle", "catalog", "c", "package", "none", "name", "kiln.v2.0.0"):                404,
		address("package", "catalog", "c", "package", ""):                                          404,
		address("icon", "catalog", "c"):                                                            404,
		address("bundle", "catalog", "c", "name", "kiln.v2.0.0"):                                   404,
		address("graph", "catalog", "c", "package", "none"):                                        404,
		address("graph", "catalog", "c", "package", "kiln", "channel", "none"):                     404,
		address("graph", "catalog", "c", "package", "kiln", "channel", "stable", "channel", "non"): 404,
		address("graph", "catalog", "c", "package", "kiln", "format", "png"):                       400,
		"/ui/v1/package?%zz": 400,
	} {
		if w := ask(h, http.MethodGet, target); w.Code != code {
			t.Errorf("%s: %d, want %d", target, w.Code, code)
		}
	}
}

// hostile are names that a page must only ever show.
var hostile = []string{
	`<img src=x onerror=document.title='hacked'>`, `"><script>document.title='hacked'</script>`, `</script><b>`, `&lt;i&gt;`,
	`javascript:document.title='hacked'`, `../../etc/passwd`, `a/b?c=d&e=f#g`, `%2e%2e%2f`, `package=x&bundle=y`, "a\nb\tc",
	`{{.}} ${1}`, `'; drop`, "\u202egnirts", "🚀", `__proto__`, `constructor`, `..`, ` `,
}

// hostileCatalog is a catalog in which everything has hostile names and texts.
func hostileCatalog() string {
	var text strings.Builder
	for _, name := range hostile {
		q := fmt.Sprintf("%q", name)
		fmt.Fprintf(&text, `{"schema": "olm.package", "name": %[1]s, "defaultChannel": %[1]s, "description": %[1]s, "icon": {"base64data": %[2]q, "mediatype": "text/html"}}
{"schema": "olm.channel", "package": %[1]s, "name": %[1]s, "entries": [{"name": %[1]s, "replaces": "x"}]}
{"schema": "olm.bundle", "package": %[1]s, "name": %[1]s, "image": %[1]s, "relatedImages": [{"name": %[1]s, "image": %[1]s}], "properties": [
 {"type": "olm.package", "value": {"packageName": %[1]s, "version": "1.0.0"}}, {"type": "x", "value": {"__proto__": %[1]s}},
 {"type": "olm.csv.metadata", "value": {"displayName": %[1]s, "description": %[1]s, "provider": {"name": %[1]s}, "keywords": [%[1]s],
  "links": [{"name": %[1]s, "url": %[1]s}, {"name": "js", "url": "javascript:document.title='hacked'"}], "maintainers": [{"name": %[1]s, "email": %[1]s}], "annotations": {"description": %[1]s}, "crdDescriptions": {}, "apiServiceDefinitions": {}}}]}
{"schema": "olm.deprecations", "package": %[1]s, "entries": [{"reference": {"schema": "olm.package"}, "message": %[1]s}]}
`, jsonText(q), base64.StdEncoding.EncodeToString([]byte("<script>document.title='hacked'</script>")))
	}
	return text.String()
}

// jsonText turns a quoted text of Go into one of JSON, which differs in few escapes.
func jsonText(q string) string { return strings.ReplaceAll(q, `\u202e`, "\u202e") }

func TestHostileNames(t *testing.T) {
	source := textSource(hostileCatalog())
	h := handlerOf(t, catalogOf(t, "c", source))
	list := decode[packageList](t, h, address("packages", "catalog", "c")).Packages
	if len(list) != len(hostile) {
		t.Fatalf("%d packages, want %d", len(list), len(hostile))
	}
	for _, name := range hostile {
		i := slices.IndexFunc(list, func(p struct {
			Name, DisplayName, Summary, Provider, DefaultChannel, Version string
			Channels, Keywords                                            []string
			Deprecated, HasIcon                                           bool
		}) bool {
			return p.Name == name
		})
		if i < 0 {
			t.Errorf("package %q is not listed", name)
			continue
		}
		if list[i].HasIcon {
			t.Errorf("package %q: a text is taken for an icon", name)
		}
		p := decode[packageView](t, h, address("package", "catalog", "c", "package", name))
		if p.Name != name || p.Icon != "" || p.Channels[0].Name != name || p.Head != name {
			t.Errorf("package %q: %+v", name, p)
		}
		if b := decode[bundleView](t, h, address("bundle", "catalog", "c", "package", name, "name", name)); b.Name != name || b.Image != name {
			t.Errorf("bundle %q: %+v", name, b)
		}
		if w := ask(h, http.MethodGet, address("graph", "catalog", "c", "package", name, "channel", name)); w.Code != 200 || strings.Contains(w.Body.String(), "<img") {
			t.Errorf("drawing of %q: %d", name, w.Code)
		}
	}
}

func TestHeaders(t *testing.T) {
	h := handlerOf(t, catalogOf(t, "c", textSource(deprecatedCatalog)))
	for target, policy := range map[string]string{
		"/":           "default-src 'none'; script-src 'self'; style-src 'self';",
		"/ui/page.js": "default-src 'none';",
		address("graph", "catalog", "c", "package", "kiln"):                  "frame-ancestors 'self'",
		address("graph", "catalog", "c", "package", "kiln", "format", "svg"): "default-src 'none'; style-src 'unsafe-inline'; sandbox",
	} {
		w := ask(h, http.MethodGet, target)
		if got := w.Header().Get("Content-Security-Policy"); w.Code != 200 || !strings.HasPrefix(got, policy) {
			t.Errorf("%s: %d, policy %q", target, w.Code, got)
		}
		if got := w.Header().Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options: %q", target, got)
		}
		tag := w.Header().Get("ETag")
		if again := ask(h, http.MethodGet, target, "If-None-Match", tag); tag == "" || again.Code != 304 {
			t.Errorf("%s: asked again with %s: %d", target, tag, again.Code)
		}
	}
}

// TestManyAsk checks that all of many concurrent requests get a response, and that canceled requests are not reported
// as failures.
func TestManyAsk(t *testing.T) {
	h := handlerOf(t, catalogOf(t, "c", textSource(deprecatedCatalog)))
	targets := []string{
		address("packages", "catalog", "c"), address("package", "catalog", "c", "package", "kiln"),
		address("bundle", "catalog", "c", "package", "kiln", "name", "kiln.v2.0.0"), address("graph", "catalog", "c", "package", "kiln"),
		address("search", "catalog", "c", "text", "kiln"),
	}
	want := make([]string, len(targets))
	for i, target := range targets {
		want[i] = get(t, h, target)
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%7 == 0 {
				cancel()
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, targets[i%len(targets)], nil))
			if got := w.Body.String(); ctx.Err() == nil && (w.Code != http.StatusOK || got != want[i%len(targets)]) {
				t.Errorf("%s: %d with %d bytes, want %d", targets[i%len(targets)], w.Code, len(got), len(want[i%len(targets)]))
			}
		})
	}
	all.Wait()
}
