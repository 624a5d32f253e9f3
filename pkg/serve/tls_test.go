package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/opm-toolchain/opm/pkg/api/client"
)

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	a.cert, a.key = a.sign(t, "authority", true)
	return a
}

// sign returns a certificate and its key; the certificate of an authority is signed by itself.
func (a *authority) sign(t *testing.T, name string, isCA bool) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, DNSNames: []string{"localhost"},
		IsCA: isCA, BasicConstraintsValid: isCA, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := a.cert, a.key
	if isCA {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return cert, key
}

// pair returns a certificate for a name, for a client.
func (a *authority) pair(t *testing.T, name string) tls.Certificate {
	t.Helper()
	cert, key := a.sign(t, name, false)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// write writes a certificate of that name and its key, and returns the paths.
func (a *authority) write(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	cert, key := a.sign(t, name, false)
	der, err := x509.MarshalECPrivateKey(key)
	must(t, err)
	writePEM(t, dir, "tls.crt", "CERTIFICATE", cert.Raw)
	writePEM(t, dir, "tls.key", "EC PRIVATE KEY", der)
	return filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
}

func writePEM(t *testing.T, dir, name, kind string, der []byte) {
	t.Helper()
	write(t, dir, name, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// TestTLS serves TLS, and uses a renewed certificate.
func TestTLS(t *testing.T) {
	ours, dir, log := newAuthority(t), t.TempDir(), newLogBook()
	cert, key := ours.write(t, dir, "first")
	config, err := Certificates{Cert: cert, Key: key, Log: log.logger()}.Config()
	must(t, err)
	addr := overTCP(t, loaded(t, catalogDir(t, trees)), Options{TLS: config})

	// serverName returns the name in the certificate that the server has now.
	serverName := func() string {
		t.Helper()
		var name string
		options := client.Options{TLS: &tls.Config{RootCAs: ours.pool(), VerifyConnection: func(s tls.ConnectionState) error {
			name = s.PeerCertificates[0].Subject.CommonName
			return nil
		}}}
		c, err := client.New(addr, options)
		must(t, err)
		defer c.Close()
		if _, err := c.Package(t.Context(), "oak"); err != nil {
			t.Errorf("a call: %v", err)
		}
		return name
	}
	if got := serverName(); got != "first" {
		t.Errorf("the certificate is that of %q", got)
	}
	const second = "second certificate" // is longer: files that are written in one tick of the clock have the same time
	ours.write(t, dir, second)
	if got := serverName(); got != second {
		t.Errorf("the certificate that changed is that of %q", got)
	}
	write(t, dir, "tls.crt", "nothing")
	if got := serverName(); got != second {
		t.Errorf("the certificate that broke is that of %q", got)
	}
	log.wait(t, "still using the previous one")
	if text := log.String(); strings.Contains(text, "EC PRIVATE KEY") {
		t.Errorf("the log holds a key:\n%s", text)
	}

	plain, err := client.New(addr, client.Options{})
	must(t, err)
	defer plain.Close()
	if _, err := plain.Package(t.Context(), "oak"); err == nil {
		t.Error("a client without TLS got an answer")
	}
}

// TestClientCertificates checks that only clients with a certificate of the authority can connect.
func TestClientCertificates(t *testing.T) {
	ours, theirs, dir := newAuthority(t), newAuthority(t), t.TempDir()
	cert, key := ours.write(t, dir, "server")
	writePEM(t, dir, "ca.crt", "CERTIFICATE", ours.cert.Raw)
	config, err := Certificates{Cert: cert, Key: key, ClientCA: filepath.Join(dir, "ca.crt")}.Config()
	must(t, err)
	addr := overTCP(t, loaded(t, catalogDir(t, trees)), Options{TLS: config})
	for _, test := range []struct {
		name string
		has  []tls.Certificate
		in   bool
	}{
		{"signed", []tls.Certificate{ours.pair(t, "client")}, true},
		{"none", nil, false},
		{"signed by others", []tls.Certificate{theirs.pair(t, "client")}, false},
	} {
		c, err := client.New(addr, client.Options{TLS: &tls.Config{RootCAs: ours.pool(), Certificates: test.has}})
		must(t, err)
		if _, err := c.Package(t.Context(), "oak"); (err == nil) != test.in {
			t.Errorf("%s: got %v", test.name, err)
		}
		c.Close()
	}
}

// TestCertificateFiles checks that invalid files are rejected.
func TestCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := newAuthority(t).write(t, dir, "server")
	write(t, dir, "empty", "")
	for _, c := range []Certificates{
		{Cert: filepath.Join(dir, "none"), Key: key},
		{Cert: cert, Key: filepath.Join(dir, "empty")},
		{Cert: cert, Key: key, ClientCA: filepath.Join(dir, "empty")},
		{Cert: cert, Key: key, ClientCA: filepath.Join(dir, "none")},
	} {
		if _, err := c.Config(); err == nil {
			t.Errorf("%v is taken", c)
		} else if !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := os.Stat(cert); err != nil {
		t.Error(err)
	}
}
