package test

import (
	"bytes"
	"context"
	_ "embed" // for a catalog
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/serve/web"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestServePage checks the page of opm serve in a browser, with mouse and keyboard.
func TestServePage(t *testing.T) {
	ctx := startBrowser(t)
	t.Run("published", func(t *testing.T) { testPublishedPage(ctx, t) })
	t.Run("updates", func(t *testing.T) { testUpdates(ctx, t) })
	t.Run("dependencies", func(t *testing.T) { testDependencies(ctx, t) })
	t.Run("search", func(t *testing.T) { testServeSearch(ctx, t) })
	t.Run("matches", func(t *testing.T) { testSearchMatches(ctx, t) })
	t.Run("channels", func(t *testing.T) { testServeChannels(ctx, t) })
	t.Run("descriptions", func(t *testing.T) { testDescriptions(ctx, t) })
	t.Run("keyboard", func(t *testing.T) { testServeKeyboard(ctx, t) })
	t.Run("hostile names", func(t *testing.T) { testHostilePage(ctx, t) })
	t.Run("several catalogs", func(t *testing.T) { testSeveral(ctx, t) })
	t.Run("matrix", func(t *testing.T) { testMatrix(ctx, t) })
	t.Run("differences", func(t *testing.T) { testDifferences(ctx, t) })
	t.Run("withheld", func(t *testing.T) { testWithheld(ctx, t) })
	t.Run("kept package", func(t *testing.T) { testKeptPackage(ctx, t) })
	t.Run("missing", func(t *testing.T) { testMissing(ctx, t) })
	t.Run("loading", func(t *testing.T) { testLoading(ctx, t) })
	t.Run("narrow", func(t *testing.T) { testNarrow(ctx, t) })
}

// kiln is a catalog with a deprecated package, channel and bundle, and a bundle that is missing.
//
//go:embed testdata/kiln.yaml
var kiln string

// A namedSource is a catalog and its name.
type namedSource struct {
	name   string
	source declcfg.Source
}

func textSource(text string) declcfg.Source {
	return declcfg.Source{Name: "c", FS: fstest.MapFS{"catalog.yaml": {Data: []byte(text)}}}
}

// catalogsOf returns stores of catalogs, which need not be valid.
func catalogsOf(t *testing.T, sources ...namedSource) (catalogs []web.Catalog) {
	t.Helper()
	for _, s := range sources {
		key, err := store.KeyOf(t.Context(), s.source)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := store.Write(t.Context(), &b, key, store.BuildOptions{HTTP: true}, s.source); err != nil {
			t.Fatal(err)
		}
		opened, err := store.New(bytes.NewReader(b.Bytes()), int64(b.Len()), key)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { opened.Close() })
		catalogs = append(catalogs, web.Catalog{
			Name: s.name, Objects: opened.Catalogs()[0], Providing: opened.PackagesProviding, Tag: key.String(),
		})
	}
	return catalogs
}

