package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/internal/k8sname"
	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/internal/reference"
	"github.com/opm-toolchain/opm/internal/serve/memlimit"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/render"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// A servedRef is an argument of opm serve.
type servedRef struct {
	*reference.Named
	once *render.Catalog // the catalog if it cannot be read twice; nil before it is read
}

// servedCatalogs are the arguments of opm serve.
type servedCatalogs struct {
	refs   []*servedRef
	opts   render.Options
	images *images
}

// catalogs reads the arguments.
func (f *serveFlags) catalogs(cmd *cobra.Command, args []string) (*servedCatalogs, error) {
	refs, err := parseNamedRefs(args)
	if err != nil {
		return nil, err
	}
	for i, r := range refs {
		if err := k8sname.Subdomain(r.Name); err != nil && f.httpAddr != "" {
			return nil, cmdline.Errorf("the name %q of %q: %w; name it, as in NAME=CATALOG", r.Name, args[i], err)
		}
		if f.watch && !r.IsPath() {
			return nil, cmdline.Errorf("--watch needs directories or files, which %q is not", r.Ref)
		}
	}
	c := &servedCatalogs{}
	for _, r := range refs {
		c.refs = append(c.refs, &servedRef{Named: r})
	}
	if c.images, err = f.images.open(cmd); err != nil {
		return nil, err
	}
	c.opts = openOptions(cmd)
	if c.opts.MaxObject == 0 {
		c.opts.MaxObject = min(defaultMaxObject, memlimit.Bytes()/8) // reading an object takes up to four times its size
	}
	c.opts.Images = c.images.opener
	return c, nil
}

// open opens the catalogs for [serve.LoadOptions].
func (c *servedCatalogs) open(ctx context.Context) (*serve.Input, error) {
	in := &serve.Input{}
	var opened []*render.Catalog
	in.Close = func() {
		for _, catalog := range opened {
			catalog.Close()
		}
	}
	for _, r := range c.refs {
		catalog, err := r.open(ctx, c.opts)
		if err != nil {
			in.Close()
			return nil, err
		}
		if catalog != r.once {
			opened = append(opened, catalog)
		}
		in.Catalogs = append(in.Catalogs, serve.Catalog{Name: r.Name, Source: catalog.Sources[0]})
	}
	return in, nil
}

func (r *servedRef) open(ctx context.Context, opts render.Options) (*render.Catalog, error) {
	if r.once != nil {
		return r.once, nil
	}
	kind := reference.Of(r.Ref).Kind
	catalog, err := render.Open(ctx, []string{r.Ref}, opts)
	if err == nil && (kind == reference.StandardInput || kind == reference.Pipe) {
		r.once = catalog
	}
	return catalog, err
}

// paths returns the paths that can be watched.
func (c *servedCatalogs) paths() []string {
	var paths []string
	for _, r := range c.refs {
		if r.IsPath() {
			paths = append(paths, r.Ref)
		}
	}
	return paths
}

// names returns the names of the catalogs.
func (c *servedCatalogs) names() []string {
	var names []string
	for _, r := range c.refs {
		names = append(names, r.Name)
	}
	return slices.Clip(names)
}

func (c *servedCatalogs) close() error {
	var errs []error
	for _, r := range c.refs {
		if r.once != nil {
			errs = append(errs, r.once.Close())
		}
	}
	return errors.Join(append(errs, c.images.close())...)
}

// stateCatalogs returns the CatalogSources of a cluster as arguments NAMESPACE.NAME=CATALOG. CATALOG is from --catalog,
// or else the image of the CatalogSource.
func (f *serveFlags) stateCatalogs(cmd *cobra.Command) ([]string, error) {
	if err := f.state.check(); err != nil {
		return nil, err
	}
	state, err := f.state.readState(cmd)
	if err != nil {
		return nil, err
	}
	if state.CatalogSources.Len() == 0 {
		return nil, fmt.Errorf("%s: no CatalogSource", strings.Join(f.state.paths, ", "))
	}
	given := map[string]string{}
	for _, arg := range f.state.catalogs {
		name, ref, _ := strings.Cut(arg, "=")
		given[name] = ref
	}
	var args, known []string
	used := map[string]bool{}
	for o := range state.CatalogSources.All() {
		name, ref := o.Value.Namespace+"/"+o.Value.Name, o.Value.Spec.Image
		names := []string{name, o.Value.Name}
		known = append(known, names...)
		for _, as := range names {
			if g, ok := given[as]; ok {
				used[as], ref = true, g
				break
			}
		}
		if ref == "" {
			return nil, &declcfg.Error{Pos: o.Pos, Err: fmt.Errorf(
				"CatalogSource %q has no image; name a catalog, as in --catalog %[1]s=CATALOG", name)}
		}
		args = append(args, o.Value.Namespace+"."+o.Value.Name+"="+ref)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !used[name] {
			return nil, cmdline.Errorf("--catalog: no CatalogSource %q%s", name, nearest.Hint(name, known))
		}
	}
	return args, nil
}

