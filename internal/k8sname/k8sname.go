// Package k8sname checks names by the rules of Kubernetes. Its errors describe the rule in one sentence.
//
//	if err := k8sname.Label("my-operator"); err != nil {
package k8sname

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/opm-toolchain/opm/internal/legible"
)

// Label returns an error if s is not a label of RFC 1123, such as the name of a namespace.
func Label(s string) error {
	return check(s, validation.IsDNS1123Label, validation.DNS1123LabelMaxLength,
		"want lower-case letters, digits and hyphens, a letter or digit first and last")
}

// Subdomain returns an error if s is not a subdomain of RFC 1123, such as the name of most objects.
func Subdomain(s string) error {
	return check(s, validation.IsDNS1123Subdomain, validation.DNS1123SubdomainMaxLength,
		"want lower-case letters, digits, hyphens and dots, a letter or digit around each dot")
}

func check(s string, problems func(string) []string, maxLength int, want string) error {
	if len(s) > maxLength {
		return fmt.Errorf("%d characters, want at most %d", len(s), maxLength)
	}
	if len(problems(s)) > 0 {
		return legible.ExplainWhiteSpace(errors.New(want), s, "")
	}
	return nil
}
