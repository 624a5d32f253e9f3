package plural_test

import (
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/plural"
)

func TestOf(t *testing.T) {
	for n, want := range map[int]string{0: "0 images", 1: "1 image", 2: "2 images", 2000: "2,000 images"} {
		if got := plural.Of(n, "image"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[int]string{0: "0 are lost", 1: "1 is lost", 12: "12 are lost"} {
		if got := plural.Words(n, "is lost", "are lost"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{1: "1 byte", 1000: "1,000 bytes", 4 << 10: "4 KB", 64 << 20: "64 MB", 1<<30 + 1: "1,073,741,825 bytes"} {
		if got := plural.Bytes(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 5242880: "5,242,880"} {
		if got := plural.Number(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRanges(t *testing.T) {
	all := strings.Fields("a b c d e f g h")
	for some, want := range map[string]string{
		"": "", "b": "b", "g h": "g, h", "a b c d e f g h": "a … h", "a c d e g h": "a, c … e, g, h",
	} {
		if got := strings.Join(plural.Ranges(all, strings.Fields(some)), ", "); got != want {
			t.Errorf("%s: got %q, want %q", some, got, want)
		}
	}
}
