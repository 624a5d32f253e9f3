package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/legible"
)

// A request is a GET request.
type request struct {
	path   string // below the address of the API server
	query  url.Values
	accept string

	silence time.Duration // the time in which the answer may have no byte, besides that of the options
}

// pageSize is the number of objects of a page, as kubectl asks for.
const pageSize = 500

// The types of answers.
const (
	asJSON    = "application/json"
	asPartial = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	// asPartialObject is the type for the events of a watch.
	asPartialObject = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// request returns the request for a page of a list. The path has only names from the table, of definitions or of
// objects, which are escaped.
func (k kind) request(version, namespace, token string) request {
	elements := []string{"apis", k.group, version}
	if k.group == "" {
		elements = []string{"api", version}
	}
	if namespace != "" {
		elements = append(elements, "namespaces", namespace)
	}
	r := request{accept: asJSON, query: url.Values{"limit": {strconv.Itoa(pageSize)}}}
	for _, e := range append(elements, k.resource) {
		r.path += "/" + url.PathEscape(e)
	}
	if k.selector != "" {
		r.query.Set("labelSelector", k.selector)
	}
	if token != "" {
		r.query.Set("continue", token)
	}
	if k.partial {
		r.accept = asPartial
	}
	return r
}

// A statusError is the answer of an API server that refuses a request.
type statusError struct {
	code    int
	message string
	next    string        // the token that continues an expired list, "" if there is none
	after   time.Duration // the time to wait before the request is repeated; -1 means not to repeat it
}

func (e *statusError) Error() string {
	return cmp.Or(e.message, fmt.Sprintf("%d %s", e.code, http.StatusText(e.code)))
}

// isGap reports whether other requests may succeed.
func (e *statusError) isGap() bool { return e.code != http.StatusUnauthorized }

// The limits of repeated requests.
const (
	maxAttempts = 6
	maxWait     = time.Minute // a longer Retry-After is an error
	maxBody     = 1 << 20     // of an error
)

// get sends a request and calls use with the body of the answer. It repeats requests that the API server asks to
// repeat, and those whose answer breaks off. The error may be a *statusError.
func (r *reader) get(ctx context.Context, q request, use func(body io.Reader) error) error {
	for attempt := 1; ; attempt++ {
		err := r.once(ctx, q, use)
		wait, again := delay(err, attempt)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !again || attempt == maxAttempts:
			return err
		}
		if err := r.opts.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// delay returns the time to wait after an error, and whether to repeat the request.
func delay(err error, attempt int) (time.Duration, bool) {
	backoff := 100 * time.Millisecond << attempt
	if refused, ok := errors.AsType[*statusError](err); ok {
		if refused.after > maxWait || refused.after < 0 {
			return 0, false
		}
		return cmp.Or(refused.after, backoff), true
	}
	_, broken := errors.AsType[*brokenError](err)
	return backoff, broken
}

// A brokenError is the error of an answer that breaks off.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

func breaksOff(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &brokenError{fmt.Errorf("the answer breaks off: %w", err)}
}

var errIdle = errors.New("the API server sends nothing")

// once sends a request once.
func (r *reader) once(ctx context.Context, q request, use func(body io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := r.opts.Idle + q.silence
	idle := time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w for %v", errIdle, limit)) })
	defer idle.Stop()
	target := r.base.JoinPath(q.path)
	target.RawQuery = q.query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", cmp.Or(q.accept, asJSON))
	resp, err := r.client.Do(req)
	if err = withCause(ctx, err); errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return breaksOff(err)
	} else if err != nil {
		return err
	}
	defer resp.Body.Close()
	body := &watched{r: resp.Body, progress: func() { idle.Reset(limit) }}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp, body)
	}
	err = use(body)
	if tooLarge, ok := errors.AsType[*limitError](err); ok {
		return tooLarge
	}
	if body.err != nil && !errors.Is(body.err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return breaksOff(withCause(ctx, cmp.Or(body.err, err)))
	}
	return err
}

// withCause returns the reason why a request was cancelled, or err.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errIdle) {
		return cause
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // its address has the continue token
		return e.Err
	}
	return err
}

// A watched reader reports progress, and keeps the error.
type watched struct {
	r        io.Reader
	progress func()
	err      error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if n > 0 {
		w.progress()
	}
	if err != nil {
		w.err = err
	}
	return n, err
}

// refusal returns the error of an answer other than 200.
func refusal(resp *http.Response, body io.Reader) error {
	raw, _ := io.ReadAll(io.LimitReader(body, maxBody)) // the status is enough
	var status metav1.Status
	if json.Unmarshal(raw, &status, jsonv1Options) != nil {
		status = metav1.Status{}
	}
	refused := refusalOf(resp.StatusCode, &status)
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 32); err == nil && refused.after == 0 {
		refused.after = time.Duration(seconds) * time.Second
	}
	return refused
}

// refusalOf returns the error of a status.
func refusalOf(code int, status *metav1.Status) *statusError {
	refused := &statusError{
		code: code, message: legible.Text(legible.Message(status.Message)), next: status.Continue, after: -1,
	}
	switch code {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		refused.after = 0
	}
	return refused
}
