package nearest_test

import (
	"testing"

	"github.com/opm-toolchain/opm/internal/nearest"
)

func TestName(t *testing.T) {
	names := []string{"stable", "staple", "fast", "candidate-v1"}
	tests := []struct{ name, want string }{
		{"stabel", "stable"}, // swapped letters are one edit
		{"fats", "fast"},
		{"candidate-v2", "candidate-v1"},
		{"stale", "stable"}, // as near as staple, and before it
		{"slow", ""},
		{"", ""},
	}
	for _, tt := range tests {
		if got := nearest.Name(tt.name, names); got != tt.want {
			t.Errorf("Name(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestHint(t *testing.T) {
	if got, want := nearest.Hint("ectd", []string{"etcd"}), ` (did you mean "etcd"?)`; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
	if got := nearest.Hint("ectd", nil); got != "" {
		t.Errorf("Hint without names = %q, want none", got)
	}
}
