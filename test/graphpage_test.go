package test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// TestGraphPage checks the pages of opm graph in a browser: it opens them as files, and uses mouse and keyboard.
func TestGraphPage(t *testing.T) {
	ctx := startBrowser(t)
	t.Run("select", func(t *testing.T) { testSelect(ctx, t) })
	t.Run("keyboard", func(t *testing.T) { testGraphKeyboard(ctx, t) })
	t.Run("search", func(t *testing.T) { testSearch(ctx, t) })
	t.Run("zoom and drag", func(t *testing.T) { testZoom(ctx, t) })
	t.Run("texts fit", func(t *testing.T) { testTextsFit(ctx, t) })
	t.Run("index and legend", func(t *testing.T) { testIndex(ctx, t) })
	t.Run("default channel", func(t *testing.T) { testDefaultChannel(ctx, t) })
	t.Run("hostile names", func(t *testing.T) { testHostileGraph(ctx, t) })
	t.Run("500 bundles", func(t *testing.T) { testLarge(ctx, t) })
}

const (
	// differing has different updates in OLM Classic and in OLM v1, in channel c: v1 ──► v2 ──► v3, where v3 also skips
	// v1.1, which OLM Classic does not offer. In channel d, OLM Classic goes back to v1.0.0 for ever.
	differing = `
		default c
		channel c
		- p.v3.0.0 replaces p.v2.0.0 skips p.v1.1.0
		- p.v2.0.0 replaces p.v1.0.0
		- p.v1.1.0 replaces p.v1.0.0 range >=0.1.0 <1.1.0
		- p.v1.0.0 replaces p.v0.9.0
		channel d
		- p.v2.0.0 replaces p.v1.0.0
		- p.v1.0.0 range =2.0.0
		bundle p.v0.1.0`

	// rejected has a head with a dependency, with which OLM v1 updates nothing.
	rejected = `
		channel c
		- p.v2.0.0 replaces p.v1.0.0
		- p.v1.0.0 replaces p.v0.9.0
		requires p.v2.0.0 olm.constraint`

	// OLM Classic refuses both channels of refused: a has two heads, and in b replaces form a cycle.
	refused = `
		channel a
		- p.v2.0.0 replaces p.v0.0.1
		- p.v1.0.0 replaces p.v0.0.1
		- p.v0.0.1
		channel b
		- p.v1.0.0 replaces p.v2.0.0
		- p.v2.0.0 replaces p.v3.0.0
		- p.v3.0.0 replaces p.v1.0.0 range >=3.0.0`

	chain = `
		default stable
		channel stable
		- p.v1.2.0 replaces p.v1.1.0 skips p.v1.1.1
		- p.v1.1.1 replaces p.v1.1.0
		- p.v1.1.0 replaces p.v1.0.0
		- p.v1.0.0 replaces p.v0.9.0
		deprecated p.v1.0.0`

	ranges = `
		channel c
		- p.v2.0.0 replaces p.v1.0.0 skips p.v1.1.0,p.v1.1.1,p.v1.2.0,p.v1.3.0
		- p.v1.3.0 replaces p.v1.2.0 range >=1.0.0 <1.3.0
		- p.v1.2.0 replaces p.v1.1.0 range >=1.0.0 <1.2.0
		- p.v1.1.1 range 1.x.y
		- p.v1.1.0 replaces p.v1.0.0 range >=1.0.0 <1.1.0
		- p.v1.0.0 range <1.0.0`
)

// openGraph opens the page that opm graph writes for a catalog. The page must not make any requests.
func openGraph(browser context.Context, t *testing.T, catalog string) *tab {
	t.Helper()
	name := filepath.Join(t.TempDir(), "graph.html")
	if err := os.WriteFile(name, []byte(mustOpm(t, catalog, "graph", "-", "-o", "html")), 0o644); err != nil {
		t.Fatal(err)
	}
	url := "file://" + name
	return openTab(browser, t, url, func(requested string) bool { return requested == url })
}

