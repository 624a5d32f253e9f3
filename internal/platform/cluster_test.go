package platform

import "testing"

// TestParseCluster checks the versions of targets with and without a patch version.
func TestParseCluster(t *testing.T) {
	for text, want := range map[string]struct {
		version, platform   string
		patched, kubernetes bool
	}{
		"ocp=4.14":           {version: "4.14", platform: "OpenShift 4.14"},
		"ocp=v4.14.3":        {version: "4.14.3", platform: "OpenShift 4.14", patched: true},
		"kubernetes=1.33":    {version: "1.33", platform: "Kubernetes 1.33"},
		"kubernetes=v1.33.2": {version: "1.33.2", platform: "Kubernetes 1.33", patched: true, kubernetes: true},
	} {
		c, err := ParseCluster(text)
		if err != nil || c.Version != want.version || c.Platform.String() != want.platform ||
			(c.Patched != nil) != want.patched || c.IsKubernetes() != want.kubernetes {
			t.Errorf("%s: got %s, %s, %v, %t, %v", text, c.Version, c.Platform, c.Patched, c.IsKubernetes(), err)
		}
	}
	for _, text := range []string{"", "ocp", "ocp=3.11", "kubernetes=x", "rhel=9.1"} {
		if c, err := ParseCluster(text); err == nil {
			t.Errorf("%q: got %s", text, c.Platform)
		}
	}
}
