package image

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/plural"
)

// The maximum number of pages of a list of referrers, and of their bytes.
const (
	maxPages     = 100
	maxReferrers = 16 << 20
)

// nextPage matches the link to the next page of a list, see RFC 8288.
var nextPage = regexp.MustCompile(`<([^>]*)>\s*;\s*rel="?next"?`)

// referrers requests all pages of a list of referrers and returns them as one, because go-containerregistry reads the
// first one only. See https://github.com/opencontainers/distribution-spec/blob/main/spec.md#listing-referrers.
func (t *registryTransport) referrers(r *http.Request) (*http.Response, error) {
	first, err := t.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	first.Body = t.bounded(first, "the list of referrers")
	link := nextPage.FindStringSubmatch(first.Header.Get("Link"))
	if first.StatusCode != http.StatusOK || link == nil {
		return first, nil
	}
	index, manifests, err := readReferrers(first)
	size := len(index["manifests"])
	for n := 1; err == nil && link != nil; n++ {
		if n == maxPages || size > maxReferrers {
			return nil, limitError("a list of referrers has more than %d pages or %s", maxPages, plural.Bytes(maxReferrers))
		}
		var more []jsontext.Value
		if more, link, err = t.nextReferrers(r, link[1]); err == nil {
			manifests = append(manifests, more...)
			for _, m := range more {
				size += len(m)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list of referrers: %w", err)
	}
	if index["manifests"], err = json.Marshal(manifests); err != nil {
		return nil, err
	}
	text, err := json.Marshal(index, json.Deterministic(true))
	first.Body, first.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return first, err
}

// nextReferrers returns the manifests of the page at a link, and the match of the link to the page after it, if any.
func (t *registryTransport) nextReferrers(r *http.Request, link string) ([]jsontext.Value, []string, error) {
	to, err := r.URL.Parse(link)
	if err != nil {
		return nil, nil, err
	}
	next := r.Clone(r.Context())
	next.URL = &url.URL{Scheme: r.URL.Scheme, Host: r.URL.Host, Path: to.Path, RawQuery: to.RawQuery}
	resp, err := t.inner.RoundTrip(next)
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode != http.StatusOK {
		discard(resp)
		return nil, nil, fmt.Errorf("the registry answers %s to a page", resp.Status)
	}
	resp.Body = t.bounded(resp, "the list of referrers")
	_, manifests, err := readReferrers(resp)
	return manifests, nextPage.FindStringSubmatch(resp.Header.Get("Link")), err
}

// readReferrers reads a page, and returns its members and its manifests.
func readReferrers(resp *http.Response) (index map[string]jsontext.Value, manifests []jsontext.Value, err error) {
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(text, &index)
	}
	if list := index["manifests"]; err == nil && list != nil {
		err = json.Unmarshal(list, &manifests)
	}
	return index, manifests, err
}
