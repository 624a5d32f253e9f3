package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/publish/manifests"
)

func manifestsCmd() *cobra.Command {
	var f manifestsFlags
	cmd := &cobra.Command{
		Use:   "manifests CATALOG",
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
mount. opm render merges the shards.`,
		Example: `  opm generate manifests catalog --image registry.example/crafts/catalog:v1 --poll-interval 15m
  opm generate manifests catalog --image registry.example/crafts:v1 --kind deployment -o helm --output-dir chart
  opm generate manifests catalog --image registry.example/crafts:v1 --kind deployment --http-port 8080 --service-monitor
  opm generate manifests bundles.txt --render-job 16 --image registry.example/tools/opm:v1`,
		Args:              exactArgs("CATALOG"),
		ValidArgsFunction: completeArgs(files),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	f.add(cmd)
	return cmd
}

func (f *manifestsFlags) run(cmd *cobra.Command, catalog string) error {
	if err := f.check(cmd); err != nil {
		return usageError{err}
	}
	var err error
	if f.Kind == manifests.RenderJob {
		if f.References, err = readReferences(cmd, catalog); err != nil {
			return err
		}
	}
	set, err := manifests.New(f.Options) // before a large catalog is read
	if err != nil {
		return fmt.Errorf("generate manifests: %w", err)
	}
	if f.Kind == manifests.RenderJob {
		return f.write(cmd, set)
	}
	if f.Size, err = f.sizeOf(cmd, catalog); err != nil {
		return err
	}
	if set, err = manifests.New(f.Options); err != nil {
		return err
	}
	return f.write(cmd, set)
}

// sizeOf reads a catalog and returns how many bytes its files have.
func (f *manifestsFlags) sizeOf(cmd *cobra.Command, ref string) (int64, error) {
	done := progress(cmd, "reading")
	defer done()
	catalog, closeAll, err := f.images.openCatalog(cmd, ref)
	if err != nil {
		return 0, err
	}
	defer closeAll()
	var size atomic.Int64
	for i, s := range catalog.Sources {
		catalog.Sources[i].Read = func(n int64) {
			s.Read(n)
			size.Add(n)
		}
	}
	index, err := declcfg.ReadIndex(cmd.Context(), catalog.Sources...)
	if err := cmp.Or(catalog.Unchanged(), err); err != nil {
		return 0, ofParts([]string{ref}, err)
	}
	done()
	warnIfNone(cmd, len(index.Packages()), "packages", ref)
	return size.Load(), nil
}

func (f *manifestsFlags) write(cmd *cobra.Command, set *manifests.Set) error {
	form := manifests.Format(f.format)
	if f.dir == "" {
		text, err := set.Text(form)
		if err != nil {
			return err
		}
		_, err = dataOutput(cmd).Write(text)
		return err
	}
	written, err := set.Files(form)
	if err != nil {
		return err
	}
	return inDirectory(f.dir, func(root *os.Root) error {
		return atomicfile.Merge(root, func(stage *os.Root) error {
			for _, file := range written {
				name := filepath.FromSlash(file.Name)
				if err := stage.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					return err
				}
				if err := stage.WriteFile(name, file.Text, 0o666); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
