package graph

import (
	"strings"
	"testing"
)

func TestUpdates(t *testing.T) {
	p := packageOf(t, `default a
		channel a
		v4 replaces v3 skips v2,v4 range <2.0.0
		v3 replaces gone
		v1
		channel b
		v3 replaces v2
		v4 range >=1.0.0 <3.0.0
		bundle v2
		bundle v5`)
	var lines []string
	for to, from := range p.Updates() {
		line := to.Name + " <-"
		for _, b := range from {
			line += " " + b.Name
		}
		lines = append(lines, line)
	}
	if got, want := strings.Join(lines, " ; "), "v3 <- gone v2 ; v4 <- v1 v2 v3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for to := range p.Updates() {
		if to.Name != "v3" {
			t.Error("it does not stop")
		}
		break
	}
}
