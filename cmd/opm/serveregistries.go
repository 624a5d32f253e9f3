package main

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/opm-toolchain/opm/internal/nearest"
)

// perCatalog is the value of a flag that is given once for all catalogs, or as NAME=VALUE for each of some.
type perCatalog struct {
	all  string
	each map[string]string // by name
}

// Set implements pflag.Value. Text before "=" is the name of a catalog unless it looks like a path or an address.
func (v *perCatalog) Set(text string) error {
	name, value, named := strings.Cut(text, "=")
	if !named || strings.ContainsAny(name, "/:@") {
		v.all = text
		return nil
	}
	if _, twice := v.each[name]; twice {
		return fmt.Errorf("%s is given twice", name)
	}
	if v.each == nil {
		v.each = map[string]string{}
	}
	v.each[name] = value
	return nil
}

func (v *perCatalog) String() string { return v.all }

func (v *perCatalog) Type() string { return "string" }

// A servedRegistry is what clients of one address see.
type servedRegistry struct {
	*servedCatalogs
	cacheName string
	addr      string // of gRPC; "" serves the catalogs over HTTP only
}

// registries returns one registry of all catalogs or, where flags name catalogs, one for each; those with an address
// come first.
func (f *serveFlags) registries(c *servedCatalogs) ([]*servedRegistry, error) {
	addrs, all := f.addr.each, f.addr.all
	if all == "" {
		all = net.JoinHostPort("", f.port.all)
	}
	for name, port := range f.port.each {
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
			return nil, usageError{fmt.Errorf("no catalog is named %q%s", name, nearest.Hint(name, c.names()))}
		}
	}
	var first, others []*servedRegistry
	for _, r := range c.refs {
		one := *c
		one.refs = []*namedRef{r}
		served := &servedRegistry{&one, r.name, addrs[r.name]}
		switch {
		case served.addr != "":
			first = append(first, served)
		case f.httpAddr != "" || f.cacheOnly:
			others = append(others, served)
		default:
			return nil, usageError{fmt.Errorf(
				"catalog %q has no address; give it one with --port %[1]s=PORT, or add --http-addr", r.name)}
		}
	}
	return append(first, others...), nil
}

// adviceOnClash returns what to do about catalogs with the same packages.
func adviceOnClash(args, names []string) string {
	run := append([]string{"opm serve"}, args...)
	for i, name := range names {
		run = append(run, fmt.Sprintf("--port %s=%d", name, 50051+i))
	}
	return "catalogs with the same packages need a gRPC port each, or --grpc-catalog " + names[0] +
		" and --http-addr; run: " + strings.Join(run, " ")
}
