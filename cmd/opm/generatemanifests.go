package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/output"
	"github.com/opm-toolchain/opm/internal/publish/manifests"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func manifestsCmd() *cobra.Command {
	var f manifestsFlags
	return command{
		Use:   "manifests (CATALOG | --kind reader --for COMMAND)",
		Short: "Generate what a cluster needs to run the image of a catalog",
		Long: `Generate the manifests that run --image: a CatalogSource for OLM Classic, a ClusterCatalog for
OLM v1, or a Deployment of opm serve with several replicas, a Service, a NetworkPolicy, a
PodDisruptionBudget and a HorizontalPodAutoscaler. The memory to request follows from the size of
the CATALOG, which is a directory, a file, an archive, "-" for standard input, or an image.

With --http-port, a Deployment serves HTTP too, with metrics. The image must be one of opm build
--http-addr, which stores the answers of HTTP. --allow-from limits who may connect: name the
namespace of Prometheus too.

A CatalogSource extracts the catalog, and the opm of the cluster serves it. If that is this opm,
say --cluster-opm: it uses the store in the image, and the memory to request is set.

With --render-job, CATALOG is a list of references to images, one a line, and --image has this
opm: an indexed Job renders the references in COUNT shards, into a volume that all its pods
mount. opm render merges the shards. OpenShift makes the volume writable; elsewhere, add an fsGroup
if it belongs to root.

With --kind reader, print the smallest ClusterRole with which the command that --for names can read
the live cluster kube:. It has no custom resources of operators, which check-updates and simulate
compare with new schemas: which ones there are depends on the cluster.`,
		Example: `  opm generate manifests catalog --image registry.example/crafts/catalog:v1 --poll-interval 15m
  opm generate manifests catalog --image registry.example/crafts:v1 --kind deployment -o helm --output-dir chart
  opm generate manifests catalog --image registry.example/crafts:v1 --kind deployment --http-port 8080 --service-monitor
  opm generate manifests bundles.txt --render-job 16 --image registry.example/tools/opm:v1
  opm generate manifests --kind reader --for simulate`,
		args:     f.args,
		complete: completion.Args(completion.Files),
		flags:    f.add,
		images:   &f.images,
		run: func(cmd *cobra.Command, args []string) (*output.Result, error) {
			if f.Kind == manifests.Reader {
				return f.runReader(cmd)
			}
			return f.run(cmd, args[0])
		},
	}.cobra()
}

// args checks the arguments: a catalog, unless --kind is reader.
func (f *manifestsFlags) args(cmd *cobra.Command, args []string) error {
	if f.Kind == manifests.Reader {
		return cmdline.WantArgs("")(cmd, args)
	}
	return cmdline.WantArgs("CATALOG")(cmd, args)
}

// runReader prints a ClusterRole to read live clusters.
func (f *manifestsFlags) runReader(cmd *cobra.Command) (*output.Result, error) {
	switch {
	case f.reads.Command == "":
		return nil, cmdline.Errorf("--for is missing: it names the command that reads the cluster")
	case f.Image != "":
		return nil, cmdline.Errorf("--image is for kinds that run a catalog")
	case f.format == manifests.Helm:
		return nil, cmdline.Errorf("-o helm is for kinds that run a catalog")
	}
	if err := cmp.Or(f.checkKinds(cmd), f.checkDir()); err != nil {
		return nil, cmdline.Invalid(err)
	}
	f.Rules = kube.ReaderRules(f.reads)
	if !cmd.Flags().Changed("name") {
		f.Name = "opm-" + f.reads.Command
	}
	set, err := manifests.New(f.Options)
	if err != nil {
		return nil, fmt.Errorf("generate manifests: %w", err)
	}
	return f.write(set)
}

