package web

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// precondition returns the status that the conditions of a request lead to, 304 or 412, or 0 to continue.
// The tag is "" and the time zero if there is none. A date that cannot be parsed is ignored, and so is an empty
// condition.
//
// The status is the one of http.ServeContent for an empty answer. That function cannot send the real answer, whose size
// is not known if it is compressed while it is sent.
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