// serving starts a server of catalogs and returns the address of its page.
func serving(t *testing.T, sources ...namedSource) string {
	t.Helper()
	catalogs := catalogsOf(t, sources...)
	server := httptest.NewServer(web.New(web.Options{
		Acquire: func() ([]web.Catalog, func()) { return catalogs, func() {} },
		Failed:  func(err error) { t.Errorf("the handler fails: %v", err) },
	}))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// openPage opens the page of a server of catalogs, at a fragment. It may send requests only to the server.
func openPage(browser context.Context, t *testing.T, fragment string, sources ...namedSource) *tab {
	t.Helper()
	base := serving(t, sources...)
	return openTab(browser, t, base+fragment, func(url string) bool {
		return strings.HasPrefix(url, base) || strings.HasPrefix(url, "data:")
	})
}

// untilHeading waits for the page with that heading.
func (p *tab) untilHeading(want string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.querySelector("h1")?.textContent === %q && !main.hasAttribute("aria-busy")`, want))
}

// clickLink clicks a link by its text.
func (p *tab) clickLink(text string) {
	p.t.Helper()
	found := fmt.Sprintf(`[...document.querySelectorAll("main a")].find((a) => a.textContent === %q)`, text)
	p.until(found + ` !== undefined`)
	at := eval[[]float64](p, `(() => { const a = `+found+`; a.scrollIntoView({ block: "center" });
		const r = a.getClientRects()[0]; return [r.left + r.width / 2, r.top + r.height / 2] })()`)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// visibleCards are the visible cards: elements that are not displayed have no boxes.
const visibleCards = `[...document.querySelectorAll(".card")].filter((c) => c.getClientRects().length > 0)`

// testPublishedPage checks a published catalog: it searches for an operator, opens it, and looks at a bundle and its
// update.
func testPublishedPage(browser context.Context, t *testing.T) {
	const name = "v4.20"
	dir := shared.Path(t, "data/catalogs/"+name)
	p := openPage(browser, t, "", namedSource{name, declcfg.Source{Name: name, FS: os.DirFS(dir)}})
	p.untilHeading("Packages of " + name)
	cards := eval[int](p, `document.querySelectorAll(".card").length`)
	if got := p.text("#status"); got != fmt.Sprintf("%d packages", cards) || cards < 10 {
		t.Errorf("%d cards, and the page says %q", cards, got)
	}
	p.until(`document.querySelectorAll(".card img").length > 5`)
	p.until(`[...document.querySelectorAll(".card img")].every((i) => i.complete && i.naturalWidth > 0)`)
	p.picture("packages")
	p.do(chromedp.SendKeys(chromedp.CSS("#query"), "rabbitmq topology"))
	p.until(visibleCards + `.length === 1`)
	if got, want := p.text("#status"), fmt.Sprintf("1 of %d packages", cards); got != want {
		t.Errorf("the page says %q, want %q", got, want)
	}
	p.picture("search")
	p.do(chromedp.SendKeys(chromedp.CSS("#query"), kb.Enter))
	p.until(`document.querySelector(".tabs [aria-current]") !== null && document.querySelector("iframe") !== null`)
	if got := p.text(".title"); !strings.Contains(got, "rabbitmq-messaging-topology-operator") {
		t.Errorf("the title is %q", got)
	}
	p.until(`document.querySelector("iframe").contentDocument?.querySelectorAll(".bundle[role=button]").length ===
		document.querySelectorAll("tbody tr").length`)
	p.picture("package")
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("iframe").scrollIntoView()`))
	p.picture("graph")
	const last = `[...document.querySelectorAll("tbody tr")].filter((r) => r.cells[0].querySelector("a")).at(-1)`
	oldest := eval[string](p, last+`.cells[0].textContent`)
	next := eval[string](p, last+`.cells[3].querySelector("a").textContent`)
	p.clickLink(oldest)
	p.untilHeading(oldest)
	p.picture("bundle")
	p.clickLink(next)
	p.untilHeading(next)
	if got := p.text("main"); !strings.Contains(got, oldest) {
		t.Errorf("%s does not say that it updates %s:\n%s", next, oldest, got)
	}
	p.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	p.untilHeading(oldest)
}

