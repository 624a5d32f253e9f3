package main

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
)

const unixPrefix = "unix:"

// listen opens HOST:PORT or unix:PATH. A socket at PATH that nobody listens on any more is replaced.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	network, addr := networkOf(addr)
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

func networkOf(addr string) (network, rest string) {
	if path, ok := strings.CutPrefix(addr, unixPrefix); ok {
		return "unix", strings.TrimPrefix(path, "//")
	}
	return "tcp", addr
}

// isLeftOver reports whether the socket at path is that of a process that is gone.
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
