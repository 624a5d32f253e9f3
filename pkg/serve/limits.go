package serve

import (
	"context"
	"log/slog"
	"net"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
)

// What clients may cost. Requests hold nothing but names, and clients in clusters make one call at a time.
const (
	maxRequest    = 64 << 10         // bytes of a request
	maxHeader     = 16 << 10         // bytes of the metadata of a request
	maxCalls      = 250              // at one time on a connection
	readBuffer    = 8 << 10          // bytes of each connection; requests are small
	handshakeTime = 10 * time.Second // within which a connection has to speak HTTP/2
	pingAfter     = time.Minute      // of silence, to find connections that lead nowhere any more
	pingTimeout   = 20 * time.Second
	pingInterval  = 10 * time.Second // that clients may ping in; upstream has five minutes
	stallTime     = 2 * time.Minute  // within which a client has to take what is sent to it

	maxConnections = 4000 // at one time; others wait
)

// limits returns the options of a gRPC server that keep it safe from slow and hostile clients.
func limits() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ReadBufferSize(readBuffer),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: pingAfter, Timeout: pingTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval, PermitWithoutStream: true}),
	}
}

// A guardedListener accepts connections that break when the other side does not read what is written to it, and that
// calls can break: gRPC itself waits for ever for a client that reads nothing.
type guardedListener struct {
	net.Listener
	stall time.Duration
}

// guard returns l with limits.
func guard(l net.Listener, stall time.Duration) net.Listener {
	return guardedListener{netutil.LimitListener(l, maxConnections), stall}
}

func (l guardedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guardedConn{c, l.stall}, nil
}

type guardedConn struct {
	net.Conn
	stall time.Duration
}

// RemoteAddr returns an address by which calls find their connection.
func (c *guardedConn) RemoteAddr() net.Addr { return connAddr{c.Conn.RemoteAddr(), c.Conn} }

func (c *guardedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// A connAddr is the address of a client and the connection to it.
type connAddr struct {
	net.Addr
	conn net.Conn
}

// A stallGuard breaks the connections of clients that take no answer for too long.
type stallGuard struct {
	limit time.Duration
	log   *slog.Logger
}

// start watches the call of ctx, whose answers are about to be sent.
func (g *stallGuard) start(ctx context.Context) stallWatch {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return stallWatch{}
	}
	addr, ok := p.Addr.(connAddr)
	if !ok {
		return stallWatch{}
	}
	return stallWatch{g.limit, time.AfterFunc(g.limit, func() {
		g.log.Warn("a client that takes no answers is cut off", "client", addr.String(), "after", g.limit)
		addr.conn.Close()
	})}
}

// A stallWatch is the watch over one call. The zero value watches nothing.
type stallWatch struct {
	limit time.Duration
	timer *time.Timer
}

// progress records that the client took an answer.
func (w stallWatch) progress() {
	if w.timer != nil {
		w.timer.Reset(w.limit)
	}
}

func (w stallWatch) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