func testUpdates(browser context.Context, t *testing.T) {
	p := openPage(browser, t, "#package=kiln", namedSource{"c", textSource(kiln)})
	base := eval[string](p, `location.origin`)
	p.untilHeading("The Kiln")
	if got := eval[[]string](p, `[...document.querySelectorAll(".notice")].map((e) => e.textContent)`); !slices.Equal(got,
		[]string{"This package is deprecated. Use ovens.", "This channel is deprecated. No more."}) {
		t.Errorf("notices: %q", got)
	}
	rows := func() string {
		return eval[string](p, `[...document.querySelectorAll("tbody tr")].map((r) => [...r.cells].map((c) => c.textContent).join(" | ")).join("\n")`)
	}
	if got, want := rows(), `kiln.v2.0.0 | 2.0.0 | head | stays | stays
kiln.v1.0.0 | 1.0.0 | deprecated | kiln.v2.0.0 (replaces) | kiln.v2.0.0 (replaces)
kiln.v0.9.0 |  | skippednot in the channelnot in the catalog | kiln.v2.0.0 (skips) | kiln.v2.0.0 (skips)`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	p.clickLink("kiln.v1.0.0")
	p.untilHeading("kiln.v1.0.0")
	if got := p.text("main"); !strings.Contains(got, "Too hot.") {
		t.Errorf("the bundle is shown as\n%s", got)
	}
	p.clickLink("kiln.v2.0.0")
	p.untilHeading("kiln.v2.0.0")
	got := p.text("main")
	for _, want := range []string{
		"Potters", "AllNamespaces", "kiln.v1.0.0, kiln.v0.9.0", "<2.0.0", "example.com/price", "436 bytes", "Fire", "Glaze", "It is hot.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if got := eval[string](p, `document.title`); got != "kiln.v2.0.0 (c)" {
		t.Errorf("the title is %q", got)
	}
	for _, href := range eval[[]string](p, `[...document.querySelectorAll("main a")].map((a) => a.href)`) {
		if !strings.HasPrefix(href, base) {
			t.Errorf("a link leads to %s", href)
		}
	}
	response, err := http.Get(eval[string](p, `[...document.querySelectorAll("dd a")].find((a) => a.textContent === "this object").href`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if raw, err := io.ReadAll(response.Body); err != nil || !bytes.HasPrefix(raw, []byte(`{"image":"example.com/kiln:2"`)) {
		t.Errorf("the object itself is %.60s, %v", raw, err)
	}
}

// testDependencies checks that the dependencies of a bundle are shown, with a link to the package that satisfies each.
func testDependencies(browser context.Context, t *testing.T) {
	const requiring = `---
schema: olm.package
name: oven
defaultChannel: c
---
schema: olm.channel
package: oven
name: c
entries: [{name: oven.v1}]
---
schema: olm.bundle
package: oven
name: oven.v1
image: example.com/oven
properties:
- {type: olm.package, value: {packageName: oven, version: 1.0.0}}
- {type: olm.package.required, value: {packageName: kiln, versionRange: ">=1.0.0"}}
- {type: olm.gvk.required, value: {group: "<b>g</b>", version: v1, kind: Glaze}}
`
	p := openPage(browser, t, "#package=oven&bundle=oven.v1", namedSource{"c", textSource(kiln + requiring)})
	p.untilHeading("oven.v1")
	const rows = `[...[...document.querySelectorAll("table")].find((t) => t.caption.textContent === "2 dependencies").tBodies[0].rows]
		.map((r) => [...r.cells].map((c) => c.textContent).join(": "))`
	if got, want := eval[[]string](p, rows), []string{
		`package kiln ">=1.0.0": kiln`, `an operator that provides Glaze (<b>g</b>/v1): nothing in this catalog`,
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, problem := range eval[[]string](p, accessible) {
		t.Error(problem)
	}
	p.clickLink("kiln")
	p.untilHeading("The Kiln")
}

// testServeSearch searches, and checks the visible cards and the address.
func testServeSearch(browser context.Context, t *testing.T) {
	oven := strings.NewReplacer("kiln", "oven", "The Kiln", "The Oven", "fires", "bakes").Replace(kiln)
	p := openPage(browser, t, "#catalog=c&search=kiln", namedSource{"c", textSource(kiln + "---\n" + oven)})
	p.untilHeading("Packages of c")
	expect := func(status, address string, titles ...string) {
		t.Helper()
		p.until(fmt.Sprintf(`document.getElementById("status").textContent === %q`, status))
		if got := eval[[]string](p, visibleCards+`.map((c) => c.querySelector("a").textContent)`); !slices.Equal(got, titles) {
			t.Errorf("shows %q, want %q", got, titles)
		}
		if got := eval[string](p, `location.hash`); got != address {
			t.Errorf("the address is %q, want %q", got, address)
		}
	}
	search := func(query string) {
		p.do(chromedp.Evaluate[chromedp.Void](`query.value = ""; query.focus()`), chromedp.KeyEvent(query))
	}
	expect("1 of 2 packages", "#catalog=c&search=kiln", "The Kiln")
	if got := eval[string](p, `query.value`); got != "kiln" {
		t.Errorf("the field has %q, and the address kiln", got)
	}
	places := eval[int](p, `history.length`)
	search("oven x&y")
	expect("0 of 2 packages", "#catalog=c&search=oven+x%26y")
	if got, want := p.text("#none"), "Nothing matches “oven x&y”.\n\nDid you mean oven?"; got != want {
		t.Errorf("no hits: the page says %q, want %q", got, want)
	}
	p.picture("no-hits")
	search("oven")
	if got := p.text("#none"); got != "" {
		t.Errorf("with hits the page says %q", got)
	}
	expect("1 of 2 packages", "#catalog=c&search=oven", "The Oven")
	if got := eval[int](p, `history.length`); got != places {
		t.Errorf("typing adds %d places to the history", got-places)
	}
	p.do(chromedp.KeyEvent(kb.Enter))
	p.untilHeading("The Oven")
	if got := eval[string](p, `query.value`); got != "" {
		t.Errorf("on the page of a package the field has %q", got)
	}
	p.do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	p.untilHeading("Packages of c")
	expect("1 of 2 packages", "#catalog=c&search=oven", "The Oven")
	p.do(chromedp.Evaluate[chromedp.Void](`home.click()`))
	expect("2 packages", "#catalog=c", "The Kiln", "The Oven")
	p.do(chromedp.Evaluate[chromedp.Void](`query.focus()`), chromedp.KeyEvent(kb.Enter)) // for nothing
	expect("2 packages", "#catalog=c", "The Kiln", "The Oven")
	search("kilm")
	expect("0 of 2 packages", "#catalog=c&search=kilm")
	p.clickLink("kiln")
	p.untilHeading("The Kiln")
	search("e")
	expect("2 of 2 packages", "#catalog=c&search=e", "The Oven", "The Kiln") // a name before a display name
	p.do(chromedp.KeyEvent(kb.Enter))                                        // the first of several
	p.untilHeading("The Oven")
	search("kiln" + kb.Enter) // before the packages are shown
	p.untilHeading("The Kiln")
	// Before the page has noticed that its address changes.
	p.do(chromedp.Evaluate[chromedp.Void](
		`query.value = "oven"; query.dispatchEvent(new Event("input")); query.form.requestSubmit()`))
	p.untilHeading("The Oven")
}

// testSearchMatches checks searches for texts that cards do not show, and the links to the matches.
func testSearchMatches(browser context.Context, t *testing.T) {
	const clay = `---
schema: olm.package
name: clay
defaultChannel: stable
---
schema: olm.channel
package: clay
name: stable
entries: [{name: clay.v2.0.0, replaces: clay.v1.0.0}, {name: clay.v1.0.0}]
`
	bundle := func(version, properties string) string {
		return fmt.Sprintf("---\n{schema: olm.bundle, package: clay, name: clay.v%[1]s, image: \"quay.example/pots:%[1]s\", properties: [\n"+
			" {type: olm.package, value: {packageName: clay, version: %[1]s}}%[2]s]}\n", version, properties)
	}
	var apis strings.Builder
	for _, kind := range []string{"Bowl", "Cup", "Jar", "Jug", "Pot", "Tile", "Vase"} {
		fmt.Fprintf(&apis, ", {type: olm.gvk, value: {group: ware.example, version: v1, kind: %s}}", kind)
	}
	const about = `, {type: olm.csv.metadata, value: {description: "Clay, which a <b>kiln</b> fires."}}`
	text := kiln + clay + bundle("1.0.0", apis.String()) + bundle("2.0.0", apis.String()+about)
	p := openPage(browser, t, "#catalog=c&search=jug.WARE", namedSource{"c", textSource(text)})
	p.untilHeading("Packages of c")
	expect := func(status string, matches ...string) {
		t.Helper()
		p.until(fmt.Sprintf(`document.getElementById("status").textContent === %q`, status))
		if got := eval[[]string](p, `[...document.querySelectorAll(".matches li")].map((li) => li.textContent)`); !slices.Equal(got, matches) {
			t.Errorf("shows %q, want %q", got, matches)
		}
	}
	search := func(query, status string, matches ...string) {
		t.Helper()
		p.do(chromedp.Evaluate[chromedp.Void](`query.value = ""; query.focus()`), chromedp.KeyEvent(query))
		expect(status, matches...)
	}
	expect("1 of 2 packages", "API ware.example/v1/Jug in clay.v2.0.0 and 1 more")
	for _, problem := range eval[[]string](p, accessible) {
		t.Error(problem)
	}
	search("nothing at all", "0 of 2 packages")
	search("pots:1", "1 of 2 packages", "image quay.example/pots:1.0.0 in clay.v1.0.0")
	// The package of which only a description matches is the last.
	search("KILN", "2 of 2 packages", "description Clay, which a <b>kiln</b> fires. in clay.v2.0.0")
	if got := eval[[]string](p, visibleCards+`.map((c) => c.querySelector("a").textContent)`); !slices.Equal(got, []string{"The Kiln", "clay"}) {
		t.Errorf("shows %q", got)
	}
	p.do(chromedp.Evaluate[chromedp.Void](`query.value = ""; query.dispatchEvent(new Event("input"))`))
	expect("2 packages")
	if got := eval[[]string](p, visibleCards+`.map((c) => c.querySelector("a").textContent)`); !slices.Equal(got, []string{"clay", "The Kiln"}) {
		t.Errorf("shows %q", got)
	}
	var all []string
	for _, kind := range []string{"Bowl", "Cup", "Jar", "Jug", "Pot", "Tile", "Vase"} {
		all = append(all, fmt.Sprintf("API ware.example/v1/%s in clay.v2.0.0 and 1 more", kind))
	}
	search("ware.example", "1 of 2 packages", all[:5]...)
	p.picture("matches")
	// In one step, because a late answer to the search may replace the button.
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".card button").click()`))
	p.until(`document.querySelectorAll(".matches li").length === 7`)
	expect("1 of 2 packages", all...)
	p.clickLink("clay.v2.0.0")
	p.untilHeading("clay.v2.0.0")
}

// testServeChannels checks that the page sorts channels by version everywhere.
func testServeChannels(browser context.Context, t *testing.T) {
	text := kiln
	for _, name := range []string{"stable-3.17", "stable-3.6"} {
		text += "---\nschema: olm.channel\npackage: kiln\nname: " + name + "\nentries: [{name: kiln.v2.0.0}]\n"
	}
	p := openPage(browser, t, "#package=kiln", namedSource{"c", textSource(text)})
	p.untilHeading("The Kiln")
	for selector, want := range map[string][]string{
		".tabs a": {"stable 2.0.0 (default) (deprecated)", "stable-3.6 2.0.0", "stable-3.17 2.0.0"},
	} {
		if got := eval[[]string](p, `[...document.querySelectorAll("`+selector+`")].map((e) => e.textContent)`); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", selector, got, want)
		}
	}
	p.clickLink("kiln.v2.0.0")
	p.untilHeading("kiln.v2.0.0")
	for i, caption := range []string{"Where it updates to", "3 channels"} {
		got := eval[[]string](p, fmt.Sprintf(`[...[...document.querySelectorAll("table")].find((t) => t.caption.textContent.startsWith(%q))
			.tBodies[0].rows].map((r) => r.cells[0].textContent.split(" ")[0])`, caption))
		if want := []string{"stable", "stable-3.6", "stable-3.17"}; !slices.Equal(got, want) {
			t.Errorf("table %d: got %q, want %q", i, got, want)
		}
	}
}

// testDescriptions checks that Markdown is shown: its links, and text that only looks like a link.
func testDescriptions(browser context.Context, t *testing.T) {
	const description = `See [the guide][Guide], [news] [],
		and [the  Guide].

		- [item][the guide] [x] [none][none]
		- [a]: https://example.com/item

		## Of [news][]

		[plain](https://example.com/plain) [bad][script] [bad](javascript:alert(1)) [https://example.com/bare]

		[GUIDE]: <https://example.com/guide> "The guide"
		[guide]: https://example.com/second
		[the guide]: https://example.com/the 'guide'
		[news]:   https://example.com/news
		[script]: javascript:alert(2)
		[__proto__]: https://example.com/proto
		~~~
		[code]: https://example.com/code
		~~~
		[constructor] [code] [__proto__]`
	unindented := strings.NewReplacer("\t", "", "~~~", "```").Replace(description)
	text := strings.Replace(kiln, `"# The Kiln\n\nIt is hot."`, jsonOf(t, unindented), 1)
	p := openPage(browser, t, "#package=kiln", namedSource{"c", textSource(text)})
	p.untilHeading("The Kiln")
	got := eval[[]string](p, `[...document.querySelectorAll(".prose a")].map((a) => a.textContent + " " + a.getAttribute("href"))`)
	if want := []string{
		"the guide https://example.com/guide", "news https://example.com/news", "the  Guide https://example.com/the",
		//nolint:dupword // text and address
		"item https://example.com/the", "https://example.com/item https://example.com/item", "news https://example.com/news",
		//nolint:dupword // text and address
		"plain https://example.com/plain", "https://example.com/bare https://example.com/bare",
		"__proto__ https://example.com/proto",
	}; !slices.Equal(got, want) {
		t.Errorf("links:\n got %q\nwant %q", got, want)
	}
	prose := p.text(".prose")
	for _, want := range []string{
		"[x] [none][none]", "[bad][script] [bad](javascript:alert(1)) [https://example.com/bare]", "[script]: javascript:alert(2)",
		"[code]: https://example.com/code", "[constructor] [code]",
	} {
		if !strings.Contains(prose, want) {
			t.Errorf("no %q in\n%s", want, prose)
		}
	}
	if strings.Contains(prose, "/guide") || strings.Contains(prose, "/second") {
		t.Errorf("definitions are shown in\n%s", prose)
	}
}

func testServeKeyboard(browser context.Context, t *testing.T) {
	p := openPage(browser, t, "", namedSource{"c", textSource(kiln)})
	p.untilHeading("Packages of c")
	focused := func() string {
		return eval[string](p, `document.activeElement.id || document.activeElement.textContent`)
	}
	for _, tt := range []struct{ keys, want string }{
		{kb.Tab, "skip"}, {kb.Tab, "home"}, {kb.Tab, "query"}, {kb.Tab, "The Kiln"}, {"/", "query"}, {"oven", "query"},
	} {
		p.do(chromedp.KeyEvent(tt.keys))
		if got := focused(); got != tt.want {
			t.Errorf("%q leads to %s, want %s", tt.keys, got, tt.want)
		}
	}
	p.until(`document.getElementById("status").textContent === "0 of 1 package"`)
	p.do(chromedp.Evaluate[chromedp.Void](`query.value = "fires POTS"; query.dispatchEvent(new Event("input"))`))
	p.until(`document.getElementById("status").textContent === "1 of 1 package"`)
	p.do(chromedp.KeyEvent(kb.Enter))
	p.untilHeading("The Kiln")
	if got := focused(); got != "The Kiln" {
		t.Errorf("on the new page the focus is on %s", got)
	}
	for _, problem := range eval[[]string](p, accessible) {
		t.Error(problem)
	}
	p.do(chromedp.Evaluate[chromedp.Void](`location.hash = "#package=kiln&bundle=kiln.v2.0.0"`))
	p.untilHeading("kiln.v2.0.0")
	for _, problem := range eval[[]string](p, accessible) {
		t.Error(problem)
	}
	p.do(chromedp.SendKeys(chromedp.CSS("#query"), " kiln"))
	p.untilHeading("Packages of c")
	if got := p.text("#status"); got != "1 of 1 package" {
		t.Errorf("searching for %q from a bundle, the page says %q", eval[string](p, `query.value`), got)
	}
}

// accessible lists what readers of screens would miss on a page.
const accessible = `(() => {
	const problems = [];
	const want = (holds, what) => { if (!holds) problems.push(what); };
	want(document.documentElement.lang === "en", "the page has no language");
	want(document.querySelectorAll("h1").length === 1, "there is not one h1");
	let level = 1;
	for (const h of document.querySelectorAll("main :is(h1, h2, h3)")) {
		want(Number(h.tagName[1]) <= level + 1, "a level of headings is left out at " + h.textContent);
		level = Number(h.tagName[1]);
	}
	for (const e of document.querySelectorAll("img")) want(e.hasAttribute("alt"), "an image has no alt");
	for (const e of document.querySelectorAll("iframe")) want(e.title, "a frame has no title");
	for (const e of document.querySelectorAll("table")) want(e.caption && e.querySelector("th[scope=col]") && e.querySelector("th[scope=row]"), "a table has no heads");
	for (const e of document.querySelectorAll("input, select")) want(e.labels.length > 0, e.id + " has no label");
	for (const e of document.querySelectorAll("a")) want(e.textContent.trim() !== "" && e.href, "a link says nothing");
	const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
	want(new Set(ids).size === ids.length, "ids are used twice");
	const parts = (color) => color.match(/[\d.]+/g).map(Number);
	const light = (color) => parts(color).slice(0, 3).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
		.reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
	const ground = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (parts(c)[3] !== 0) return c; } return "rgb(255, 255, 255)"; };
	for (const e of document.querySelectorAll("main :is(p, a, td, th, dt, dd, span, code, caption, h1, h2, h3)")) {
		if (e.closest("[aria-hidden]")) continue;
		const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
		want((a + 0.05) / (b + 0.05) >= 4.5, "too little contrast: " + e.textContent.slice(0, 40));
	}
	return problems;
})()`

func testHostilePage(browser context.Context, t *testing.T) {
	p := openPage(browser, t, "", namedSource{"c", textSource(hostileCatalog(t))})
	p.untilHeading("Packages of c")
	if n := eval[int](p, `document.querySelectorAll(".card").length`); n != len(hostile) {
		t.Errorf("%d cards, want %d", n, len(hostile))
	}
	for _, name := range hostile {
		for _, v := range []url.Values{{"package": {name}}, {"package": {name}, "channel": {name}, "bundle": {name}}} {
			p.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`location.hash = %q`, "#"+v.Encode())))
			p.until(fmt.Sprintf(`document.querySelector("h1").textContent === %s && !main.hasAttribute("aria-busy") &&
				location.hash === %q && document.querySelector("dl.facts") !== null`, jsonOf(t, name), "#"+v.Encode()))
		}
	}
	for _, expression := range []string{
		`!document.title.includes("hacked") || document.title !== "hacked"`, `document.querySelectorAll("main img, main script").length === 0`,
		`[...document.querySelectorAll("a")].every((a) => !a.href.startsWith("javascript:"))`,
	} {
		if !eval[bool](p, expression) {
			t.Errorf("false: %s", expression)
		}
	}
}

