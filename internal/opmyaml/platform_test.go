package opmyaml_test

import (
	"errors"
	"testing"

	"github.com/opm-toolchain/opm/internal/opmyaml"
	"github.com/opm-toolchain/opm/internal/reference"
)

func TestPlatformOf(t *testing.T) {
	broken := errors.New("opm.yaml is broken")
	for _, tt := range []struct {
		name, ref string
		config    error
		want      string // the platform, or the reason why it is not known
		err       error
	}{
		{name: "v4.18", ref: "catalog", config: broken, want: "OpenShift 4.18"}, // the name is given: opm.yaml is not read
		{name: "v4.19", ref: "catalogs/v4.19", want: "OpenShift 4.19"},
		{name: "v4.19", ref: "catalogs/v4.19", config: broken, err: broken},
		{name: "crafts", ref: "registry.example/crafts:v4.20", want: "OpenShift 4.20"},
		{name: "k8s-1.33", ref: "catalog", want: "Kubernetes 1.33"},
		{name: "catalog", ref: "a/catalog", want: `no version of a platform at the end of "a/catalog"; name it, as in v4.18=a/catalog`},
	} {
		read := func() (*opmyaml.Config, error) { return new(opmyaml.Config), tt.config }
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