// bundle selects a box by its lane and row.
func bundle(lane, row int) string {
	return fmt.Sprintf(`[...document.querySelectorAll(".lane")][%d].querySelectorAll(".bundle")[%d]`, lane, row)
}

// click clicks the middle of a box.
func (p *tab) click(lane, row int) {
	p.t.Helper()
	at := eval[[]float64](p, `(() => { const r = `+bundle(lane, row)+`.getBoundingClientRect();
		return [r.left + r.width / 2, r.top + r.height / 2] })()`)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// panel returns the text of the panel, line by line.
func (p *tab) panel() string {
	p.t.Helper()
	return eval[string](p, `[...document.querySelectorAll("#panel :is(h2, h3, p, li, button)")].map((e) => e.textContent).join("\n")`)
}

func (p *tab) wantPanel(want string) {
	p.t.Helper()
	if got := p.panel(); got != want {
		p.t.Errorf("the panel says\n%s\nwant\n%s", got, want)
	}
}

// classes returns the names of the bundles with a class, in their order.
func (p *tab) classes(class string) string {
	p.t.Helper()
	return eval[string](p, `[...document.querySelectorAll(".bundle.`+class+` .label")].map((e) => e.textContent).join(" ")`)
}

func testSelect(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, catalogOf(t, "p", differing))
	p.click(0, 3)
	p.wantPanel(`p.v1.0.0
Version 1.0.0
Channel c of package p
OLM Classic
2 updates to p.v3.0.0, the head of the channel:
p.v2.0.0, which replaces it
p.v3.0.0, which replaces it
OLM v1
2 updates to p.v3.0.0, the head of the channel:
p.v2.0.0, which replaces it
p.v3.0.0, which replaces it
Both make the same updates.
Also in
d`)
	if got := p.classes("on-classic"); got != "v3.0.0 v2.0.0" {
		t.Errorf("on the path are %q", got)
	}
	if n := eval[int](p, `document.querySelectorAll("path.path").length`); n != 4 {
		t.Errorf("%d lines of paths, want 4", n)
	}
	p.click(0, 0)
	p.wantPanel(`p.v3.0.0
Version 3.0.0
Channel c of package p
head
OLM Classic
It is the head of the channel and stays.
OLM v1
It is the head of the channel and stays.
Both make the same updates.`)
	p.click(1, 0)
	p.wantPanel(`p.v2.0.0
Version 2.0.0
Channel d of package p
head
OLM Classic
The updates never end:
p.v1.0.0, whose skipRange holds it
p.v2.0.0, which replaces it
OLM v1
It is the head of the channel and stays.
The two differ.
Also in
c`)
	p.do(chromedp.Click(chromedp.CSS("#panel button")))
	if got := eval[string](p, `document.querySelector("[aria-pressed=true]").closest(".lane").querySelector(".channel").firstChild.data`); got != "c" {
		t.Errorf("a bundle of channel %q is selected, want c", got)
	}
	p.click(2, 0)
	p.wantPanel("p.v0.1.0\nVersion 0.1.0\nIn no channel of package p\nNo channel leads to this bundle.")

	p = openGraph(browser, t, catalogOf(t, "p", rejected))
	p.click(0, 2)
	const reason = `validating bundle "p.v2.0.0": bundle "p.v2.0.0" has a dependency declared via property "olm.constraint" ` +
		"which is currently not supported"
	if got := p.panel(); !strings.Contains(got, "1 update to p.v1.0.0, which is not the head of the channel:\np.v1.0.0, which replaces it\n"+
		"Then OLM reports: "+reason) {
		t.Errorf("the panel says\n%s", got)
	}
	p.click(0, 1)
	if got := p.panel(); !strings.Contains(got, "It gets no updates, as OLM reports: "+reason) || !strings.Contains(got, "The two differ.") {
		t.Errorf("the panel says\n%s", got)
	}

	p = openGraph(browser, t, catalogOf(t, "p", refused))
	p.click(0, 2)
	if got := p.panel(); !strings.Contains(got, "It gets no updates, as OLM Classic refuses the channel: a unique replacement chain") ||
		!strings.Contains(got, "1 update to p.v2.0.0, the head of the channel:") {
		t.Errorf("the panel says\n%s", got)
	}
}

