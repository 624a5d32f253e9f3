package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/catalogsource"
	"github.com/opm-toolchain/opm/internal/kube"
	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/internal/served"
	"github.com/opm-toolchain/opm/internal/spool"
	"github.com/opm-toolchain/opm/pkg/declcfg"
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

// A contentsReader reads the contents of the catalogs of a state. A catalog is read once, even for several states if
// the digest is known or a pod serves it. Its objects can be read again until the contentsReader is closed or reads a
// state that does not have the catalog.
type contentsReader struct {
	cmd    *cobra.Command
	flags  *stateFlags
	images *imageFlags
	checks []catalogCheck

	given      []*resolve.Catalog // by --catalog
	closeGiven func()
	known      map[string]*knownCatalog // by reference or pod: the catalogs of the last state
	warnOnce   func(line string)
}

// A knownCatalog is a catalog that was read, or the error about it.
type knownCatalog struct {
	catalog *resolve.Catalog
	err     error
	close   func()
	isTag   bool // another catalog may have the reference by now
	isUsed  bool // the state that is being read has it
}

// contentsReader returns a contentsReader, which has read the catalogs of --catalog.
func (f *stateFlags) contentsReader(
	cmd *cobra.Command, images *imageFlags, checks ...catalogCheck,
) (*contentsReader, error) {
	given, closeAll, err := images.readCatalogs(cmd, f.catalogs, checks...)
	if err != nil {
		return nil, err
	}
	return &contentsReader{
		cmd: cmd, flags: f, images: images, checks: checks,
		given: given, closeGiven: closeAll, known: map[string]*knownCatalog{}, warnOnce: printOnce(cmd.ErrOrStderr()),
	}, nil
}

// openContents reads the contents of the catalogs of a state.
func (f *stateFlags) openContents(
	cmd *cobra.Command, images *imageFlags, state *cluster.State, checks ...catalogCheck,
) (*contentsReader, error) {
	r, err := f.contentsReader(cmd, images, checks...)
	if err != nil {
		return nil, err
	}
	if err := r.read(state); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *contentsReader) close() {
	r.forget(func(*knownCatalog) bool { return true })
	r.closeGiven()
}

// forget closes the known catalogs for which is returns true.
func (r *contentsReader) forget(is func(*knownCatalog) bool) {
	maps.DeleteFunc(r.known, func(_ string, k *knownCatalog) bool {
		if !is(k) {
			return false
		}
		if k.close != nil {
			k.close()
		}
		return true
	})
}

// once returns what get returned for the same key. A tag or an error counts for one state.
func (r *contentsReader) once(
	key string, isTag bool, get func() (*resolve.Catalog, func(), error),
) (*resolve.Catalog, error) {
	k := r.known[key]
	if k == nil {
		k = &knownCatalog{isTag: isTag}
		k.catalog, k.close, k.err = get()
		r.known[key] = k
	}
	k.isUsed = true
	return k.catalog, k.err
}

// read sets the catalogs of a state in the options of the flags. Contents that cannot be read are no error, but a part
// of the answer.
func (r *contentsReader) read(state *cluster.State) error {
	opts := &r.flags.opts
	opts.Catalogs, opts.Contents = r.given, nil
	from := r.flags.contents
	if !from.pull && !from.forward {
		return nil
	}
	r.forget(func(k *knownCatalog) bool { return k.isTag || k.err != nil })
	for _, k := range r.known {
		k.isUsed = false
	}
	opts.Contents = install.Contents(state, *opts)
	mirrors, err := mirrorObjects(state)
	if err != nil {
		return err
	}
	for _, c := range opts.Contents {
		if c.From != install.FromNowhere {
			continue
		}
		var errs []error
		if from.pull {
			if c.Catalog, err = r.pull(c, mirrors); err == nil {
				c.From = install.FromRegistry
				continue
			}
			errs = append(errs, err)
		}
		if from.forward && c.Namespace != "" {
			if c.Catalog, err = r.forward(c); err == nil {
				c.From = install.FromPod
			} else {
				errs = append(errs, err)
			}
		}
		if err := r.cmd.Context().Err(); err != nil {
			return err
		}
		if c.Catalog == nil && errs == nil {
			errs = append(errs, errNoPod)
		}
		if errs != nil {
			c.Error = strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; ")
		}
	}
	r.forget(func(k *knownCatalog) bool { return !k.isUsed })
	return nil
}

