package serve

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/opm-toolchain/opm/internal/regular"
)

// Certificates are files in PEM by which a server speaks TLS. They are read again when they change, as they do when a
// certificate is renewed.
type Certificates struct {
	Cert, Key string       // of the server
	ClientCA  string       // of authorities that sign the certificates of clients; "" lets in clients without one
	Log       *slog.Logger // receives errors about changed files that are invalid; nil drops them
}

// Config returns what a server needs. The error is about files that cannot be used. Later on, what they held last when
// they were good is used.
func (c Certificates) Config() (*tls.Config, error) {
	r := &certificateReader{Certificates: c, files: []string{c.Cert, c.Key}}
	r.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.ClientCA != "" {
		r.files = append(r.files, c.ClientCA)
	}
	r.stamp = stampOf(r.files)
	config, err := r.read()
	if err != nil {
		return nil, err
	}
	r.config = config
	outer := config.Clone()
	outer.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.latest(), nil }
	return outer, nil
}

// A certificateReader holds what the files say.
type certificateReader struct {
	Certificates
	files []string

	mu     sync.Mutex
	stamp  uint64
	config *tls.Config
}

// latest returns what the files say now, or said when they were good.
func (r *certificateReader) latest() *tls.Config {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := stampOf(r.files)
	if now == r.stamp {
		return r.config
	}
	config, err := r.read()
	if err != nil {
		// It is read again at the next connection: certificate and key may be written one after the other.
		r.Log.Error("the certificate has changed and cannot be used, the one before goes on", "reason", err)
		return r.config
	}
	r.Log.Info("the certificate has changed")
	r.stamp, r.config = now, config
	return config
}

func (r *certificateReader) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(r.Cert, r.Key)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{pair},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if r.ClientCA == "" {
		return config, nil
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	config.ClientCAs, err = readPool(r.ClientCA)
	return config, err
}

func readPool(name string) (*x509.CertPool, error) {
	text, err := regular.ReadNamed(name)
	if err != nil {
		return nil, fmt.Errorf("read certificates of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read certificates of clients: %s: %w", name, errors.New("no certificate in it"))
	}
	return pool, nil
}