func testGraphKeyboard(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, catalogOf(t, "p", differing))
	p.do(chromedp.Focus(chromedp.CSS("#zoom-fit")), chromedp.KeyEvent(kb.Tab))
	focused := func() string {
		return eval[string](p, `document.activeElement.querySelector(".label")?.textContent ?? document.activeElement.id`)
	}
	for _, tt := range []struct{ keys, want string }{
		{"", "v3.0.0"},
		{kb.ArrowDown + kb.ArrowDown, "v1.1.0"},
		{kb.ArrowUp, "v2.0.0"},
		{kb.End, "v0.9.0"},
		{kb.ArrowRight, "v1.0.0"}, // the last one of d
		{kb.ArrowRight + kb.ArrowRight, "v0.1.0"},
		{kb.ArrowLeft + kb.ArrowLeft + kb.Home, "v3.0.0"},
		{kb.ArrowDown + kb.Enter, "v2.0.0"},
	} {
		p.do(chromedp.KeyEvent(tt.keys))
		if got := focused(); got != tt.want {
			t.Errorf("%q leads to %s, want %s", tt.keys, got, tt.want)
		}
	}
	if got := p.panel(); !strings.HasPrefix(got, "p.v2.0.0\n") {
		t.Errorf("Enter selects\n%s", got)
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	if got := p.panel(); !strings.HasPrefix(got, "Where does it update to?\n") {
		t.Errorf("after Escape the panel says\n%s", got)
	}
	p.do(chromedp.KeyEvent("/"))
	if got := focused(); got != "query" {
		t.Errorf("/ leads to %s", got)
	}
	for _, expression := range []string{
		bundle(0, 0) + `.getAttribute("role") === "button"`,
		`document.querySelectorAll(".bundle[tabindex='0']").length === 1`,
		`panel.getAttribute("aria-live") === "polite"`,
	} {
		if !eval[bool](p, expression) {
			t.Errorf("false: %s", expression)
		}
	}
}

func testSearch(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, catalogOf(t, "p", differing))
	status := func() string { return eval[string](p, `document.getElementById("matches").textContent`) }
	query := chromedp.CSS("#query")
	p.do(chromedp.SendKeys(query, "V1.0"))
	if got, want := p.classes("match")+", "+status(), "v1.0.0 v1.0.0, 2 matches"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p.do(chromedp.SendKeys(query, kb.Enter+kb.Enter))
	if got := p.panel(); status() != "2 of 2" || !strings.Contains(got, "Channel d of package p") {
		t.Errorf("%s: the panel says\n%s", status(), got)
	}
	p.do(chromedp.SendKeys(query, ".nothing"))
	if got := p.classes("match") + status(); got != "0 matches" {
		t.Errorf("got %s", got)
	}
}

func testZoom(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, catalogOf(t, "p", graphtest.Dense(60)))
	full := eval[float64](p, `picture.getBoundingClientRect().height`)
	height := func() float64 { return eval[float64](p, `picture.getBoundingClientRect().height`) / full }
	within := func(got, want float64) bool { return got > want*0.98 && got < want*1.02 }
	p.do(chromedp.Click(chromedp.CSS("#zoom-in")))
	if got := height(); !within(got, 1.25) {
		t.Errorf("the button + makes %.2f of it", got)
	}
	p.do(chromedp.KeyEvent("--"))
	if got := height(); !within(got, 0.8) {
		t.Errorf("the key - twice makes %.2f of it", got)
	}
	p.do(chromedp.Click(chromedp.CSS("#zoom-fit")))
	if got := eval[bool](p, `view.scrollHeight <= view.clientHeight && view.scrollWidth <= view.clientWidth`); !got {
		t.Error("it does not fit")
	}
	p.do(chromedp.Click(chromedp.CSS("#zoom-reset")))
	const middle = `view.dispatchEvent(new WheelEvent("wheel", { deltaY: -100, ctrlKey: true, cancelable: true, clientX: 300, clientY: 400 }))`
	if prevented := !eval[bool](p, middle); !prevented || !within(height(), 1.4) {
		t.Errorf("the wheel makes %.2f of it; the page itself stays: %t", height(), prevented)
	}
	p.do(chromedp.Click(chromedp.CSS("#zoom-reset")))
	top := eval[float64](p, `view.scrollTop = 100`)
	p.do(chromedp.DragAndDropXY(300, 600, 300, 400))
	if moved := eval[float64](p, `view.scrollTop`) - top; moved != 200 {
		t.Errorf("dragging by 200 moves by %.0f", moved)
	}
	if n := eval[int](p, `document.querySelectorAll("[aria-pressed=true]").length`); n != 0 {
		t.Error("dragging selects")
	}
}

