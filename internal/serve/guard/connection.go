package guard

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/peer"
)

// The minimum pace at which a client must read responses.
const (
	StallTime = 2 * time.Minute // in which it must read PaceBytes, or all bytes that were unsent at its start
	PaceBytes = 8 << 20         // few enough for a large response over a slow network

	lostMessageDelay = 15 * time.Second // until messages that gRPC has lost are collected; see [Guard.Run]
)

// A connection is a client's connection, with its calls, the memory held by their responses, and the pace at which the
// client reads them. gRPC itself waits forever for a client that reads nothing.
type connection struct {
	net.Conn
	guard  *Guard
	client string       // see clientOf
	unsent atomic.Int64 // bytes of messages that gRPC has not written to the connection
	taken  atomic.Int64 // bytes that it has written since the stall time began

	mu    sync.Mutex
	calls int       // in progress
	since time.Time // when the number of calls changed

	held    map[*charge]struct{} // nil when the connection is closed
	timer   *time.Timer          // nil before the first message
	running bool                 // the timer
	due     int64                // value of taken that the client must reach within the stall time
	late    bool                 // the client did not reach it, and has lostMessageDelay left
}

// Listener returns l with limits on its connections.
func (g *Guard) Listener(l net.Listener) net.Listener { return listener{l, g} }

type listener struct {
	net.Listener
	guard *Guard
}

// Accept implements [net.Listener]. It returns only connections for which there is room.
func (l listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{
			Conn: conn, guard: l.guard, client: clientOf(conn.RemoteAddr().String()), since: time.Now(),
			held: map[*charge]struct{}{},
		}
		if l.guard.add(c) {
			return c, nil
		}
		l.guard.refused.Add(1)
		conn.Close()
	}
}

// clientOf returns the key clients are grouped by: the IPv4 address or the IPv6 /64, since a client can use any number
// of IPv6 addresses. All connections of a Unix socket belong to one client.
func clientOf(addr string) string {
	host, err := netip.ParseAddrPort(addr)
	if err != nil {
		return cmp.Or(addr, "local")
	}
	ip := host.Addr().Unmap()
	if ip.Is6() {
		return netip.PrefixFrom(ip, 64).Masked().String()
	}
	return ip.String()
}

// add adds a connection, and reports whether there was room for it. At the limit, it closes another connection instead.
// Even a connection with calls in progress is closed for a client that has fewer connections.
func (g *Guard) add(c *connection) bool {
	g.mu.Lock()
	var victim *connection
	if g.count >= g.opts.Connections {
		if victim = g.victim(c.client); victim == nil {
			g.mu.Unlock()
			return false
		}
		g.remove(victim)
	}
	own := g.clients[c.client]
	if own == nil {
		own = map[*connection]struct{}{}
		g.clients[c.client] = own
	}
	own[c] = struct{}{}
	g.count++
	g.mu.Unlock()
	if victim != nil {
		g.evicted.Add(1)
		victim.Close()
	}
	return true
}

// remove removes a connection unless it was removed before. The guard is locked.
func (g *Guard) remove(c *connection) {
	own := g.clients[c.client]
	if _, ok := own[c]; !ok {
		return
	}
	delete(own, c)
	g.count--
	if len(own) == 0 {
		delete(g.clients, c.client)
	}
}

// victim returns the connection to close for a new connection of a client: the one that has been idle for the longest
// time, among those of the client with the most connections. It returns nil if that is the same client and all its
// connections are in use. The guard must be locked.
func (g *Guard) victim(client string) *connection {
	heaviest := client
	for other, own := range g.clients {
		if len(own) > len(g.clients[heaviest]) {
			heaviest = other
		}
	}
	var victim *connection
	var least use
	for c := range g.clients[heaviest] {
		now := c.use()
		if heaviest == client && now.busy {
			continue
		}
		if victim == nil || now.less(least) {
			victim, least = c, now
		}
	}
	return victim
}

// A use is the activity of a connection. It determines which connection is closed first.
type use struct {
	busy  bool      // has calls in progress
	since time.Time // when the number of calls changed
}

// less reports whether a connection with use u is closed before one with use other.
func (u use) less(other use) bool {
	if u.busy != other.busy {
		return !u.busy
	}
	return u.since.Before(other.since)
}

func (c *connection) use() use {
	c.mu.Lock()
	defer c.mu.Unlock()
	return use{c.calls > 0, c.since}
}

func (c *connection) addCalls(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls += n
	c.since = time.Now()
}

// A connectionAddr is the address of a client, with its connection, so that calls can find it.
type connectionAddr struct {
	net.Addr
	connection *connection
}

// connectionOf returns the connection of a call, or nil if no listener of a Guard accepted it.
func connectionOf(ctx context.Context) *connection {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	addr, _ := p.Addr.(connectionAddr)
	return addr.connection
}

// RemoteAddr returns a connectionAddr.
func (c *connection) RemoteAddr() net.Addr { return connectionAddr{c.Conn.RemoteAddr(), c} }

// Write implements [net.Conn]. It fails if the client reads nothing within the stall time.
func (c *connection) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(StallTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close implements [net.Conn]. It releases the memory of all responses: gRPC drops its queues without freeing them.
func (c *connection) Close() error {
	c.guard.mu.Lock()
	c.guard.remove(c)
	c.guard.mu.Unlock()
	err := c.Conn.Close()
	// Not before: a call that can take no memory would still send its error.
	c.mu.Lock()
	defer c.mu.Unlock()
	for held := range c.held {
		held.from.release(c.client, held.bytes)
	}
	c.held = nil
	if c.timer != nil {
		c.timer.Stop()
	}
	return err
}

// watch disconnects the client if it does not read the messages that are now unsent.
func (c *connection) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.running || c.held == nil:
		return
	case c.timer == nil:
		c.timer = time.AfterFunc(StallTime, c.checkPace)
	}
	c.beginStallTime()
}

// beginStallTime starts a stall time. The connection must be locked.
func (c *connection) beginStallTime() {
	c.taken.Store(0)
	c.due = min(c.unsent.Load(), PaceBytes)
	c.running, c.late = true, false
	c.timer.Reset(StallTime)
}

// checkPace checks the number of bytes that the client has read, at the end of a stall time.
func (c *connection) checkPace() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.held == nil || c.unsent.Load() == 0:
		c.running = false
	case c.taken.Load() >= c.due:
		c.beginStallTime()
	case !c.late:
		c.late = true
		c.guard.late.Store(true)
		c.timer.Reset(lostMessageDelay)
	default:
		go c.disconnect()
	}
}

// disconnect closes the connection of a client that does not read its responses, and only then logs it: the client gets
// nothing more.
func (c *connection) disconnect() {
	c.Close()
	c.guard.opts.Log.Warn("disconnecting a client that does not read its responses",
		"client", c.RemoteAddr().String(), "after", StallTime)
}
