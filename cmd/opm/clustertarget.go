package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	kube "k8s.io/apimachinery/pkg/util/version"

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
		renamedFlag(flags, name, now)
	}
	exclude(cmd, "target", former...)
}

// parse sets the versions. Kubernetes 1.33 is 1.33.0.
func (t *clusterTarget) parse() error {
	if t.text == "" {
		_, err := parseKubeVersion(t.kubernetes)
		return err
	}
	name, text, _ := strings.Cut(t.text, "=")
	text = strings.TrimPrefix(text, "v")
	minor := text
	v, err := kube.ParseSemantic(text)
	if err == nil {
		minor = fmt.Sprintf("%d.%d", v.Major(), v.Minor())
	}
	p, invalid := platform.Parse(name + "=" + minor)
	switch {
	case invalid != nil:
		_, whole := platform.Parse(t.text)
		return usageError{fmt.Errorf("--%w", cmp.Or(whole, invalid))}
	case p.OpenShift != platform.Version{}:
		t.openShift = text
	case err != nil: // a minor version
		t.kubernetes = text + ".0"
	default:
		t.kubernetes = text
	}
	return nil
}
