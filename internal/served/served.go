// Package served reads the catalog that a registry serves over gRPC, as the objects of a file-based catalog.
//
//	connect := func(ctx context.Context) (net.Conn, error) { return cluster.Forward(ctx, "olm", "crafts-x", 50051) }
//	err := served.Write(ctx, w, connect, time.Minute)
//
// A registry does not serve all of a catalog: icons, descriptions of packages, related images and custom schemas are
// missing, and so is everything of packages without channels. All that OLM resolves and installs from is there.
package served

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/parallel"
	"github.com/opm-toolchain/opm/internal/plural"
	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/api/client"
	"github.com/opm-toolchain/opm/pkg/bundle"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// Write connects to a registry, and writes its catalog in JSON: by package its package, its channels by name, its
// bundles in the order of the registry, and its deprecations. The error is of gRPC, of w, about a bundle that is not
// valid, or about a registry that sends nothing for the time idle, or more than maxBytes.
func Write(
	ctx context.Context, w io.Writer, connect func(context.Context) (net.Conn, error), idle time.Duration,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := fmt.Errorf("the registry sends nothing for %v", idle)
	timer := time.AfterFunc(idle, func() { cancel(silent) })
	defer timer.Stop()
	c, err := client.New("passthrough:///registry", client.Options{Connect: func(ctx context.Context) (net.Conn, error) {
		conn, err := connect(ctx)
		if err != nil {
			return nil, err
		}
		return &watched{conn, func() { timer.Reset(idle) }}, nil
	}})
	if err != nil {
		return err
	}
	defer c.Close()
	err = write(ctx, w, c, maxBytes)
	isCanceled := status.Code(err) == codes.Canceled || errors.Is(err, context.Canceled) || errors.Is(err, silent)
	if isCanceled && errors.Is(context.Cause(ctx), silent) {
		return silent
	}
	return err
}

// A watched is a connection that reports the arrival of bytes: a large message takes its time on a slow connection.
type watched struct {
	net.Conn
	progress func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.progress()
	}
	return n, err
}

// maxBytes is the maximum size of a list of bundles, which is kept in memory. Published catalogs have less than 100 MB.
const maxBytes = 1 << 30

// write writes the catalog, whose list of bundles has at most limit bytes.
func write(ctx context.Context, w io.Writer, c *client.Client, limit int) error {
	packages := map[string]*contents{}
	for name, err := range c.Packages(ctx) {
		if err != nil {
			return fmt.Errorf("list packages: %w", err)
		}
		packages[name] = &contents{channels: map[string]*declcfg.Channel{}, known: map[string]bool{}}
	}
	size := 0
	for b, err := range c.Bundles(ctx) {
		if err != nil {
			return fmt.Errorf("list bundles: %w", err)
		}
		if size += proto.Size(b); size > limit {
			return fmt.Errorf("list bundles: more than %s", plural.Bytes(int64(limit)))
		}
		p := packages[b.GetPackageName()]
		if p == nil { // the catalog was replaced meanwhile, or the registry is broken
			return fmt.Errorf("list bundles: %q is of package %q, which is not listed", b.GetCsvName(), b.GetPackageName())
		}
		p.add(b)
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		if err := packages[name].write(ctx, w, c, name); err != nil {
			return fmt.Errorf("package %q: %w", name, err)
		}
	}
	return nil
}

// A contents is the contents of a package, as a list of bundles has them.
type contents struct {
	channels     map[string]*declcfg.Channel
	bundles      []*api.Bundle // each in the first channel that has it
	known        map[string]bool
	deprecations []declcfg.Deprecation
}

// add adds a bundle of a channel.
func (p *contents) add(b *api.Bundle) {
	ch := p.channels[b.GetChannelName()]
	if ch == nil {
		ch = &declcfg.Channel{
			Schema: declcfg.SchemaChannel, Name: b.GetChannelName(), Package: b.GetPackageName(),
		}
		p.channels[ch.Name] = ch
	}
	ch.Entries = append(ch.Entries, declcfg.Entry{
		Name: b.GetCsvName(), Replaces: b.GetReplaces(), Skips: b.GetSkips(), SkipRange: b.GetSkipRange(),
	})
	if !p.known[b.GetCsvName()] {
		p.known[b.GetCsvName()] = true
		p.bundles = append(p.bundles, b)
	}
}

