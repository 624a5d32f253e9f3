package k8sname_test

import (
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/k8sname"
)

func TestNames(t *testing.T) {
	tests := []struct {
		name             string
		label, subdomain bool
	}{
		{"a", true, true},
		{"0-9", true, true},
		{"a.b", false, true},
		{"a..b", false, false},
		{"-a", false, false},
		{"a-", false, false},
		{"a.-b", false, false},
		{"A", false, false},
		{"a_b", false, false},
		{"a\n", false, false},
		{"", false, false},
		{strings.Repeat("a", 63), true, true},
		{strings.Repeat("a", 64), false, true},
		{strings.Repeat("a", 254), false, false},
	}
	for _, tt := range tests {
		if got := k8sname.Label(tt.name) == nil; got != tt.label {
			t.Errorf("Label(%q) accepts: %t, want %t", tt.name, got, tt.label)
		}
		if got := k8sname.Subdomain(tt.name) == nil; got != tt.subdomain {
			t.Errorf("Subdomain(%q) accepts: %t, want %t", tt.name, got, tt.subdomain)
		}
	}
}
