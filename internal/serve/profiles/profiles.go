// Package profiles serves profiles of a program over HTTP, with one of its start.
//
//	server, err := profiles.Start("localhost:6060", true, log)
package profiles

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

// DefaultAddr is the address at which upstream serves profiles.
const DefaultAddr = "localhost:6060"

// timeout is the timeout for reading a request and for writing the response, as in upstream.
const timeout = 10 * time.Second

// A Server serves profiles of the program.
type Server struct {
	server *http.Server
	ended  chan struct{}

	mu       sync.Mutex
	starting bool
	recorded bytes.Buffer // the CPU profile of the start
}

// Start serves profiles at addr unless it is "", and records a CPU profile of the start if capture is set: at
// DefaultAddr if addr is "". The log has the address, and the error that ends the server. The caller must close the
// Server.
func Start(addr string, capture bool, log *slog.Logger) (*Server, error) {
	if addr == "" && capture {
		addr = DefaultAddr
	}
	s := &Server{starting: true}
	if addr == "" {
		return s, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	if capture {
		if err := runtimepprof.StartCPUProfile(&s.recorded); err != nil {
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
	mux.HandleFunc("/debug/pprof/startup/cpu", s.startup)
	s.server = &http.Server{Handler: mux, ReadTimeout: timeout, WriteTimeout: timeout}
	s.ended = make(chan struct{})
	log.Info("serving profiles", "address", l.Addr().String())
	go func() {
		defer close(s.ended)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("profiling server stopped", "reason", err)
		}
	}()
	return s, nil
}

// startup responds with the profile of the start, which is empty if no profile was recorded.
func (s *Server) startup(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting {
		http.Error(w, "the catalog is still being loaded", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(s.recorded.Bytes()) //nolint:errcheck // it fails only if the client has disconnected
}

// Started ends the profile of the start. It can be called more than once.
func (s *Server) Started() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting {
		runtimepprof.StopCPUProfile() // does nothing if there is none
		s.starting = false
	}
}

// Close ends the profile of the start, and stops serving.
func (s *Server) Close() {
	s.Started()
	if s.server != nil {
		s.server.Close()
		<-s.ended
	}
}