func testSeveral(browser context.Context, t *testing.T) {
	p := openPage(browser, t, "", namedSource{"a", textSource(kiln)},
		namedSource{"b", textSource(strings.NewReplacer("kiln", "oven", "The Kiln", "oven").Replace(kiln))})
	p.untilHeading("Packages of a")
	p.do(chromedp.Evaluate[chromedp.Void](`(() => { const s = document.getElementById("catalog"); s.value = "b"; s.dispatchEvent(new Event("change")) })()`))
	p.untilHeading("Packages of b")
	p.clickLink("oven")
	p.untilHeading("oven")
	p.do(chromedp.SendKeys(chromedp.CSS("#query"), "o"))
	p.untilHeading("Packages of b")
	if got := eval[string](p, `document.activeElement.id`); got != "query" {
		t.Errorf("searching leads away from the field, to %q", got)
	}
	p.do(chromedp.Click(chromedp.CSS("#compare")))
	p.untilHeading("Compare catalogs")
	const cells = `[...document.querySelectorAll("tbody tr")].map((tr) => [...tr.cells].map((td) => td.textContent).join("|")).join("\n")`
	if got, want := eval[string](p, cells), "kiln|2.0.0|missing\noven|missing|2.0.0"; got != want {
		t.Errorf("the matrix is\n%s\nwant\n%s", got, want)
	}
	p.clickLink("2.0.0")
	p.untilHeading("The Kiln")
	p.do(chromedp.Click(chromedp.CSS("#compare")))
	p.untilHeading("Compare catalogs")
	p.do(chromedp.SendKeys(chromedp.CSS("#query"), "ki"))
	p.untilHeading("Packages of a")
	p.until(`[...document.querySelectorAll("#cards > :not([hidden]) a")].length > 0 && document.querySelector("#query").value === "ki"`)
}

