package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/format"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/pkg/bundle"
)

func bundleExtractCmd(path string) *cobra.Command {
	var f bundleExtractFlags
	return command{
		Use:   "extract",
		Short: "Write a bundle to a ConfigMap in a cluster",
		Long: `Replace the data of an existing ConfigMap with the files in manifests/ and metadata/. OLM reads
bundle images this way. With --dry-run, the ConfigMap is printed and the cluster is not
contacted.

$KUBECONFIG takes precedence over --kubeconfig; without either, opm uses the cluster that it
runs in. $CONTAINER_IMAGE is recorded as the image of the bundle.`,
		Example: "  " + path + ` extract --manifestsdir bundle --configmapname kiln --dry-run`,
		flags: func(cmd *cobra.Command) {
			flags := cmd.Flags()
			flags.StringVarP(&f.kubeconfig, "kubeconfig", "k", "", "kubeconfig `FILE` of the cluster")
			flags.StringVarP(&f.directory, "manifestsdir", "m", "/", "`DIRECTORY` that contains manifests/ and metadata/")
			flags.StringVarP(&f.name, "configmapname", "c", "", "`NAME` of the ConfigMap")
			flags.StringVarP(&f.namespace, "namespace", "n", "openshift-operator-lifecycle-manager",
				"`NAMESPACE` of the ConfigMap")
			flags.Uint64VarP(&f.options.Limit, "datalimit", "l", bundle.DefaultExtractLimit,
				"maximum size of the data in `BYTES`")
			flags.BoolVarP(&f.options.Gzip, "gzip", "z", false, "compress the data")
			flags.BoolVar(&f.dryRun, "dry-run", false, "print the ConfigMap instead of writing it")
			flags.Bool("debug", false, "has no effect")
			cmdline.Hide(flags, "debug")
		},
		run: f.run,
	}.cobra()
}

// bundleExtractFlags are the flags of bundle extract.
type bundleExtractFlags struct {
	kubeconfig string
	directory  string
	name       string
	namespace  string
	dryRun     bool
	options    bundle.ExtractOptions
}

func (f *bundleExtractFlags) run(cmd *cobra.Command, _ []string) (*output.Result, error) {
	if f.name == "" {
		return nil, cmdline.Errorf("--configmapname is missing")
	}
	f.options.Image = os.Getenv("CONTAINER_IMAGE")
	configMap, err := bundle.Extract(os.DirFS(f.directory), f.directory, f.options)
	if err != nil {
		return nil, err
	}
	configMap.Name, configMap.Namespace = f.name, f.namespace
	if f.dryRun {
		raw, err := json.Marshal(configMap)
		if err != nil {
			return nil, err
		}
		return output.Bytes(format.AppendYAML(nil, raw), nil)
	}
	if file := os.Getenv("KUBECONFIG"); file != "" {
		f.kubeconfig = file
	}
	config, err := kube.Config(f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	return nil, bundle.UpdateConfigMap(cmd.Context(), config, configMap)
}
