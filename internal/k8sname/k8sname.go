// Package k8sname knows which names Kubernetes takes: labels and subdomains of RFC 1123.
//
//	if err := k8sname.Label("my-operator"); err != nil {
package k8sname

import (
	"errors"
	"fmt"
	"regexp"
)

var (
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// Label returns what keeps s from being a label of RFC 1123, as a namespace is called, or nil.
func Label(s string) error {
	return check(s, label, 63, "want lower-case letters, digits and hyphens, a letter or digit first and last")
}

// Subdomain returns what keeps s from being a subdomain of RFC 1123, as most objects are called, or nil.
func Subdomain(s string) error {
	return check(s, subdomain, 253, "want lower-case letters, digits, hyphens and dots, a letter or digit around each dot")
}

func check(s string, form *regexp.Regexp, most int, want string) error {
	if len(s) > most {
		return fmt.Errorf("%d characters, want at most %d", len(s), most)
	}
	if !form.MatchString(s) {
		return errors.New(want)
	}
	return nil
}
