package web

import (
	"io"
	"net/http"
)

// healthz answers that the process lives.
func (*handler) healthz(w http.ResponseWriter, _ *http.Request) { probe(w, http.StatusOK, "ok\n") }

// readyz answers whether catalogs are served.
func (h *handler) readyz(w http.ResponseWriter, _ *http.Request) {
	if !h.isReady() {
		probe(w, http.StatusServiceUnavailable, "not ready\n")
		return
	}
	probe(w, http.StatusOK, "ok\n")
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
