package test

import (
	"context"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"golang.org/x/net/html"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// TestSite checks the site of docs/: it builds it, follows its links, and views it in a browser.
func TestSite(t *testing.T) {
	if _, err := exec.LookPath("hugo"); err != nil {
		shared.Missing(t, "hugo")
	}
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "make", "-C", "..", "site", "SITE="+dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pages := readSite(t, dir)
	t.Run("pages", func(t *testing.T) {
		documents, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "docs/*.md").Output()
		if want := strings.Count(string(documents), "\n"); err != nil || len(pages) < want {
			t.Errorf("%d pages of %d documents, %v", len(pages), want, err)
		}
	})
	t.Run("links", func(t *testing.T) { testLinks(t, pages) })
	browser := startBrowser(t)
	t.Run("search", func(t *testing.T) { testSiteSearch(browser, t, dir) })
	t.Run("browser", func(t *testing.T) { testSiteInBrowser(browser, t, dir, slices.Sorted(maps.Keys(pages))) })
}

// A sitePage is a page of the site.
type sitePage struct {
	anchors map[string]bool
	links   []string
}

// readSite returns the pages of the site in a directory, by their path there.
func readSite(t *testing.T, dir string) map[string]sitePage {
	t.Helper()
	pages := map[string]sitePage{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".html" {
			return err
		}
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		root, err := html.Parse(f)
		if err != nil {
			return err
		}
		p := sitePage{anchors: map[string]bool{"": true}}
		for n := range root.Descendants() {
			for _, a := range n.Attr {
				switch {
				case a.Key == "id" && p.anchors[a.Val]:
					t.Errorf("%s has two elements with the id %q", name, a.Val)
				case a.Key == "id":
					p.anchors[a.Val] = true
				case a.Key == "href" && n.Data == "a":
					p.links = append(p.links, a.Val)
				}
			}
		}
		pages[name] = p
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// testLinks checks every link to a page of the site or to a file of the repository. Every page must have a link to it.
func testLinks(t *testing.T, pages map[string]sitePage) {
	const files = "https://github.com/opm-toolchain/opm/blob/main/"
	linked := map[string]bool{"index.html": true}
	for name, p := range pages {
		for _, link := range p.links {
			target, anchor, _ := strings.Cut(link, "#")
			if file, ok := strings.CutPrefix(target, files); ok {
				if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(file))); err != nil {
					t.Errorf("%s: link to a file that does not exist: %v", name, err)
				}
				continue
			}
			if strings.Contains(target, ":") {
				continue // elsewhere
			}
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if strings.HasSuffix(target, "/") {
				to = path.Join(to, "index.html")
			}
			if !pages[to].anchors[anchor] {
				t.Errorf("%s: dead link %s", name, link)
			}
			if to != name {
				linked[to] = true
			}
		}
	}
	for name := range pages {
		if !linked[name] {
			t.Errorf("no page links to %s", name)
		}
	}
}

// testSiteInBrowser checks that no page is too wide in a narrow window, and takes screenshots of some.
func testSiteInBrowser(browser context.Context, t *testing.T, dir string, pages []string) {
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	p := openTab(browser, t, server.URL, func(url string) bool {
		return strings.HasPrefix(url, server.URL) || strings.HasPrefix(url, "data:")
	})
	p.do(chromedp.EmulateViewport(400, 800))
	for _, name := range pages {
		p.do(chromedp.Navigate(server.URL + "/" + name))
		if width := eval[int](p, `document.documentElement.scrollWidth`); width > 400 {
			t.Errorf("%s is %d px wide", name, width)
		}
		if background := eval[string](p, `getComputedStyle(document.body).backgroundColor`); background == "rgba(0, 0, 0, 0)" {
			t.Errorf("%s has no style", name)
		}
		p.picture("site-" + strings.ReplaceAll(name, "/", "-"))
	}
}

// testSiteSearch checks that the pages can be searched without a server, from a page in a folder.
func testSiteSearch(browser context.Context, t *testing.T, dir string) {
	site := "file://" + filepath.ToSlash(dir)
	p := openTab(browser, t, site+"/tasks/mirror.html", func(url string) bool {
		return strings.HasPrefix(url, site) || strings.HasPrefix(url, "data:")
	})
	field := chromedp.CSS("#site-search")
	p.do(chromedp.SendKeys(field, "deprecate version"))
	p.until(`document.querySelector("#site-found a")?.innerText.startsWith("Deprecate")`)
	p.picture("site-search")
	p.do(chromedp.SendKeys(field, " xyzzy"))
	p.until(`document.querySelector("#site-found").innerText === "No page has all of these words."`)
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#site-search").value = ""`))
	p.do(chromedp.SendKeys(field, "ImageDigestMirrorSet"))
	p.until(`document.querySelector("#site-found a") !== null`)
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#site-found a").click()`))
	// There is no body yet while the next page is loaded.
	p.until(`document.querySelector("#site-found")?.hidden === true && document.body.innerText.includes("ImageDigestMirrorSet")`)
}
