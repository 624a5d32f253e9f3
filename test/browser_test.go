package test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// patience is the timeout for events that are immediate on an idle machine.
const patience = 2 * time.Minute

// startBrowser starts a browser and stops it with the test. It skips the test if there is no Chromium, and of a sample.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	if !shared.Full() {
		t.Skip("a browser takes long to start")
	}
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		shared.Missing(t, "Chromium")
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program),
		chromedp.DisableGPU, chromedp.WindowSize(1200, 800), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(patience))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // starts it
		t.Fatalf("start %s: %v", program, err)
	}
	return ctx
}

// A tab is an open page. It fails its test if the page logs to the console, or requests anything from elsewhere.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// openTab opens a page, which may request only addresses that own accepts.
func openTab(browser context.Context, t *testing.T, url string, own func(url string) bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &tab{t, ctx}
	p.do(chromedp.Navigate("about:blank"))
	p.watch(own)
	p.do(chromedp.Navigate(url))
	return p
}

// watch collects console messages and requests from now on, and checks them at the end of the test.
func (p *tab) watch(own func(url string) bool) {
	var mu sync.Mutex
	var foreign []string
	err := chromedp.Listen(p.ctx, func(event any) {
		r, ok := event.(*network.EventRequestWillBeSent)
		if ok && !own(r.Request.URL) {
			mu.Lock()
			defer mu.Unlock()
			foreign = append(foreign, r.Request.URL)
		}
	})
	if err != nil {
		p.t.Fatal(err)
	}
	messages := chromedp.Console(p.ctx)
	p.t.Cleanup(func() {
		p.do(chromedp.Evaluate[chromedp.Void](`console.log("the end")`))
		for m, err := range messages {
			if err != nil {
				p.t.Fatal(err)
			}
			if m.Text == "the end" {
				break
			}
			p.t.Errorf("console: %s", m.Text)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(foreign) > 0 {
			p.t.Errorf("the page requests %q", foreign)
		}
	})
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// eval returns the value of an expression.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// leftPage is the code of the error of an expression whose page is left meanwhile.
const leftPage = -32000

// until waits for an expression to be true, on this page or on one that it leads to.
func (p *tab) until(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(25 * time.Millisecond) {
		holds, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool](expression))
		if e, ok := errors.AsType[*cdproto.Error](err); err != nil && (!ok || e.Code != leftPage) {
			p.t.Fatalf("%s: %v", expression, err)
		}
		if holds {
			return
		}
	}
	p.t.Fatalf("still false: %s; the page shows\n%s", expression, p.text("body"))
}

// text returns the text of an element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, fmt.Sprintf(`document.querySelector(%q)?.innerText ?? ""`, selector))
}

// picture writes a screenshot to a file in the directory OPM_PICTURES, for people to look at.
func (p *tab) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("OPM_PICTURES")
	if dir == "" {
		return
	}
	data, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
