package main

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	runtimepprof "runtime/pprof"
	"sync"
	"time"
)

// defaultPprofAddr is the address at which upstream serves profiles.
const defaultPprofAddr = "localhost:6060"

// pprofTimeout is the timeout for reading a request and for writing the response, as in upstream.
const pprofTimeout = 10 * time.Second

// profiles serve profiles of the program over HTTP.
type profiles struct {
	server *http.Server
	ended  chan struct{}

	mu       sync.Mutex
	starting bool
	recorded bytes.Buffer // the CPU profile of the start
}

// startProfiles serves profiles at addr unless it is "", and records a CPU profile of the start if capture is set.
func startProfiles(addr string, capture bool, log *slog.Logger) (*profiles, error) {
	if addr == "" && capture {
		addr = defaultPprofAddr
	}
	p := &profiles{starting: true}
	if addr == "" {
		return p, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if capture {
		if err := runtimepprof.StartCPUProfile(&p.recorded); err != nil {
			l.Close()
			return nil, err
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/debug/pprof/startup/cpu", p.startup)
	p.server = &http.Server{Handler: mux, ReadTimeout: pprofTimeout, WriteTimeout: pprofTimeout}
	p.ended = make(chan struct{})
	log.Info("serving profiles", "address", l.Addr().String())
	go func() {
		defer close(p.ended)
		if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("profiling server stopped", "reason", err)
		}
	}()
	return p, nil
}

// startup responds with the profile of the start, which is empty if no profile was recorded.
func (p *profiles) startup(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starting {
		http.Error(w, "the catalog is still being loaded", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(p.recorded.Bytes()) //nolint:errcheck // it fails only if the client has disconnected
}

// started ends the profile of the start.
func (p *profiles) started() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.starting {
		runtimepprof.StopCPUProfile() // does nothing if there is none
		p.starting = false
	}
}

func (p *profiles) close() {
	p.started()
	if p.server != nil {
		p.server.Close()
		<-p.ended
	}
}
