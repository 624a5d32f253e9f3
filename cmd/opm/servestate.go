package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/nearest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// stateCatalogs returns the CatalogSources of a cluster as arguments NAMESPACE.NAME=CATALOG: with the catalog that
// --catalog gives, or else the image that they have.
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
			return nil, usageError{fmt.Errorf("--catalog: no CatalogSource %q%s", name, nearest.Hint(name, known))}
		}
	}
	return args, nil
}

// consecutive returns an address for each name: the first one has addr, the others the ports after it. Port 0 is any
// that is free.
func consecutive(addr string, names []string) (map[string]string, error) {
	host, port, err := net.SplitHostPort(addr)
	first, portErr := strconv.ParseUint(port, 10, 16)
	if err := errors.Join(err, portErr); err != nil {
		return nil, usageError{fmt.Errorf("--state needs an address with the number of a port, which %q is not", addr)}
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

// printAddresses prints where each CatalogSource is served.
func printAddresses(w io.Writer, registries []*servedRegistry, addrs []net.Addr) error {
	var text strings.Builder
	for i, addr := range addrs {
		fmt.Fprintf(&text, "%s %s\n", strings.Replace(registries[i].cacheName, ".", "/", 1), addr)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// isFromState reports whether the CatalogSources of a cluster are served.
func (f *serveFlags) isFromState() bool { return len(f.state.paths) > 0 }

// args wants catalogs, either as arguments or in a state.
func (f *serveFlags) args(_ *cobra.Command, args []string) error {
	switch {
	case f.isFromState() && len(args) > 0:
		return usageError{errors.New("--state and argument CATALOG cannot be combined")}
	case !f.isFromState() && len(f.state.catalogs) > 0:
		return usageError{errors.New("--catalog needs --state")}
	case !f.isFromState() && len(args) == 0:
		return usageError{errors.New("argument CATALOG is missing")}
	}
	return nil
}