func (f *manifestsFlags) run(cmd *cobra.Command, catalog string) (*output.Result, error) {
	if err := f.check(cmd); err != nil {
		return nil, cmdline.Invalid(err)
	}
	var err error
	if f.Kind == manifests.RenderJob {
		if f.References, err = readReferences(cmd, catalog); err != nil {
			return nil, err
		}
	}
	set, err := manifests.New(f.Options) // before a large catalog is read
	if err != nil {
		return nil, fmt.Errorf("generate manifests: %w", err)
	}
	if f.Kind == manifests.RenderJob {
		return f.write(set)
	}
	if f.Size, err = f.sizeOf(cmd, catalog); err != nil {
		return nil, err
	}
	if set, err = manifests.New(f.Options); err != nil {
		return nil, err
	}
	return f.write(set)
}

// sizeOf reads a catalog and returns the total size of its files in bytes.
func (f *manifestsFlags) sizeOf(cmd *cobra.Command, ref string) (int64, error) {
	var size atomic.Int64
	read := func(ctx context.Context, sources ...declcfg.Source) (*declcfg.Index, error) {
		for i := range sources {
			shown := sources[i].Read
			sources[i].Read = func(n int64) {
				if size.Add(n); shown != nil {
					shown(n)
				}
			}
		}
		return declcfg.ReadIndex(ctx, sources...)
	}
	c, err := f.images.openIndex(cmd, read, ref)
	if err != nil {
		return 0, err
	}
	c.close()
	return size.Load(), nil
}

// write returns the objects, or writes them to the files of --output-dir.
func (f *manifestsFlags) write(set *manifests.Set) (*output.Result, error) {
	if f.dir == "" {
		return output.Bytes(set.Text(f.format))
	}
	written, err := set.Files(f.format)
	if err != nil {
		return nil, err
	}
	return nil, manifests.WriteFiles(f.dir, written)
}

// manifestsFlags are the flags of generate manifests.
type manifestsFlags struct {
	manifests.Options
	probes, dir string
	reads       kube.Question // by the command that reads a live cluster
	format      manifests.Format
	images      imageFlags
}

// sourceFlags are the flags for the CatalogSource that is generated with a Deployment.
var sourceFlags = []string{"priority", "display-name", "publisher"}

// kindsOf maps a flag to the kinds that it applies to. Other flags apply to all kinds.
var kindsOf = map[string][]manifests.Kind{
	"priority":       {manifests.CatalogSource, manifests.ClusterCatalog},
	"poll-interval":  {manifests.CatalogSource, manifests.ClusterCatalog},
	"security":       {manifests.CatalogSource},
	"image-template": {manifests.CatalogSource},
	"cluster-opm":    {manifests.CatalogSource},
	"display-name":   {manifests.CatalogSource},
	"publisher":      {manifests.CatalogSource},
	"replicas":       {manifests.Deployment},
	"max-replicas":   {manifests.Deployment},
	"http-port":      {manifests.Deployment},
	"probes":         {manifests.Deployment},
	"allow-from":     {manifests.Deployment},

	"service-monitor":    {manifests.Deployment},
	"with-catalogsource": {manifests.Deployment},

	"for": {manifests.Reader},
}

