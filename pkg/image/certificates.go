package image

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/regular"
)

// certPlaces returns directories with a subdirectory of certificates per registry. For each registry, the first that
// exists is used.
func certPlaces(env func(string) string) []string {
	places := []string{"/etc/containers/certs.d", "/usr/share/containers/certs.d", "/etc/docker/certs.d"}
	if own := under(configHome(env), "containers", "certs.d"); own != "" {
		places = append([]string{own}, places...)
	}
	return places
}

// addCertificates adds the certificates of a directory: CAs in *.crt, and client pairs of *.cert and *.key, both
// required.
func addCertificates(config *tls.Config, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		base := strings.TrimSuffix(path, filepath.Ext(path))
		switch filepath.Ext(path) {
		case ".crt":
			if err = checkRegular(path); err == nil {
				err = addRoots(config, path)
			}
		case ".cert":
			err = addClient(config, path, base+".key")
		case ".key":
			if !exists(base + ".cert") {
				err = fmt.Errorf("%s: certificate %s.cert is missing", path, filepath.Base(base))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addClient adds a client certificate.
func addClient(config *tls.Config, cert, key string) error {
	if !exists(key) {
		return fmt.Errorf("%s: key %s is missing; the name of a CA ends in .crt", cert, filepath.Base(key))
	}
	if err := cmp.Or(checkRegular(cert), checkRegular(key)); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s: %w", cert, err)
	}
	config.Certificates = append(slices.Clip(config.Certificates), pair)
	return nil
}

// checkRegular returns an error for special files such as pipes, which would block.
func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = regular.Check(info.Mode())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// addRoots adds the CAs of a PEM file to the trusted CAs, which are initially the system's.
func addRoots(config *tls.Config, path string) error {
	data, err := regular.ReadPath(path)
	if err != nil {
		return err
	}
	pool := config.RootCAs
	if pool == nil {
		if pool, err = x509.SystemCertPool(); err != nil {
			pool = x509.NewCertPool()
		}
	}
	pool = pool.Clone()
	if !pool.AppendCertsFromPEM(data) {
		return fmt.Errorf("%s: contains no PEM certificate", path)
	}
	config.RootCAs = pool
	return nil
}
