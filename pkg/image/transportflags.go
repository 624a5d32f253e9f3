package image

import "errors"

// A Flag is a switch of a command line.
type Flag struct {
	Given bool // it was there, even as --flag=false
	Value bool
}

// Insecure returns what --skip-tls, which is deprecated, --use-http and --skip-tls-verify together mean: whether TLS
// may be left out or unverified. The error is upstream's for flags that exclude each other.
func Insecure(skipTLS, useHTTP, skipTLSVerify Flag) (bool, error) {
	switch {
	case skipTLS.Given && useHTTP.Given:
		return false, errors.New("invalid flag combination: cannot use --use-http with --skip-tls")
	case skipTLS.Given && skipTLSVerify.Given:
		return false, errors.New("invalid flag combination: cannot use --skip-tls-verify with --skip-tls")
	case useHTTP.Value && skipTLSVerify.Value:
		return false, errors.New("invalid flag combination: cannot use --use-http with --skip-tls-verify")
	}
	return skipTLS.Value || useHTTP.Value || skipTLSVerify.Value, nil
}
