package resolve

import (
	"slices"
	"testing"
)

// TestPath checks that a path follows updates until there are no more, or until it is back at an earlier state.
func TestPath(t *testing.T) {
	const loop = "channel b s* b.v1.0.0 b.v2.0.0<b.v1.0.0 b.v3.0.0<b.v2.0.0\nrange b.v3.0.0 <3.0.0\nrange b.v2.0.0 >2.0.0\n"
	tests := []struct {
		name, scenario string
		want           []string
		loop           bool
	}{
		{"fresh", base + "sub sa a stable", []string{"a.v2.0.0"}, false},
		{
			"step by step", base + "installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0",
			[]string{"a.v1.1.0", "a.v2.0.0"}, false,
		},
		{"at the end", base + "installed a.v2.0.0 like\nsub sa a stable installed=a.v2.0.0", []string{""}, false},
		{"error", base + "sub sa a x", []string{""}, false},
		{"loop", loop + "installed b.v1.0.0 like\nsub sb b s installed=b.v1.0.0", []string{"b.v3.0.0", "b.v2.0.0", "b.v3.0.0"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			answers, loop, err := parseScenario(t, test.scenario).Path(t.Context(), patient)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range answers {
				bundle := ""
				if len(a.Install) > 0 {
					bundle = a.Install[0].Bundle
				}
				got = append(got, bundle)
			}
			if !slices.Equal(got, test.want) || loop != test.loop {
				t.Errorf("path %q, loop %v, want %q, %v", got, loop, test.want, test.loop)
			}
		})
	}
}

// TestV1Path checks that OLM v1 updates to the highest version with an edge from the installed one, and continues
// there.
func TestV1Path(t *testing.T) {
	e := &V1Request{Package: "p", Channels: []string{"c"}, Installed: at("v1.0.0")}
	answers, loop := e.Path([]*Catalog{catalogOf(t, "c", chain)})
	if len(answers) != 1 || answers[0].Choice.Bundle != "v3.0.0" || loop {
		t.Errorf("path of %d, loop %v, want v3.0.0", len(answers), loop)
	}
	e.Installed = at("v1.1.0")
	answers, loop = e.Path([]*Catalog{catalogOf(t, "c", chain)})
	if len(answers) != 2 || answers[1].Choice.Bundle != "v3.0.0" || loop {
		t.Errorf("path of %d, loop %v, want v2.0.0, v3.0.0", len(answers), loop)
	}
}