// testMatrix checks the matrix of many packages: its head and its first column stay in view, packages are links, and
// equal packages can be hidden.
func testMatrix(browser context.Context, t *testing.T) {
	var a, b strings.Builder
	for i := range 60 {
		name := fmt.Sprintf("kiln%02d", i)
		a.WriteString("---\n" + strings.ReplaceAll(kiln, "kiln", name))
		if i != 7 {
			b.WriteString("---\n" + strings.ReplaceAll(kiln, "kiln", name))
		}
	}
	p := openPage(browser, t, "#compare=catalogs", namedSource{"a", textSource(a.String())},
		namedSource{"b", textSource(b.String())},
		namedSource{"c", textSource(a.String())})
	p.untilHeading("Compare catalogs")
	p.picture("matrix")
	if got := p.text("caption"); got != "60 packages" {
		t.Errorf("got %q", got)
	}
	const headStays = `(() => { const grid = document.querySelector(".matrix"); grid.scrollTop = 800; grid.scrollLeft = 200;
		const head = grid.querySelector("thead th").getBoundingClientRect(), frame = grid.getBoundingClientRect();
		const name = [...grid.querySelectorAll("tbody th")].find((e) => e.getBoundingClientRect().top > head.bottom);
		return grid.scrollTop > 300 && Math.abs(head.top - frame.top) < 3 &&
			Math.abs(name.getBoundingClientRect().left - frame.left) < 3; })()`
	if !eval[bool](p, headStays) {
		t.Error("the head or the first column is scrolled away")
	}
	p.do(chromedp.EmulateViewport(400, 800))
	if !eval[bool](p, headStays+` && document.documentElement.scrollWidth <= 400`) {
		t.Error("the matrix does not fit 400 px")
	}
	p.picture("matrix-narrow")
	p.do(chromedp.EmulateViewport(1200, 800))
	p.clickLink("kiln07")
	p.untilHeading("The Kiln")
}

