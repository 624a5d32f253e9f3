package draw

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// between returns the text between two markers.
func between(t testing.TB, text, before, after string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, before)
	between, _, ok2 := strings.Cut(rest, after)
	if !ok || !ok2 {
		t.Fatalf("there is no %q … %q", before, after)
	}
	return between
}

// differing has different updates in OLM Classic and OLM v1. In channel c: v1 ──► v2 ──► v3, where v3 also skips v1.1,
// which OLM Classic does not offer. In channel d, the range of v2.0.0 includes its own version.
const differing = `
	default c
	channel c
	p.v3.0.0 replaces p.v2.0.0 skips p.v1.1.0
	p.v2.0.0 replaces p.v1.0.0
	p.v1.1.0 replaces p.v1.0.0 range >=0.1.0 <1.1.0
	p.v1.0.0 replaces p.v0.9.0
	channel d
	p.v2.0.0 replaces p.v1.0.0 range >=1.0.0
	p.v1.0.0
	bundle p.v0.1.0`

// updatesOf returns the updates on the HTML page of a package, with a line for each bundle of a lane.
func updatesOf(t *testing.T, lines string) []string {
	t.Helper()
	text := between(t, write(t, HTML, Options{}, packageOf(t, "p", lines)), `id="fates">`, "</script>")
	var lanes []laneUpdates
	if err := json.Unmarshal([]byte(text), &lanes); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lanes {
		for i, b := range l.Bundles {
			tell := func(s *nextStep) string {
				switch {
				case s == nil:
					return "stays"
				case s.Error != "":
					return s.Error
				}
				return fmt.Sprintf("%s to %s", s.By, l.Bundles[s.To].Name)
			}
			got = append(got, fmt.Sprintf("%s %s: %s; %s", l.Channel, b.Name, tell(l.Classic[i]), tell(l.V1[i])))
		}
	}
	return got
}

func TestPageUpdates(t *testing.T) {
	got := updatesOf(t, differing)
	want := []string{
		"c p.v3.0.0: stays; stays",
		"c p.v2.0.0: replaces to p.v3.0.0; replaces to p.v3.0.0",
		"c p.v1.1.0: skips to p.v3.0.0; skips to p.v3.0.0",
		"c p.v1.0.0: replaces to p.v2.0.0; replaces to p.v2.0.0",
		"c p.v0.9.0: replaces to p.v1.0.0; replaces to p.v1.0.0",
		"d p.v2.0.0: stays; stays",
		"d p.v1.0.0: replaces to p.v2.0.0; replaces to p.v2.0.0",
		" p.v0.1.0: stays; stays",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestPageUpdatesWithErrors(t *testing.T) {
	//nolint:dupword // a table
	got := updatesOf(t, "channel c\nv2 replaces v1\nv1\nrequires v2 olm.constraint\nprohibited v2\n"+
		"channel two heads\nv2\nv1")
	const (
		rejected = `validating bundle "v2": bundle "v2" has a dependency declared via property "olm.constraint" which is ` +
			"currently not supported"
		prohibited = "constraints not satisfiable: bundle v2 is deprecated (it has the property olm.deprecated), " +
			"and nothing else can be installed"
	)
	want := []string{
		"c v2: " + prohibited + "; " + rejected,
		"c v1: stays; " + rejected,
		"two heads v2: stays; " + rejected, // the lane reports that OLM Classic rejects the channel
		"two heads v1: stays; stays",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPolicy checks that the page allows its own script and style, and nothing else. TestGraphPage of the test module
// checks that a browser agrees.
func TestPolicy(t *testing.T) {
	page := write(t, HTML, Options{}, packageOf(t, "p", differing))
	policy := html.UnescapeString(between(t, page, `Content-Security-Policy" content="`, `">`))
	for _, want := range []string{
		"default-src 'none'",
		"script-src '" + hash(between(t, page, "<script>", "</script>")) + "'",
		"style-src '" + hash(between(t, page, "<style>", "</style>")) + "'",
	} {
		if !slices.Contains(strings.Split(policy, "; "), want) {
			t.Errorf("policy %q lacks %s", policy, want)
		}
	}
	page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "")
	if found := regexp.MustCompile(`(?i)(https?:|//[a-z]|\ssrc=|href=|url\(|@import|\sstyle=|\son[a-z]+=)`).FindString(page); found != "" {
		t.Errorf("the page refers to something: %q", found)
	}
}

func TestPageEscaping(t *testing.T) {
	plain := write(t, HTML, Options{}, packageOf(t, "p", "channel c\nv1.0.0"))
	for _, name := range hostile {
		p := packageOf(t, name, "channel c\nv1.0.0")
		p.Channels[0].Name, p.Bundles[0].Name = name, name
		page := write(t, HTML, Options{}, p)
		for _, tag := range []string{"<script", "</script", "<style", "</style", "<!--", "<b>"} {
			if got, want := strings.Count(page, tag), strings.Count(plain, tag); got != want {
				t.Errorf("%q: %d times %s, want %d", name, got, tag, want)
			}
		}
	}
}
