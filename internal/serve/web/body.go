package web

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/opm-toolchain/opm/internal/serve/store"
)

// minCompressed is the minimum size in bytes of a body that is compressed, as in catalogd.
const minCompressed = 1024

// A body is the content of a response, with its metadata.
type body struct {
	contentType string
	tag         string    // see [Catalog].Tag
	modified    time.Time // see [Catalog].Modified
	size        int64     // in bytes
	write       func(io.Writer) error
	memory      int                  // bytes that write and seeker use
	seeker      func() io.ReadSeeker // of the same bytes; nil if ranges are not supported

	stored map[coding]*store.Reader // the same content in the codings that the store has
}

// respond sends a body, or only its headers, or the status that a condition of the request requires.
func (h *handler) respond(w http.ResponseWriter, r *http.Request, b body) {
	code := b.codingFor(r)
	header := w.Header()
	if b.seeker != nil && code == identity {
		header.Set("Accept-Ranges", "bytes")
	}
	header.Set("Cache-Control", "no-cache") // clients may cache it, but must revalidate it
	if tag := b.tagIn(code); tag != "" {
		header.Set("ETag", tag)
	}
	if !b.modified.IsZero() {
		header.Set("Last-Modified", b.modified.UTC().Format(http.TimeFormat))
	}
	if status := precondition(r, header.Get("ETag"), b.modified); status != 0 {
		w.WriteHeader(status)
		return
	}
	header.Set("Content-Type", b.contentType)
	if stored := b.stored[code]; stored != nil {
		b.memory = connBytes + stored.FrameSize()
	}
	if b.memory > 0 && r.Method != http.MethodHead {
		resize, err := h.Memory(r, b.memory)
		if err != nil { // the client is gone
			return
		}
		defer resize(0)
	}
	if b.seeker != nil && r.Header.Get("Range") != "" {
		h.respondRange(w, r, b)
		return
	}
	h.send(w, r, b, code)
}

// codingFor returns the coding to send a body in: zstd if the client accepts it, else gzip, as catalogd chooses. Ranges
// refer to the uncompressed content.
func (b *body) codingFor(r *http.Request) coding {
	if b.size < minCompressed || b.seeker != nil && r.Header.Get("Range") != "" {
		return identity
	}
	accepted := r.Header.Values("Accept-Encoding")
	for _, c := range []coding{zstdCoding, gzipCoding} {
		if accepts(accepted, c) {
			return c
		}
	}
	return identity
}

// tagIn returns the ETag of a body in a coding, "" for none. It is strong if the same bytes are sent each time.
func (b *body) tagIn(code coding) string {
	switch {
	case b.tag == "":
		return ""
	case code == identity:
		return `"` + b.tag + `"`
	case b.stored[code] != nil:
		return `"` + b.tag + "-" + string(code) + `"`
	}
	return `W/"` + b.tag + "-" + string(code) + `"`
}

func (h *handler) send(w http.ResponseWriter, r *http.Request, b body, code coding) {
	header := w.Header()
	write, stored := b.write, b.stored[code]
	switch {
	case stored != nil:
		header.Set("Content-Encoding", string(code))
		header.Set("Content-Length", strconv.FormatInt(stored.Size(), 10))
		write = copyOf(stored)
	case code != identity && (r.Method == http.MethodHead || h.encoders.slots.TryAcquire(1)):
		header.Set("Content-Encoding", string(code))
		write = func(w io.Writer) error { return h.encoders.encode(w, code, b.write) }
		if r.Method != http.MethodHead {
			defer h.encoders.slots.Release(1)
		}
	default:
		if tag := b.tagIn(identity); tag != "" {
			header.Set("ETag", tag)
		}
		header.Set("Content-Length", strconv.FormatInt(b.size, 10))
	}
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	err := write(w)
	if out, ok := w.(*response); ok && out.lost != nil {
		return // the client is gone, or too slow
	}
	if err != nil {
		h.fail(w, err)
	}
}

// respondRange sends the requested ranges of a body. The other conditions are met.
func (h *handler) respondRange(w http.ResponseWriter, r *http.Request, b body) {
	content := &errorReader{ReadSeeker: b.seeker()}
	asked := &http.Request{Method: r.Method, Header: http.Header{}}
	for _, name := range []string{"Range", "If-Range"} {
		asked.Header.Set(name, r.Header.Get(name))
	}
	http.ServeContent(w, asked, "", b.modified, content)
	if content.err != nil {
		h.fail(w, content.err)
	}
}

// errorReader records the error of a reader, which http.ServeContent does not return.
type errorReader struct {
	io.ReadSeeker
	err error
}

func (r *errorReader) Read(p []byte) (int, error) {
	n, err := r.ReadSeeker.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// precondition returns the status that the conditions of a request require, 304 or 412, or 0 to continue. tag is "" and
// modified is zero if the body has none. A date that cannot be parsed is ignored, and so is an empty condition.
//
// The status is the one of http.ServeContent for an empty body. That function cannot send the real body, whose size is
// not known if it is compressed while it is sent.
func precondition(r *http.Request, tag string, modified time.Time) int {
	asked := &http.Request{Method: r.Method, Header: http.Header{}}
	for _, name := range []string{"If-Match", "If-None-Match"} {
		tags := slices.DeleteFunc(slices.Clone(r.Header.Values(name)), func(tag string) bool { return tag == "" })
		asked.Header.Set(name, strings.Join(tags, ", "))
	}
	for _, name := range []string{"If-Unmodified-Since", "If-Modified-Since"} {
		asked.Header.Set(name, r.Header.Get(name))
	}
	w := statusWriter{header: http.Header{"Etag": {tag}, "Content-Type": {""}}}
	http.ServeContent(&w, asked, "", modified, strings.NewReader(""))
	if w.status == http.StatusOK {
		return 0
	}
	return w.status
}

type statusWriter struct {
	header http.Header
	status int
}

func (w *statusWriter) Header() http.Header         { return w.header }
func (w *statusWriter) WriteHeader(status int)      { w.status = status }
func (w *statusWriter) Write(p []byte) (int, error) { return len(p), nil }