// testTextsFit checks that a text fits into its box, and does not overlap another text in it.
func testTextsFit(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, catalogOf(t, "p", strings.ReplaceAll(chain, "p.v", "wwwwMMMM@@%%.v"))+catalogOf(t, "q", ranges)+
		catalogOf(t, "r", "channel 🚀\n🚀🚀v1.0.0\niiiiiill.....v1.0.0\nQWERTYUIOPv1.0.0\nqwertyuiopasdfghjklzxcvbnmv1.0.0"))
	problems := eval[[]string](p, `[...document.querySelectorAll(".bundle, .badge")].flatMap((g) => {
		const box = g.querySelector("rect").getBBox();
		const texts = [...g.querySelectorAll(":scope > text, :scope > .badge > rect")];
		const spans = texts.map((e) => e.getBBox()).map((b) => [b.x, b.x + b.width]).sort((a, b) => a[0] - b[0]);
		const inside = spans.every(([from, to]) => from >= box.x && to <= box.x + box.width);
		const apart = spans.every(([from], i) => i === 0 || from >= spans[i - 1][1]);
		return inside && apart ? [] : [g.textContent + " " + JSON.stringify([box.x, box.x + box.width, ...spans])];
	})`)
	for _, problem := range problems {
		t.Errorf("texts do not fit: %s", problem)
	}
}

// testIndex checks that the index leads to a package, and that the legend stays visible, also in a narrow window.
func testIndex(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, catalogOf(t, "p", graphtest.Dense(60))+catalogOf(t, "q", chain)+catalogOf(t, "r", ranges))
	tops := func() string {
		return eval[string](p, `[...document.querySelectorAll(".package")].map((e) => {
			const top = e.getBoundingClientRect().top - view.getBoundingClientRect().top;
			return e.querySelector(".heading").firstChild.data + (top >= 0 && top < view.clientHeight ? " in view" : "");
		}).join(", ")`)
	}
	if got := tops(); got != "p in view, q, r" {
		t.Errorf("at first: %s", got)
	}
	p.do(chromedp.Focus(chromedp.CSS("#package")), chromedp.KeyEvent(kb.ArrowDown))
	if got := tops(); !strings.HasPrefix(got, "p, q in view") {
		t.Errorf("after going to q: %s", got)
	}
	const legendFits = `(() => { const r = document.querySelector(".legend").getBoundingClientRect();
		return r.top >= 0 && r.bottom < innerHeight && r.left >= 0 && r.right <= innerWidth &&
			document.querySelectorAll(".legend li").length === 9 &&
			[...document.querySelectorAll(".legend li")].every((e) => e.getBoundingClientRect().right <= innerWidth); })()`
	if !eval[bool](p, legendFits) {
		t.Error("the legend is not in view")
	}
	p.do(chromedp.EmulateViewport(400, 800))
	if !eval[bool](p, legendFits+` && document.documentElement.scrollWidth <= 400`) {
		t.Error("the page does not fit 400 px")
	}
}