// testDifferences checks the choice of the matrix to show only the packages that differ.
func testDifferences(browser context.Context, t *testing.T) {
	other := strings.NewReplacer("kiln", "oven", "The Kiln", "The Oven").Replace(kiln)
	p := openPage(browser, t, "#compare=catalogs", namedSource{"a", textSource(kiln + "---\n" + other)}, namedSource{"b", textSource(kiln)})
	p.untilHeading("Compare catalogs")
	const shown = `[...document.querySelectorAll("tbody tr:not([hidden]) th")].map((e) => e.textContent).join(" ")`
	p.do(chromedp.Click(chromedp.CSS("#differences")))
	p.until(shown + ` === "oven"`)
	if got := p.text("caption"); got != "1 of 2 packages" {
		t.Errorf("got %q", got)
	}
	p.do(chromedp.Click(chromedp.CSS("#differences")))
	p.until(shown + ` === "kiln oven"`)
}

// testWithheld checks that the page lists every problem of a package that is not served.
func testWithheld(browser context.Context, t *testing.T) {
	catalogs := catalogsOf(t, namedSource{"c", textSource(kiln)})
	catalogs[0].Withheld = []web.Withheld{{Package: "oven", Reasons: []string{"no head", "<b>two</b> heads"}}}
	server := httptest.NewServer(web.New(web.Options{Acquire: func() ([]web.Catalog, func()) { return catalogs, func() {} }}))
	t.Cleanup(server.Close)
	p := openTab(browser, t, server.URL+"/", func(url string) bool { return strings.HasPrefix(url, server.URL) })
	p.untilHeading("Packages of c")
	const problems = `[...document.querySelectorAll(".notice > ul > li > ul > li")].map((e) => e.textContent).join("; ")`
	if got := eval[string](p, problems); got != "no head; <b>two</b> heads" {
		t.Errorf("got %q", got)
	}
}