// errNoPod is the error about a catalog that has no pod of its own.
var errNoPod = errors.New("--forward reads only the pods of CatalogSources")

// errConfigMap is the error about a catalog that no registry has.
var errConfigMap = errors.New("its contents are a ConfigMap, which --forward reads")

// pull reads the catalog of an image, with the mirrors of the cluster.
func (r *contentsReader) pull(c *install.Content, mirrors []image.MirrorObject) (*resolve.Catalog, error) {
	if c.ConfigMap {
		return nil, errConfigMap
	}
	ref := c.Image
	if ref == "" {
		return nil, fmt.Errorf("the %s has no image", c.Kind)
	}
	// The text is of a cluster, and must not name a file of this machine.
	if reference.Of(ref).Kind != reference.Registry {
		return nil, fmt.Errorf("%q is not a reference to an image in a registry", ref)
	}
	return r.once(ref, !strings.Contains(ref, "@"), func() (*resolve.Catalog, func(), error) {
		images := *r.images
		images.mirrorObjects = mirrors
		images.invalidMirror = func(err error) { r.warnOnce("opm: warning: " + legibleLines(err.Error())) }
		read, opened, err := images.readCatalog(r.cmd, ref, r.checks...)
		if err != nil {
			return nil, nil, err
		}
		return read, opened.close, nil
	})
}

// forward reads the catalog that a pod serves.
func (r *contentsReader) forward(c *install.Content) (*resolve.Catalog, error) {
	if c.Pod == "" {
		return nil, fmt.Errorf("the %s has no pod", c.Kind)
	}
	name := r.flags.paths[slices.IndexFunc(r.flags.paths, kube.IsLive)]
	return r.once("pod "+c.Namespace+"/"+c.Pod, false, func() (*resolve.Catalog, func(), error) {
		source, closeAll, err := readPod(r.cmd, r.flags.live.cluster, name, c.Namespace, c.Pod, r.images.timeout)
		if err != nil {
			return nil, nil, err
		}
		read, err := resolve.ReadCatalog(r.cmd.Context(), source)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		return read, closeAll, nil
	})
}

// readPod reads the objects of the catalog that a pod of a live cluster serves. The cluster is not connected again: the
// context of the kubeconfig may be another one by now. It is ref in the names of files.
func readPod(
	cmd *cobra.Command, cluster *kube.Cluster, ref, namespace, pod string, idle time.Duration,
) (source declcfg.Source, closeAll func(), err error) {
	connect := func(ctx context.Context) (net.Conn, error) {
		return cluster.Forward(ctx, namespace, pod, catalogsource.Port)
	}
	out := spool.NewWriter(spoolOptions(cmd))
	defer out.Close()
	if err := served.Write(cmd.Context(), out, connect, idle); err != nil {
		return source, nil, err
	}
	text, err := out.Finish()
	if err != nil {
		return source, nil, err
	}
	label := strings.TrimSuffix(ref, ":") + ": pod " + namespace + "/" + pod
	return render.ReaderAt(label, text, text.Size()), func() { text.Close() }, nil
}

// mirrorObjects returns the objects of a state that configure mirrors, by kind and name.
func mirrorObjects(state *cluster.State) ([]image.MirrorObject, error) {
	var objects []image.MirrorObject
	for _, kind := range image.MirrorKinds() {
		of := schema.ParseGroupKind(kind)
		for o := range state.In(of, "") {
			text, err := json.Marshal(o.Value, jsonv1.DefaultOptionsV1(), jsontext.WithIndent("  "))
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", of.Kind, o.Value.GetName(), err)
			}
			objects = append(objects, image.MirrorObject{Name: of.Kind + " " + o.Value.GetName(), Text: text})
		}
	}
	return objects, nil
}