// deprecate adds the deprecation of an object, nil for none.
func (p *contents) deprecate(schema, name string, d *api.Deprecation) {
	if d != nil {
		p.deprecations = append(p.deprecations, declcfg.Deprecation{
			Reference: declcfg.Reference{Schema: schema, Name: name}, Message: d.GetMessage(),
		})
	}
}

// write writes a package.
func (p *contents) write(ctx context.Context, w io.Writer, c *client.Client, name string) error {
	pkg, err := c.Package(ctx, name)
	if err != nil {
		return err
	}
	p.deprecate(declcfg.SchemaPackage, "", pkg.GetDeprecation())
	for _, ch := range pkg.GetChannels() {
		p.deprecate(declcfg.SchemaChannel, ch.GetName(), ch.GetDeprecation())
	}
	objects := []any{&declcfg.Package{
		Schema: declcfg.SchemaPackage, Name: name, DefaultChannel: pkg.GetDefaultChannelName(),
	}}
	for _, channel := range slices.Sorted(maps.Keys(p.channels)) {
		objects = append(objects, p.channels[channel])
	}
	if err := writeAll(w, objects...); err != nil {
		return err
	}
	convert := func(listed *api.Bundle) (*declcfg.Bundle, error) { return convert(ctx, c, listed) }
	for b, err := range parallel.Try(ctx, calls, slices.Values(p.bundles), convert) {
		if err != nil {
			return err
		}
		if err := writeAll(w, b); err != nil {
			return err
		}
	}
	for _, b := range p.bundles {
		p.deprecate(declcfg.SchemaBundle, b.GetCsvName(), b.GetDeprecation())
	}
	if p.deprecations == nil {
		return nil
	}
	return writeAll(w, &declcfg.Deprecations{
		Schema: declcfg.SchemaDeprecations, Package: name, Entries: p.deprecations,
	})
}

// calls is the number of calls at once.
const calls = 4

func writeAll(w io.Writer, objects ...any) error {
	for _, o := range objects {
		if _, err := w.Write(declcfg.JSON.Append(nil, o)); err != nil {
			return err
		}
	}
	return nil
}

// convert converts a listed bundle, whose manifests it gets.
func convert(ctx context.Context, c *client.Client, listed *api.Bundle) (*declcfg.Bundle, error) {
	name := listed.GetCsvName()
	whole, err := c.Bundle(ctx, listed.GetPackageName(), listed.GetChannelName(), name)
	if err != nil {
		return nil, fmt.Errorf("bundle %q: %w", name, err)
	}
	b := &declcfg.Bundle{
		Schema: declcfg.SchemaBundle, Name: name, Package: listed.GetPackageName(), Image: listed.GetBundlePath(),
	}
	for i, p := range listed.GetProperties() {
		value := jsontext.Value(p.GetValue())
		if !value.IsValid() {
			return nil, fmt.Errorf("bundle %q: properties[%d]: the value is not JSON", name, i)
		}
		if p.GetType() != declcfg.PropertyBundleObject && p.GetType() != declcfg.PropertyCSVMetadata {
			b.Properties = append(b.Properties, declcfg.Property{Type: p.GetType(), Value: value})
		}
	}
	for _, manifest := range whole.GetObject() {
		p, err := declcfg.NewProperty(declcfg.PropertyBundleObject, declcfg.BundleObject{Data: []byte(manifest)})
		if err != nil {
			return nil, fmt.Errorf("bundle %q: %w", name, err)
		}
		b.Properties = append(b.Properties, p)
	}
	if isMetadata(whole) {
		if _, err := bundle.MigrateToCSVMetadata(b); err != nil {
			return nil, fmt.Errorf("bundle %q: %w", name, err)
		}
	}
	return b, nil
}

// isMetadata reports whether a registry made the only manifest of a bundle of its olm.csv.metadata: there are no
// Deployments in it.
func isMetadata(b *api.Bundle) bool {
	if len(b.GetObject()) != 1 {
		return false
	}
	var csv struct {
		Spec struct {
			Install struct {
				Spec struct {
					Deployments []jsontext.Value `json:"deployments"`
				} `json:"spec"`
			} `json:"install"`
		} `json:"spec"`
	}
	return json.Unmarshal([]byte(b.GetObject()[0]), &csv) == nil && len(csv.Spec.Install.Spec.Deployments) == 0
}