// testKeptPackage checks that a package stays selected when the user changes to another catalog that has it.
func testKeptPackage(browser context.Context, t *testing.T) {
	p := openPage(browser, t, "#catalog=a&package=kiln&channel=stable", namedSource{"a", textSource(kiln)},
		namedSource{"b", textSource(strings.ReplaceAll(kiln, "The Kiln", "The Other Kiln"))})
	p.untilHeading("The Kiln")
	p.do(chromedp.Evaluate[chromedp.Void](`(() => { const s = document.getElementById("catalog"); s.value = "b"; s.dispatchEvent(new Event("change")) })()`))
	p.untilHeading("The Other Kiln")
}

// testLoading checks the page while the catalog is still being loaded.
func testLoading(browser context.Context, t *testing.T) {
	var isThere atomic.Bool
	catalogs := catalogsOf(t, namedSource{"c", textSource(kiln)})
	server := httptest.NewServer(web.New(web.Options{Acquire: func() ([]web.Catalog, func()) {
		if !isThere.Load() {
			return nil, func() {}
		}
		return catalogs, func() {}
	}}))
	t.Cleanup(server.Close)
	ctx, cancel := chromedp.NewContext(browser)
	defer cancel()
	p := &tab{t, ctx} // not watched: the console reports each 503
	p.do(chromedp.Navigate(server.URL + "/#package=kiln"))
	p.untilHeading("The catalog is being loaded")
	p.picture("loading")
	isThere.Store(true)
	p.untilHeading("The Kiln")
}

