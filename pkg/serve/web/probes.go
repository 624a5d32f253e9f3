package web

import (
	"io"
	"net/http"
)

// healthz answers that the process lives.
func (*handler) healthz(w http.ResponseWriter, _ *http.Request) { probe(w, http.StatusOK, "ok\n") }

// readyz answers whether catalogs are served and, with the parameter verbose, reports the state of each.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) {
	code, text := http.StatusOK, "ok\n"
	if !h.isReady() {
		code, text = http.StatusServiceUnavailable, "not ready\n"
	}
	if r.URL.Query().Has("verbose") && h.Notes != nil {
		for _, note := range h.Notes() {
			text += note + "\n"
		}
	}
	probe(w, code, text)
}

func (h *handler) isReady() bool {
	if h.Ready != nil {
		return h.Ready()
	}
	catalogs, release := h.Acquire()
	defer release()
	return len(catalogs) > 0
}

func probe(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, text) //nolint:errcheck // the client is gone then
}
