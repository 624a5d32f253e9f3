package web

import (
	"io"
	"net/http"
)

// readyz answers whether catalogs are served and, with the parameter verbose, reports the state of each.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) {
	code, text := http.StatusOK, "ok\n"
	if !h.Ready() {
		code, text = http.StatusServiceUnavailable, "not ready\n"
	}
	if r.URL.Query().Has("verbose") && h.Notes != nil {
		for _, note := range h.Notes() {
			text += note + "\n"
		}
	}
	probe(w, code, text)
}

func probe(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	io.WriteString(w, text) //nolint:errcheck // an error means that the client is gone
}
