package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/legible"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/served"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/image"
	"github.com/opm-toolchain/opm/pkg/render"
)

// contentsNote is the paragraph of help texts about the flags.
const contentsNote = `With --pull, the contents of the catalogs that --catalog does not give are read from a registry:
for a CatalogSource by the digest that its pod runs, for a ClusterCatalog by the digest that it has
resolved, or else by the tag as it is now. The mirrors of the cluster are used, and your own
credentials, or those of --authfile. With --forward, the contents of CatalogSources come from their
pods in the live cluster, as with kubectl port-forward. The answer says what was read.`

// contentsFlags are the flags about the contents of catalogs that --catalog does not give.
type contentsFlags struct {
	pull    bool
	forward bool
}

// contentsModes are the names of the flags, for modes.
const contentsModes = " pull forward"

func (f *contentsFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.pull, "pull", false, "read the contents of other catalogs from a registry: "+
		"of the image that the cluster runs, with its mirrors and your credentials")
	flags.BoolVar(&f.forward, "forward", false, "read the contents of other CatalogSources of kube: from their pods, "+
		"through the API server; with --pull, those that cannot be pulled")
}

// A contentsReader reads the contents of the catalogs of states: the catalogs of --catalog and, with --pull or
// --forward, the others.
type contentsReader struct {
	install.Reader
	given      []*resolve.Catalog // by --catalog
	closeGiven func()
}

// contentsReader returns a contentsReader, which has read the catalogs of --catalog.
func (f *stateFlags) contentsReader(
	cmd *cobra.Command, images *imageFlags, checks ...catalogCheck,
) (r *contentsReader, err error) {
	r = &contentsReader{}
	if r.given, r.closeGiven, err = images.readCatalogs(cmd, f.catalogs, checks...); err != nil {
		return nil, err
	}
	warnOnce := printOnce(cmd.ErrOrStderr())
	if f.contents.pull {
		r.Pull = func(ref string, mirrors []image.MirrorObject) (*resolve.Catalog, func(), error) {
			from := *images
			from.mirrorObjects = mirrors
			from.invalidMirror = func(err error) { warnOnce("opm: warning: " + legible.Lines(err.Error())) }
			read, opened, err := from.readCatalog(cmd, ref, checks...)
			if err != nil {
				return nil, nil, err
			}
			return read, opened.close, nil
		}
	}
	if f.contents.forward {
		r.Forward = func(namespace, pod string) (*resolve.Catalog, func(), error) {
			return f.readPod(cmd, namespace, pod, images.timeout)
		}
	}
	return r, nil
}

// openContents reads the contents of the catalogs of a state.
func (f *stateFlags) openContents(
	cmd *cobra.Command, images *imageFlags, state *cluster.State, checks ...catalogCheck,
) (*contentsReader, error) {
	r, err := f.contentsReader(cmd, images, checks...)
	if err != nil {
		return nil, err
	}
	if err := f.readContents(cmd, r, state); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// readContents sets the catalogs of a state in the options.
func (f *stateFlags) readContents(cmd *cobra.Command, r *contentsReader, state *cluster.State) (err error) {
	f.opts.Catalogs, f.opts.Contents = r.given, nil
	f.opts.Contents, err = r.Read(cmd.Context(), state, f.opts)
	return err
}

func (r *contentsReader) close() {
	r.Close()
	r.closeGiven()
}

// readPod reads the catalog that a pod of the live cluster serves. The cluster is not connected again: the context of
// the kubeconfig may be another one by now.
func (f *stateFlags) readPod(
	cmd *cobra.Command, namespace, pod string, idle time.Duration,
) (read *resolve.Catalog, closeRead func(), err error) {
	connect := func(ctx context.Context) (net.Conn, error) {
		return f.live.cluster.Forward(ctx, namespace, pod, catalogsource.Port)
	}
	out := spool.NewWriter(spoolOptions(cmd))
	defer out.Close()
	if err := served.Write(cmd.Context(), out, connect, idle); err != nil {
		return nil, nil, err
	}
	text, err := out.Finish()
	if err != nil {
		return nil, nil, err
	}
	ref := f.paths[slices.IndexFunc(f.paths, kube.IsLive)]
	label := strings.TrimSuffix(ref, ":") + ": pod " + namespace + "/" + pod
	read, err = resolve.ReadCatalog(cmd.Context(), render.ReaderAt(label, text, text.Size()))
	if err != nil {
		text.Close()
		return nil, nil, err
	}
	return read, func() { text.Close() }, nil
}
