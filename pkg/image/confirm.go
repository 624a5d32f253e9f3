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

// errNotStored is in the chain of errors about content that a registry says it has stored, but has not.
var errNotStored = errors.New("not stored")

// A confirmTransport checks what a registry says that it has stored. The digest that it answers to an upload must be
// that of the content, and each manifest that is put by digest must be there afterwards. It is below the library's
// login, so that the question carries the token of the upload and costs one request.
type confirmTransport struct {
	inner  http.RoundTripper
	digest v1.Hash      // of the image, for tags
	puts   atomic.Int64 // manifests and tags that were put
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

// confirm checks the answer to a request that put a blob or a manifest.
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

// find asks for the manifest that r has put.
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
	case http.StatusUnauthorized, http.StatusForbidden: // some users may only push
		return nil
	case http.StatusNotFound:
		return fmt.Errorf("%w: it answers %s to the manifest %s, and then %s", errNotStored, said, digest, resp.Status)
	}
	return gcr.CheckError(resp, http.StatusOK)
}

// sameDigest returns an error if the answer says that the content has another digest. A digest of another algorithm
// says nothing.
func sameDigest(resp *http.Response, want string) error {
	said := resp.Header.Get("Docker-Content-Digest")
	algorithm, _, _ := strings.Cut(want, ":")
	if said == want || !strings.HasPrefix(said, algorithm+":") {
		return nil
	}
	return fmt.Errorf("%w: it has the digest %s, not %s", errNotStored, printable(said), want)
}
