package opmyaml_test

import (
	"errors"
	"testing"

	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/internal/reference"
)

func TestPlatformOf(t *testing.T) {
	broken := errors.New("opm.yaml is broken")
	for _, tt := range []struct {
		name, ref string
		target    uint64 // the minor version of OpenShift in the configuration; 0 for none
		config    error
		want      string // the platform, or the reason why it is not known
		err       error
	}{
		{name: "v4.18", ref: "catalog", config: broken, want: "OpenShift 4.18"}, // the name is given: opm.yaml is not read
		{name: "v4.19", ref: "catalogs/v4.19", want: "OpenShift 4.19"},
		{name: "v4.19", ref: "catalogs/v4.19", config: broken, err: broken},
		{name: "v4.19", ref: "catalogs/v4.19", target: 21, want: "OpenShift 4.21"},
		{name: "v4.18", ref: "catalogs/v4.19", target: 21, want: "OpenShift 4.18"},
		{name: "catalog", ref: "a/catalog", target: 21, want: "OpenShift 4.21"},
		{name: "crafts", ref: "registry.example/crafts:v4.20", want: "OpenShift 4.20"},
		{name: "k8s-1.33", ref: "catalog", want: "Kubernetes 1.33"},
		{name: "catalog", ref: "a/catalog", want: `no version of a platform at the end of "a/catalog"; name it, as in v4.18=a/catalog`},
	} {
		config := new(opmyaml.Config)
		if tt.target > 0 {
			config.Target.Platform = platform.OpenShift(platform.Version{Major: 4, Minor: tt.target})
		}
		read := func() (*opmyaml.Config, error) { return config, tt.config }
		p, unknown, err := opmyaml.PlatformOf(&reference.Named{Name: tt.name, Ref: tt.ref}, read)
		got := ""
		switch {
		case unknown != nil:
			got = unknown.Error()
		case err == nil:
			got = p.String()
		}
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s=%s: got %q, %v", tt.name, tt.ref, got, err)
		}
	}
}
