package console

import (
	"io"
	"net/http"
)

// Transfers returns a transport that counts the bytes received from registries and sent to them, for the work started
// last. It is next itself if no progress is shown.
func (d Display) Transfers(next http.RoundTripper) http.RoundTripper {
	if !d.OnTerminal() {
		return next
	}
	return countingTransport{next, func(n int) { d.work().Downloaded(n) }, func(n int) { d.work().Uploaded(n) }}
}

// A countingTransport counts the bytes of the bodies of responses and requests.
type countingTransport struct {
	http.RoundTripper
	received, sent func(int)
}

func (t countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		body := countingBody{r.Body, t.sent}
		r = r.Clone(r.Context())
		r.Body = body
	}
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = countingBody{response.Body, t.received}
	}
	return response, err
}

type countingBody struct {
	io.ReadCloser
	count func(int)
}

func (b countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.count(n)
	return n, err
}
