package resolve

import (
	"fmt"
	"strings"
	"testing"
)

// TestSteps checks OLM's actions for the chosen bundles: bundles to install, and Subscriptions to create and to update.
func TestSteps(t *testing.T) {
	for _, tt := range []struct{ name, scenario, want string }{
		{"fresh", "sub sa a stable", "a.v2.0.0; ; sa:a.v2.0.0"},
		{"a dependency", "has a.v2.0.0 package=d:>=3.0.0\nsub sa a stable",
			"a.v2.0.0 d.v3.0.0; d-beta-c-ns:d/beta/d.v3.0.0; sa:a.v2.0.0"},
		{"two Subscriptions of a dependency", "has a.v2.0.0 package=d:<2.0.0\nsub sa a stable\nsub t1 d stable\nsub t2 d -",
			"a.v2.0.0 d.v1.0.0; ; sa:a.v2.0.0 t1:d.v1.0.0 t2:d.v1.0.0"},
		{"an update", "installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0", "a.v1.1.0; ; sa:a.v1.1.0"},
		{"an update on the way", "installed a.v1.0.0 like\nsub sa a stable installed=a.v1.0.0 current=a.v1.1.0", "a.v1.1.0; ; "},
		{"its ClusterServiceVersion was deleted", "sub sa a stable current=a.v2.0.0", "a.v2.0.0; ; "},
		{"chosen again", "range a.v2.0.0 >=1.0.0 <=2.0.0\ninstalled a.v2.0.0 like\nsub sa a stable installed=a.v2.0.0", "; ; "},
		{"unsatisfiable", "sub sa x stable", "; ; "},
	} {
		a := verify(t, parseScenario(t, base+tt.scenario))
		var installed, generated, updated []string
		for _, c := range a.Install {
			installed = append(installed, c.Bundle)
		}
		for _, s := range a.Generated {
			generated = append(generated, fmt.Sprintf("%s:%s/%s/%s", s.Name, s.Package, s.Channel, s.StartingCSV))
		}
		for _, s := range a.Updated {
			updated = append(updated, s.Name+":"+s.CurrentCSV)
		}
		got := strings.Join([]string{strings.Join(installed, " "), strings.Join(generated, " "), strings.Join(updated, " ")}, "; ")
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestOrderSensitive checks that with two Subscriptions that constrain each other, OLM may prefer either.
func TestOrderSensitive(t *testing.T) {
	const diamond = "channel b s* b.v1.0.0 b.v2.0.0<b.v1.0.0\nsub sa a stable\nsub sb b s\nhas a.v2.0.0 package=d:>=2.0.0 <3.0.0\n"
	for scenario, want := range map[string]bool{
		diamond + "has b.v2.0.0 package=d:<2.0.0":  true,
		diamond + "has b.v2.0.0 package=d:>=2.0.0": false,
	} {
		if got := verify(t, parseScenario(t, base+scenario)).OrderSensitive; got != want {
			t.Errorf("%s: %v", scenario, got)
		}
	}
}