// consecutive returns an address for each name: addr for the first name, and the next ports for the others. Port 0
// means any free port for each.
func consecutive(addr string, names []string) (map[string]string, error) {
	host, port, err := net.SplitHostPort(addr)
	first, portErr := strconv.ParseUint(port, 10, 16)
	if err := errors.Join(err, portErr); err != nil {
		return nil, cmdline.Errorf("--state needs an address with the number of a port, which %q is not", addr)
	}
	addrs := map[string]string{}
	for i, name := range names {
		if first > 0 {
			port = strconv.FormatUint(first+uint64(i), 10)
		}
		addrs[name] = net.JoinHostPort(host, port)
	}
	return addrs, nil
}

// isFromState reports whether to serve the CatalogSources of a cluster.
func (f *serveFlags) isFromState() bool { return len(f.state.paths) > 0 }

// args checks the arguments: catalogs, or none if there is a state.
func (f *serveFlags) args(_ *cobra.Command, args []string) error {
	switch {
	case f.isFromState() && len(args) > 0:
		return cmdline.Errorf("--state and argument CATALOG cannot be combined")
	case !f.isFromState() && len(f.state.catalogs) > 0:
		return cmdline.Errorf("--catalog needs --state")
	case !f.isFromState() && len(args) == 0:
		return cmdline.Errorf("argument CATALOG is missing")
	}
	return f.state.live.check(f.state.paths)
}

// A servedRegistry has the catalogs that are served at one address.
type servedRegistry struct {
	*servedCatalogs
	cacheName string
	addr      string // of gRPC; "" serves the catalogs over HTTP only
}

// registries returns one registry with all catalogs or, if flags name catalogs, a registry for each catalog, in their
// order. At least one has an address.
func (f *serveFlags) registries(c *servedCatalogs) ([]*servedRegistry, error) {
	addrs, all := f.addr.Each, f.addr.All
	if all == "" {
		all = net.JoinHostPort("", f.port.All)
	}
	for name, port := range f.port.Each {
		if addrs == nil {
			addrs = map[string]string{}
		}
		addrs[name] = net.JoinHostPort("", port)
	}
	if f.isFromState() && len(addrs) == 0 {
		var err error
		if addrs, err = consecutive(all, c.names()); err != nil {
			return nil, err
		}
	}
	if f.grpcCatalog != "" {
		addrs = map[string]string{f.grpcCatalog: all}
	}
	if len(addrs) == 0 {
		return []*servedRegistry{{servedCatalogs: c, addr: all}}, nil
	}
	for _, name := range slices.Sorted(maps.Keys(addrs)) {
		if !slices.Contains(c.names(), name) {
			return nil, cmdline.Errorf("no catalog is named %q%s", name, nearest.Hint(name, c.names()))
		}
	}
	var registries []*servedRegistry
	for _, r := range c.refs {
		one := *c
		one.refs = []*servedRef{r}
		if addrs[r.Name] == "" && f.httpAddr == "" && !f.load.CacheOnly {
			return nil, cmdline.Errorf(
				"catalog %q has no address; give it one with --port %[1]s=PORT, or add --http-addr", r.Name)
		}
		registries = append(registries, &servedRegistry{&one, r.Name, addrs[r.Name]})
	}
	return registries, nil
}

// adviceOnClash returns the hint for catalogs that have the same packages.
func adviceOnClash(args, names []string) string {
	run := append([]string{"opm serve"}, args...)
	for i, name := range names {
		run = append(run, fmt.Sprintf("--port %s=%d", name, 50051+i))
	}
	return "catalogs with the same packages need a gRPC port each, or --grpc-catalog " + names[0] +
		" and --http-addr; run: " + strings.Join(run, " ")
}
