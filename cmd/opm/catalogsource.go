package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	kube "k8s.io/apimachinery/pkg/util/version"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/platform"
	"github.com/opm-toolchain/opm/pkg/render"
)

func catalogSourceCmd() *cobra.Command {
	return cmdline.Group(&cobra.Command{
		Use:     "catalogsource",
		Short:   "Show what OLM makes of CatalogSources",
		Example: "  opm catalogsource resolve-image catalogsource.yaml --target kubernetes=1.33.2",
	}, resolveImageCmd())
}

func resolveImageCmd() *cobra.Command {
	var kubeVersion, target string
	return command{
		Use:   "resolve-image FILE",
		Short: "Expand the image templates of CatalogSources",
		Long: `Expand the annotation olm.catalogImageTemplate of the CatalogSources in a file, or "-" for
standard input, as OLM does in a cluster of --target, and print the image of each with the
conditions that OLM sets. Without a version, OLM inserts "missing".

OLM keeps spec.image if a template cannot be resolved; the exit status is then 1.`,
		Example: `  opm catalogsource resolve-image catalogsource.yaml --target kubernetes=1.33.2
  opm catalogsource resolve-image - --target kubernetes=1.33.2 -o json < catalogsource.yaml`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVar(&target, "target", "", "version of Kubernetes, as kubectl version prints it: `kubernetes=VERSION`")
			flags.StringVar(&kubeVersion, "kube-version", "", "`VERSION` of Kubernetes, as kubectl version prints it")
			cmdline.RenameFlag(flags, "kube-version", "--target kubernetes=VERSION")
			cmdline.Exclude(cmd, "target", "kube-version")
		},
		formats: []output.Format{output.Text, output.JSON, output.YAML},
		run: func(cmd *cobra.Command, args []string) (*output.Result, error) {
			version, err := parseKubeVersion(kubeVersion)
			if target != "" {
				var t platform.Cluster
				if t, err = platform.ParseCluster(target); err != nil || !t.IsKubernetes() {
					err = cmdline.Errorf("--target %q: want kubernetes=VERSION, such as kubernetes=1.33.2", target)
				}
				version = t.Patched
			}
			if err != nil {
				return nil, err
			}
			return resolveImages(cmd, args[0], version)
		},
	}.cobra()
}

// resolveImages returns the images of the CatalogSources in a file. The error is about templates without a value.
func resolveImages(cmd *cobra.Command, file string, v *kube.Version) (*output.Result, error) {
	input, err := render.Open(cmd.Context(), []string{file}, openOptions(cmd))
	if err != nil {
		return nil, err
	}
	defer input.Close()
	state, err := cluster.Load(cmd.Context(), warnOnce(cmd), input.Sources...)
	if err := cmp.Or(input.Unchanged(), err); err != nil {
		return nil, err
	}
	if state.CatalogSources.Len() == 0 {
		return nil, fmt.Errorf("%s: no CatalogSource", file)
	}
	var images catalogsource.Images
	for s := range state.CatalogSources.All() {
		if !images.Add(s.Value, v) {
			err = failure.New("an image template has no value: see the output")
		}
	}
	return output.InText(images, images.WriteText), err
}
