package image

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Destination is a host or an address range that registries may redirect to even though it is not in their own
// network.
type Destination struct {
	host      string // without a port; "" for a range
	addresses netip.Prefix
}

// ParseDestination parses a host without a port, an address, or an address range such as 10.0.0.0/8.
func ParseDestination(text string) (Destination, error) {
	if addresses, err := netip.ParsePrefix(text); err == nil {
		return Destination{addresses: addresses.Masked()}, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = plainAddress(addr)
		return Destination{addresses: netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	if !isHostName(text) {
		return Destination{}, fmt.Errorf("%q is not a host, an address or a range of addresses such as 10.0.0.0/8", text)
	}
	return Destination{host: plainHost(text)}, nil
}

func (d Destination) has(host string, addr netip.Addr) bool {
	if d.host != "" {
		return d.host == plainHost(host)
	}
	return d.addresses.Contains(plainAddress(addr))
}

// A network is the reach of an address: "" is the internet, other networks are local to a host or a site.
type network string

const (
	loopback  network = "loopback"
	linkLocal network = "link-local"
	private   network = "private"
	multicast network = "multicast"
)

// networks are the address ranges outside the internet, see the IANA registries for special-purpose addresses. The
// first network with a matching range applies.
var networks = []struct {
	network network
	ranges  []netip.Prefix
}{
	{loopback, prefixes("127.0.0.0/8", "::1/128", "::/128", "0.0.0.0/8")}, // connecting to 0.0.0.0 reaches this host
	// The last two are the metadata services of AWS and Alibaba Cloud, with the secrets of a machine.
	{linkLocal, prefixes("169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128", "100.100.100.200/32")},
	// 100.64.0.0/10 is carrier-grade NAT, 64:ff9b:1::/48 local-use NAT64.
	{private, prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
		"fc00::/7", "fec0::/10", "64:ff9b:1::/48")},
	{multicast, prefixes("224.0.0.0/4", "240.0.0.0/4", "ff00::/8")}, // includes broadcast
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// embeddings are IPv6 ranges whose addresses contain an IPv4 address, and its byte offset.
var embeddings = []struct {
	addresses netip.Prefix
	at        int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible
}

// networkOf returns the network of an address, or of the IPv4 address embedded in it.
func networkOf(addr netip.Addr) network {
	addr = plainAddress(addr)
	for _, n := range networks {
		if slices.ContainsFunc(n.ranges, func(p netip.Prefix) bool { return p.Contains(addr) }) {
			return n.network
		}
	}
	for _, e := range embeddings {
		if bytes := addr.AsSlice(); e.addresses.Contains(addr) {
			return networkOf(netip.AddrFrom4([4]byte(bytes[e.at:])))
		}
	}
	return ""
}

// parseAddress returns the address of a host that is an IP address or localhost.
func parseAddress(host string) (netip.Addr, bool) {
	if name := plainHost(host); name == "localhost" || strings.HasSuffix(name, ".localhost") && isHostName(name) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(host, "."))
	return plainAddress(addr), err == nil
}

// plainAddress normalizes an address for comparison.
func plainAddress(addr netip.Addr) netip.Addr { return addr.WithZone("").Unmap() }

// plainHost normalizes a host for comparison.
func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

var (
	hostForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)
	// numberForm matches the last part of an IPv4 address, which resolvers accept in forms such as 0x7f.1.
	numberForm = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9A-Fa-f]*)\.?$`)
)

// isHostName reports whether host is unambiguously a name, to resolvers and shells.
func isHostName(host string) bool { return hostForm.MatchString(host) && !numberForm.MatchString(host) }

// A redirectError reports a redirect of a registry that is not allowed.
type redirectError struct {
	registry string
	host     string     // the target of the redirect
	addr     netip.Addr // the address of host; invalid if host is neither a name nor an address
	network  network
}

func (e *redirectError) Error() string {
	if !e.addr.IsValid() {
		return fmt.Sprintf("%s redirects to %s, which is not a valid host", e.registry, printable(e.host))
	}
	to := e.destination()
	if text := e.addr.String(); text != to {
		to += " (" + text + ")"
	}
	return fmt.Sprintf("%s redirects to %s, a %s address", e.registry, to, e.network)
}

// destination returns the host in the form of [ParseDestination].
func (e *redirectError) destination() string {
	if isHostName(e.host) {
		return e.host
	}
	return plainAddress(e.addr).String()
}

// advice returns the flag that allows the redirect.
func (e *redirectError) advice() string {
	if !e.addr.IsValid() {
		return ""
	}
	return "if that is intended, pass --allow-redirect " + e.destination()
}

// errDowngrade is wrapped by errors about redirects from TLS to plain HTTP.
var errDowngrade = errors.New("plain HTTP is not allowed after TLS")

func downgrade(to *url.URL) error { return fmt.Errorf("%s: %w", printable(to.Host), errDowngrade) }

// A redirectPolicy restricts the targets of registries to the internet, their own network, and the destinations that
// the user allows. Every request that a registry causes counts as a redirect, including requests to token servers and
// upload locations.
type redirectPolicy struct {
	allowed []Destination

	mu    sync.Mutex
	homes map[string]network // by registry, the network of all its connections; "" if they differ
}

// A route is a host to send a request to, and the registry that the request is for.
type route struct {
	registry string // the registry of the image or login, as in URLs
	host     string // as in URLs
	verified bool   // by TLS, so that only this host can answer
	proxied  bool   // sent through the user's proxy, which resolves the host
}

func (r route) hostname() string { return (&url.URL{Host: r.host}).Hostname() }

// isHome reports whether the target of the route is the registry itself.
func (r route) isHome() bool { return r.host == r.registry }

// checkHost returns an error if the host of a route is not allowed. The addresses of a name are checked when dialing,
// unless a proxy resolves it.
func (p *redirectPolicy) checkHost(to route) error {
	host := to.hostname()
	addr, ok := parseAddress(host)
	switch {
	case to.isHome():
		return nil
	case ok:
		return p.checkAddress(to, addr)
	case !isHostName(host):
		return &redirectError{registry: to.registry, host: host}
	}
	return nil
}

// checkAddress returns an error if connecting to an address is not allowed for a route.
func (p *redirectPolicy) checkAddress(to route, addr netip.Addr) error {
	n, host := networkOf(addr), to.hostname()
	if n == "" || to.isHome() && to.verified ||
		slices.ContainsFunc(p.allowed, func(d Destination) bool { return d.has(host, addr) }) {
		return nil
	}
	if home, known := p.home(to.registry); n == home || to.isHome() && !known {
		return nil
	}
	return &redirectError{to.registry, host, plainAddress(addr), n}
}

// home returns the network of a registry that was reached before, or whose host is an address.
func (p *redirectPolicy) home(registry string) (home network, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.homes[registry]; ok {
		return n, true
	}
	addr, ok := parseAddress(route{host: registry}.hostname())
	return networkOf(addr), ok
}

// connected records an address at which a registry was reached. The owner of the registry can change its DNS entry at
// any time, so the registry is in a network only if all its addresses are.
func (p *redirectPolicy) connected(registry string, addr net.Addr) {
	at, err := netip.ParseAddrPort(addr.String())
	n := networkOf(at.Addr())
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, ok := p.homes[registry]; err != nil || ok && before != n {
		n = ""
	}
	p.homes[registry] = n
}

// A registryKey is the context key for the registry of a request.
type registryKey struct{}

// withRegistry returns a context for requests caused by a registry, given as in URLs.
func withRegistry(ctx context.Context, registry string) context.Context {
	return context.WithValue(ctx, registryKey{}, registry)
}

// registryOf returns the registry that a request is for: from the context or else, for external callers, the host of
// the request before any redirect.
func registryOf(r *http.Request) string {
	if registry, ok := r.Context().Value(registryKey{}).(string); ok {
		return registry
	}
	return redirectedFrom(r).URL.Host
}

// redirectedFrom returns the original request of a chain of redirects.
func redirectedFrom(r *http.Request) *http.Request {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
	}
	return r
}