// testDefaultChannel checks that the page opens at the default channel, wherever it is.
func testDefaultChannel(browser context.Context, t *testing.T) {
	var text strings.Builder
	text.WriteString("default channel39\n")
	for i := range 40 {
		fmt.Fprintf(&text, "channel channel%02d\n- p.v1.%d.0\n", i, i)
	}
	p := openGraph(browser, t, catalogOf(t, "p", text.String()))
	// It would not be in view without scrolling.
	p.until(`(() => { const r = document.querySelector(".badge.default").getBoundingClientRect(),
		frame = view.getBoundingClientRect();
		return view.scrollLeft > 0 && r.left >= frame.left && r.right <= frame.right; })()`)
	const current = `document.querySelector(".bundle[tabindex='0']").closest(".lane").querySelector(".channel").firstChild.data`
	if got := eval[string](p, current); got != "channel39" {
		t.Errorf("Tab leads to channel %s", got)
	}
}

func testHostileGraph(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, hostileCatalog(t))
	for i, name := range slices.Sorted(slices.Values(hostile)) {
		p.do(chromedp.Evaluate[chromedp.Void](bundle(i, 0) + `.dispatchEvent(new MouseEvent("click", { bubbles: true }))`))
		if got := eval[string](p, `document.querySelector("#panel h2").textContent`); got != name {
			t.Errorf("the panel is about %q, want %q", got, name)
		}
	}
}

func testLarge(browser context.Context, t *testing.T) {
	p := openGraph(browser, t, catalogOf(t, "p", graphtest.Dense(500)))
	if n := eval[int](p, `document.querySelectorAll(".bundle[role=button]").length`); n != 500 {
		t.Errorf("%d bundles", n)
	}
	p.do(chromedp.SendKeys(chromedp.CSS("#query"), "p.v1.0.0"+kb.Enter))
	if got := p.panel(); !strings.HasPrefix(got, "p.v1.0.0\n") || !strings.Contains(got, "updates to p.v1.499.0, the head of the channel:") {
		t.Errorf("the panel says\n%.300s", got)
	}
	if !eval[bool](p, `(() => { const r = document.querySelector("[aria-pressed=true]").getBoundingClientRect();
		return r.top > 0 && r.bottom < innerHeight })()`) {
		t.Error("what was found is not in view")
	}
}

// catalogOf returns the text of a catalog with the package that [graphtest.Package] reads from lines. Its bundles have the image
// example.com/NAME, where NAME is the name of the package.
func catalogOf(t testing.TB, name, lines string) string {
	t.Helper()
	p := graphtest.Package(t, name, lines)
	pkg := &declcfg.Package{Schema: declcfg.SchemaPackage, Name: name}
	for _, o := range p.Packages {
		pkg.DefaultChannel = o.Value.DefaultChannel
	}
	text := declcfg.JSON.Append(nil, pkg)
	for _, o := range p.Channels {
		o.Value.Schema, o.Value.Package = declcfg.SchemaChannel, name
		text = declcfg.JSON.Append(text, o.Value)
	}
	for _, o := range p.Bundles {
		b := &declcfg.Bundle{
			Schema: declcfg.SchemaBundle, Name: o.Value.Name, Package: name, Image: "example.com/" + name,
			Properties: []declcfg.Property{{
				Type:  declcfg.PropertyPackage,
				Value: fmt.Appendf(nil, `{"packageName":%q,"version":%q}`, name, o.Value.Version),
			}},
		}
		if d := o.Value.Dependency; d != "" {
			b.Properties = append(b.Properties, declcfg.Property{Type: d, Value: []byte("{}")})
		}
		if o.Value.Deprecated {
			b.Properties = append(b.Properties, declcfg.Property{Type: declcfg.PropertyDeprecated, Value: []byte("{}")})
		}
		text = declcfg.JSON.Append(text, b)
	}
	for _, o := range p.Deprecations {
		o.Value.Schema, o.Value.Package = declcfg.SchemaDeprecations, name
		if o.Value.Entries != nil {
			text = declcfg.JSON.Append(text, o.Value)
		}
	}
	return string(text)
}
