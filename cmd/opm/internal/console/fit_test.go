package console

import (
	"fmt"
	"strings"
	"testing"
)

func TestFitted(t *testing.T) {
	var out strings.Builder
	w := &fitted{w: &out, columns: 5}
	for _, part := range []string{"one\nfou", "rt\nsevent", "een\n", "äöüßéè\n"} {
		if n, err := fmt.Fprint(w, part); n != len(part) || err != nil {
			t.Errorf("%q: %d, %v", part, n, err)
		}
	}
	if got, want := out.String(), "one\nfour…\nseve…\näöüß…\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAbbreviate(t *testing.T) {
	short, long := "+"+strings.Repeat("ä", 199)+"\n", "-"+strings.Repeat("ä", 1500)+"\n"
	want := short + "-" + strings.Repeat("ä", 199) + "… (1,501 characters)\n" + short
	if got := string(Abbreviate([]byte(short + long + short))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
