package main

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/opm-toolchain/opm/internal/olm/cluster"
	"github.com/opm-toolchain/opm/internal/olm/install"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/resolve"
	"github.com/opm-toolchain/opm/pkg/image"
)

// contentsNote is the paragraph of help texts about the flags.
const contentsNote = `With --pull, the contents of the catalogs that --catalog does not give are read from a registry:
for a CatalogSource by the digest that its pod runs, for a ClusterCatalog by the digest that it has
resolved, or else by the tag as it is now. The mirrors of the cluster are used, and your own
credentials, or those of --authfile. The answer says what was read.`

// contentsFlags are the flags about the contents of catalogs that --catalog does not give.
type contentsFlags struct {
	pull bool
}

// contentsModes are the names of the flags, for modes.
const contentsModes = " pull"

func (f *contentsFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.pull, "pull", false, "read the contents of other catalogs from a registry: "+
		"of the image that the cluster runs, with its mirrors and your credentials")
}

// A contentsReader reads the contents of the catalogs of a state. A catalog is read once, even for several states, and
// its objects can be read again until the contentsReader is closed.
type contentsReader struct {
	cmd    *cobra.Command
	flags  *stateFlags
	images *imageFlags
	checks []catalogCheck

	given  []*resolve.Catalog          // by --catalog
	pulled map[string]*resolve.Catalog // by reference
	closes []func()
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
		given: given, pulled: map[string]*resolve.Catalog{}, closes: []func(){closeAll},
	}, nil
}

func (r *contentsReader) close() {
	for _, f := range slices.Backward(r.closes) {
		f()
	}
}

// read sets the catalogs of a state in the options of the flags. Contents that cannot be read are no error, but a part
// of the answer.
func (r *contentsReader) read(state *cluster.State) error {
	opts := &r.flags.opts
	opts.Catalogs, opts.Contents = r.given, nil
	if !r.flags.contents.pull {
		return nil
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
		c.Catalog, err = r.pull(c.Image, mirrors)
		if err := r.cmd.Context().Err(); err != nil {
			return err
		}
		if err == nil {
			c.From = install.FromRegistry
		} else {
			c.Error = err.Error()
		}
	}
	return nil
}

// pull reads the catalog of an image, with the mirrors of the cluster.
func (r *contentsReader) pull(ref string, mirrors []image.MirrorObject) (*resolve.Catalog, error) {
	if known := r.pulled[ref]; known != nil {
		return known, nil
	}
	if ref == "" {
		return nil, fmt.Errorf("it has no image")
	}
	// The text is of a cluster, and must not name a file of this machine.
	if reference.Of(ref).Kind != reference.Registry {
		return nil, fmt.Errorf("%q is not a reference to an image in a registry", ref)
	}
	images := *r.images
	images.mirrorObjects = mirrors
	read, opened, err := images.readCatalog(r.cmd, ref, r.checks...)
	if err != nil {
		return nil, err
	}
	r.pulled[ref] = read
	r.closes = append(r.closes, opened.close)
	return read, nil
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