// testNarrow checks the page of a package on a phone: the columns of a bundle that have a value are below its name.
func testNarrow(browser context.Context, t *testing.T) {
	p := openPage(browser, t, "#package=kiln", namedSource{"c", declcfg.Source{Name: "c", FS: os.DirFS("../examples/catalog")}})
	p.untilHeading("Kiln")
	isBelow := func() bool {
		return eval[bool](p, `(() => { const r = document.querySelector(".updates tbody tr");
			return r.cells[3].getBoundingClientRect().top >= r.cells[0].getBoundingClientRect().bottom })()`)
	}
	if isBelow() {
		t.Error("columns are folded in a wide window")
	}
	p.do(chromedp.EmulateViewport(400, 800))
	p.picture("narrow")
	if !isBelow() || eval[bool](p, `document.documentElement.scrollWidth > 400`) {
		t.Error("columns are not folded at 400 pixels, or the page is wider")
	}
	if eval[bool](p, `[...document.querySelectorAll(".updates td")].some((c) => !c.textContent && c.offsetHeight > 0)`) {
		t.Error("the name of a column without a value is shown at 400 pixels")
	}
}

func testMissing(browser context.Context, t *testing.T) {
	base := serving(t, namedSource{"c", textSource(kiln)})
	ctx, cancel := chromedp.NewContext(browser)
	defer cancel()
	p := &tab{t, ctx} // not watched: the console reports what is missing
	for _, fragment := range []string{"#package=none", "#package=kiln&channel=none", "#package=kiln&bundle=none", "#catalog=none"} {
		p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(base+fragment))
		p.untilHeading("Not found")
		if got := p.text("main"); !strings.Contains(got, "There is no none here.") {
			t.Errorf("%s: the page says\n%s", fragment, got)
		}
		p.do(chromedp.SendKeys(chromedp.CSS("#query"), "kiln"))
		p.untilHeading("Packages of c")
	}
}
