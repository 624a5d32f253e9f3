package image

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	gcr "github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// errNotStored is wrapped by errors about content that a registry claims to have stored, but has not.
var errNotStored = errors.New("not stored")

// A confirmTransport verifies that a registry has stored an upload. The digest in the response must match the
// content, and each manifest put by digest must exist afterwards. It is below the login of go-containerregistry, so
// that this check uses the token of the upload and costs one request.
type confirmTransport struct {
	inner  http.RoundTripper
	digest v1.Hash      // of the image, for puts by tag
	puts   atomic.Int64 // number of manifests put, by digest or tag
}

func (t *confirmTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.inner.RoundTrip(r)
	if err != nil || r.Method != http.MethodPut || resp.StatusCode/100 != 2 {
		return resp, err
	}
	if err := t.confirm(r, resp); err != nil {
		discard(resp)
		return nil, err
	}
	return resp, nil
}

// confirm checks the response to the upload of a blob or a manifest.
func (t *confirmTransport) confirm(r *http.Request, resp *http.Response) error {
	if digest := r.URL.Query().Get("digest"); digest != "" {
		return sameDigest(resp, digest)
	}
	if path.Base(path.Dir(r.URL.Path)) != "manifests" {
		return nil
	}
	t.puts.Add(1)
	digest := path.Base(r.URL.Path)
	if _, err := v1.NewHash(digest); err != nil {
		return sameDigest(resp, t.digest.String())
	}
	if err := sameDigest(resp, digest); err != nil {
		return err
	}
	return t.find(r, resp.Status, digest)
}

// find checks that the manifest put by r exists.
func (t *confirmTransport) find(r *http.Request, said, digest string) error {
	head := r.Clone(r.Context())
	head.Method, head.Body, head.GetBody, head.ContentLength = http.MethodHead, nil, nil, 0
	head.Header.Set("Accept", head.Header.Get("Content-Type"))
	head.Header.Del("Content-Type")
	resp, err := t.inner.RoundTrip(head)
	if err != nil {
		return err
	}
	defer discard(resp)
	switch resp.StatusCode {
	case http.StatusOK:
		return sameDigest(resp, digest)
	case http.StatusUnauthorized, http.StatusForbidden: // some users may push but not pull
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("%w: it answers %s to the manifest %s, and then %s", errNotStored, said, digest, resp.Status)
	}
	return gcr.CheckError(resp, http.StatusOK)
}

// sameDigest returns an error if the response contains another digest of the content. A digest with another algorithm
// is ignored.
func sameDigest(resp *http.Response, want string) error {
	said := resp.Header.Get("Docker-Content-Digest")
	algorithm, _, _ := strings.Cut(want, ":")
	if said == want || !strings.HasPrefix(said, algorithm+":") {
		return nil
	}
	return fmt.Errorf("%w: it has the digest %s, not %s", errNotStored, printable(said), want)
}
