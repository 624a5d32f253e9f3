package main

import (
	"github.com/spf13/cobra"
	kube "k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/platform"
)

// clusterTarget is the flag for the version of a cluster, which may have a patch version.
type clusterTarget struct {
	text string

	// The former spellings, and the versions after a successful parse. "" means unknown.
	kubernetes, openShift string
}

// add adds --target and its former spellings, --ocp-version and, for commands that had it, --kube-version.
func (t *clusterTarget) add(cmd *cobra.Command, former ...string) {
	flags := cmd.Flags()
	flags.StringVar(&t.text, "target", "", "version of the cluster: `TARGET`, such as ocp=4.20 or kubernetes=1.33.2")
	for _, name := range former {
		to, now := &t.openShift, "--target ocp=VERSION"
		if name == "kube-version" {
			to, now = &t.kubernetes, "--target kubernetes=VERSION"
		}
		flags.StringVar(to, name, "", "`VERSION` of the cluster")
		cmdline.RenameFlag(flags, name, now)
	}
	cmdline.Exclude(cmd, "target", former...)
}

// parse sets the versions. Kubernetes 1.33 is 1.33.0.
func (t *clusterTarget) parse() error {
	if t.text == "" {
		_, err := parseKubeVersion(t.kubernetes)
		return err
	}
	p, err := platform.ParseCluster(t.text)
	switch {
	case err != nil:
		return cmdline.Errorf("--%w", err)
	case p.OpenShift != platform.Version{}:
		t.openShift = p.Version
	case p.Patched == nil:
		t.kubernetes = p.Version + ".0"
	default:
		t.kubernetes = p.Version
	}
	return nil
}

// parseKubeVersion parses --kube-version. It returns nil without one.
func parseKubeVersion(text string) (*kube.Version, error) {
	if text == "" {
		return nil, nil
	}
	v, err := kube.ParseSemantic(text)
	if err != nil {
		return nil, cmdline.Errorf("--kube-version %q: want a version such as v1.33.2", text)
	}
	return v, nil
}