func (f *manifestsFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Image, "image", "", "`IMAGE` of the catalog, with a tag or a digest")
	cmdline.ChoiceVar(cmd, &f.Kind, "kind", "", manifests.CatalogSource, "what runs the catalog, or reads the cluster",
		append(manifests.Kinds(), manifests.Reader)...)
	flags.Func("for", "the `COMMAND` that reads the cluster (with --kind reader): "+cmdline.OneOf(kube.Commands())+
		`, which may have flags, as in "simulate --watch --pull"`, func(text string) (err error) {
		f.reads, err = kube.ParseQuestion(text)
		return err
	})
	completion.With(cmd, cobra.FixedCompletions(kube.Commands(), cobra.ShellCompDirectiveNoFileComp), "for")
	flags.StringVar(&f.Name, "name", "catalog", "`NAME` of the objects")
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "`NAMESPACE` of the objects (default: kubectl's)")
	flags.Int32Var(&f.Priority, "priority", 0, "priority `N` among the catalogs of the cluster")
	flags.DurationVar(&f.PollInterval, "poll-interval", 0, "look for a new image at the tag after this `TIME`, 0 is never")
	cmdline.ChoiceVar(cmd, &f.Security, "security", "", "", "securityContextConfig (default: what the namespace demands)",
		"legacy", "restricted")
	flags.StringVar(&f.ImageTemplate, "image-template", "",
		"`TEMPLATE` of the image, such as registry.example/catalog:v{kube_major_version}.{kube_minor_version}")
	flags.BoolVar(&f.ClusterOpm, "cluster-opm", false, "the opm of the cluster is this one")
	flags.StringVar(&f.DisplayName, "display-name", "", "`NAME` that people see")
	flags.StringVar(&f.Publisher, "publisher", "", "`NAME` of who publishes the catalog")
	flags.Int32Var(&f.Replicas, "replicas", 2, "run at least `N` replicas")
	flags.Int32Var(&f.MaxReplicas, "max-replicas", 4,
		"run at most `N` replicas; if --replicas is not less, there is no autoscaler")
	flags.Int32Var(&f.HTTPPort, "http-port", 0, "serve HTTP on `PORT` too: the API of catalogd, a web page, metrics")
	cmdline.ChoiceVar(cmd, &f.probes, "probes", "", "grpc", "protocol of the probes; http needs --http-port",
		"grpc", "http")
	flags.BoolVar(&f.ServiceMonitor, "service-monitor", false,
		"also a ServiceMonitor, by which Prometheus collects the metrics; needs --http-port")
	flags.StringSliceVar(&f.AllowFrom, "allow-from", nil,
		"allow connections only from pods of `NAMESPACE`; repeatable (default: from all pods)")
	flags.BoolVar(&f.WithCatalogSource, "with-catalogsource", false,
		"also a CatalogSource with the address of the Deployment; needs --namespace")
	flags.Int32Var(&f.Shards, "render-job", 0,
		"instead, a Job that renders the images listed in CATALOG in `COUNT` shards")
	cmdline.Exclude(cmd, "render-job", "kind")
	flags.StringVar(&f.AuthSecret, "auth-secret", "",
		"`SECRET` of type kubernetes.io/dockerconfigjson, from which the Job takes credentials for registries")
	cmdline.ChoiceVar(cmd, &f.format, "output", "o", manifests.YAML,
		"output format; a kustomization or a chart needs --output-dir",
		manifests.YAML, manifests.JSON, manifests.Kustomize, manifests.Helm)
	flags.StringVar(&f.dir, "output-dir", "", "write files to `DIRECTORY` instead")
}

// check sets the kind, and returns an error for flags that cannot be combined.
func (f *manifestsFlags) check(cmd *cobra.Command) error {
	if f.Image == "" {
		return errors.New("--image is missing: it names the image of the catalog")
	}
	f.HTTPProbes = f.probes == "http"
	if cmd.Flags().Changed("render-job") {
		f.Kind = manifests.RenderJob
	}
	if err := f.checkKinds(cmd); err != nil {
		return err
	}
	if f.AuthSecret != "" && f.Kind != manifests.RenderJob {
		return errors.New("--auth-secret needs --render-job")
	}
	return f.checkDir()
}

// checkDir returns an error for a format that needs a directory.
func (f *manifestsFlags) checkDir() error {
	if f.dir == "" && (f.format == manifests.Kustomize || f.format == manifests.Helm) {
		return fmt.Errorf("-o %s needs --output-dir", f.format)
	}
	return nil
}

// checkKinds returns an error for a flag that does not apply to the kind.
func (f *manifestsFlags) checkKinds(cmd *cobra.Command) error {
	for _, name := range slices.Sorted(maps.Keys(kindsOf)) {
		if f.WithCatalogSource && slices.Contains(sourceFlags, name) {
			continue
		}
		if cmd.Flags().Changed(name) && !slices.Contains(kindsOf[name], f.Kind) {
			return fmt.Errorf("--%s is for --kind %s", name, cmdline.OneOf(kindsOf[name]))
		}
	}
	return nil
}
