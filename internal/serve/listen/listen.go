// Package listen opens the addresses of a server.
//
//	l, err := listen.Open(ctx, "unix:/run/opm.sock")
package listen

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
)

// UnixPrefix begins the address of a Unix socket.
const UnixPrefix = "unix:"

// SocketPath returns the path of an address unix:PATH, and whether it is one.
func SocketPath(addr string) (path string, ok bool) {
	path, ok = strings.CutPrefix(addr, UnixPrefix)
	return strings.TrimPrefix(path, "//"), ok
}

// Open opens HOST:PORT or unix:PATH. A stale socket at PATH is replaced.
func Open(ctx context.Context, addr string) (net.Listener, error) {
	network := "tcp"
	if path, ok := SocketPath(addr); ok {
		network, addr = "unix", path
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, addr)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && isLeftOver(ctx, addr) {
		if err := os.Remove(addr); err != nil {
			return nil, err
		}
		return config.Listen(ctx, network, addr)
	}
	return l, err
}

// isLeftOver reports whether no process listens on the socket at path.
func isLeftOver(ctx context.Context, path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
