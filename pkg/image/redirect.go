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
	"strings"
	"sync"
)

// A Destination is where registries may lead although it is in a network that is not theirs: a host, or a range of
// addresses.
type Destination struct {
	host      string // without a port; "" if it is a range
	addresses netip.Prefix
}

// ParseDestination reads a host without a port, an address, or a range of addresses such as 10.0.0.0/8.
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

// A network is where an address can be reached from: "" is the internet, the others end at a host or a site.
type network string

const (
	loopback  network = "loopback"
	linkLocal network = "link-local"
	private   network = "private"
	multicast network = "multicast"
)

// networks are the ranges of addresses that are not the internet, see the registries of IANA for special-purpose
// addresses. The first that has an address counts.
var networks = []struct {
	addresses netip.Prefix
	network   network
}{
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("0.0.0.0/8"), loopback}, // a connection to 0.0.0.0 is one to this host
	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("::/128"), loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("fd00:ec2::254/128"), linkLocal},  // where AWS has the secrets of a machine
	{netip.MustParsePrefix("100.100.100.200/32"), linkLocal}, // where Alibaba Cloud has them
	{netip.MustParsePrefix("10.0.0.0/8"), private},
	{netip.MustParsePrefix("172.16.0.0/12"), private},
	{netip.MustParsePrefix("192.168.0.0/16"), private},
	{netip.MustParsePrefix("100.64.0.0/10"), private}, // behind the NAT of a carrier
	{netip.MustParsePrefix("192.0.0.0/24"), private},
	{netip.MustParsePrefix("198.18.0.0/15"), private},
	{netip.MustParsePrefix("fc00::/7"), private},
	{netip.MustParsePrefix("fec0::/10"), private},
	{netip.MustParsePrefix("64:ff9b:1::/48"), private}, // NAT64 of a site
	{netip.MustParsePrefix("224.0.0.0/4"), multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), multicast}, // broadcast is in it
	{netip.MustParsePrefix("ff00::/8"), multicast},
}

// embeddings are ranges of IPv6 addresses that have an IPv4 address in them, and where.
var embeddings = []struct {
	addresses netip.Prefix
	at        int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
	{netip.MustParsePrefix("::/96"), 12},        // IPv4-compatible
}

// networkOf returns the network of an address, or of the IPv4 address that it embeds.
func networkOf(addr netip.Addr) network {
	addr = plainAddress(addr)
	for _, n := range networks {
		if n.addresses.Contains(addr) {
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

// parseAddress returns the address that a host is in itself: in digits, or as localhost.
func parseAddress(host string) (netip.Addr, bool) {
	if name := plainHost(host); name == "localhost" || strings.HasSuffix(name, ".localhost") && isHostName(name) {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(host, "."))
	return plainAddress(addr), err == nil
}

// plainAddress returns an address as it is compared.
func plainAddress(addr netip.Addr) netip.Addr { return addr.WithZone("").Unmap() }

// plainHost returns a host as it is compared.
func plainHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

var (
	hostForm = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?$`)
	// numberForm is that of the last part of an IPv4 address, which resolvers know in forms such as 0x7f.1.
	numberForm = regexp.MustCompile(`(^|\.)([0-9]+|0[xX][0-9A-Fa-f]*)\.?$`)
)

// isHostName reports whether host is a name, which neither resolvers nor shells take for anything else.
func isHostName(host string) bool { return hostForm.MatchString(host) && !numberForm.MatchString(host) }

// A redirectError says that a registry leads to where it must not.
type redirectError struct {
	registry string
	host     string     // that it leads to
	addr     netip.Addr // that it has; invalid if the host is neither a name nor an address
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

// destination returns the host as [ParseDestination] reads it.
func (e *redirectError) destination() string {
	if isHostName(e.host) {
		return e.host
	}
	return plainAddress(e.addr).String()
}

// advice says how to allow it.
func (e *redirectError) advice() string {
	if !e.addr.IsValid() {
		return ""
	}
	return "if that is intended, pass --allow-redirect " + e.destination()
}

// errDowngrade is in the chain of errors about redirects from TLS to plain HTTP.
var errDowngrade = errors.New("plain HTTP is not allowed after TLS")

func downgrade(to *url.URL) error { return fmt.Errorf("%s: %w", printable(to.Host), errDowngrade) }

// A redirectPolicy decides where registries may lead: to the internet, to the network in which they are themselves, and
// to the destinations that the user allows. All that they make us ask for is a redirect in this sense: also the server
// of tokens, and the place to upload to.
type redirectPolicy struct {
	allowed []Destination

	mu    sync.Mutex
	homes map[string]network // by registry, of all connections to it; "" if they differ
}

// A route is the way of a request.
type route struct {
	registry string // whose image or login it is about, as in URLs
	host     string // as in URLs
	verified bool   // by TLS: whoever answers is that host
	proxied  bool   // by a proxy that the user has chosen, which resolves the host
}

func (r route) hostname() string { return (&url.URL{Host: r.host}).Hostname() }

// isHome reports whether the route leads to the registry itself.
func (r route) isHome() bool { return r.host == r.registry }

// checkHost returns why a route must not be taken, as far as its host tells.
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

// checkAddress returns why an address must not be connected to for a route.
func (p *redirectPolicy) checkAddress(to route, addr netip.Addr) error {
	n, host := networkOf(addr), to.hostname()
	if n == "" || to.isHome() && to.verified {
		return nil
	}
	for _, d := range p.allowed {
		if d.has(host, addr) {
			return nil
		}
	}
	if home, known := p.home(to.registry); n == home || to.isHome() && !known {
		return nil
	}
	return &redirectError{to.registry, host, plainAddress(addr), n}
}

// home returns the network of a registry, if it was reached before or its name has the address.
func (p *redirectPolicy) home(registry string) (home network, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, ok := p.homes[registry]; ok {
		return n, true
	}
	addr, ok := parseAddress(route{host: registry}.hostname())
	return networkOf(addr), ok
}

// connected notes the address at which a registry was reached. Whoever answers for its name can change that at any
// time, so it is in a network only if all its addresses are.
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

// A registryKey is the key of the registry in the context of requests.
type registryKey struct{}

// withRegistry returns a context for requests that a registry, as in URLs, may cause.
func withRegistry(ctx context.Context, registry string) context.Context {
	return context.WithValue(ctx, registryKey{}, registry)
}

// registryOf returns the registry that a request was made for: that of the context or else, for callers of their own,
// the host that was asked before any redirect.
func registryOf(r *http.Request) string {
	if registry, ok := r.Context().Value(registryKey{}).(string); ok {
		return registry
	}
	return redirectedFrom(r).URL.Host
}

// redirectedFrom returns the request that redirects began with.
func redirectedFrom(r *http.Request) *http.Request {
	for r.Response != nil && r.Response.Request != nil {
		r = r.Response.Request
	}
	return r
}
