package serve

import (
	"cmp"
	"net"
	"net/netip"
	"sync"
	"time"
)

// connections are those of a server, gRPC and HTTP together. When there are as many as there may be, a new one
// takes the place of another: of the client with the most, that which has been idle for longest. Connections with
// calls under way are closed too, for a client that has fewer.
type connections struct {
	most int

	mu      sync.Mutex
	count   int
	clients map[string]map[*guardedConn]struct{}
}

func newConnections(most int) *connections {
	return &connections{most: most, clients: map[string]map[*guardedConn]struct{}{}}
}

// add enters a connection. It reports whether there was room for it, and whether another one was closed for that.
func (s *connections) add(c *guardedConn) (added, evicted bool) {
	s.mu.Lock()
	var victim *guardedConn
	if s.count >= s.most {
		if victim = s.victim(c.account.client); victim == nil {
			s.mu.Unlock()
			return false, false
		}
		s.drop(victim)
	}
	own := s.clients[c.account.client]
	if own == nil {
		own = map[*guardedConn]struct{}{}
		s.clients[c.account.client] = own
	}
	own[c] = struct{}{}
	s.count++
	s.mu.Unlock()
	if victim != nil {
		victim.Close()
	}
	return true, victim != nil
}

// remove forgets a connection that was closed.
func (s *connections) remove(c *guardedConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(c)
}

func (s *connections) drop(c *guardedConn) {
	own := s.clients[c.account.client]
	if _, ok := own[c]; !ok {
		return
	}
	delete(own, c)
	s.count--
	if len(own) == 0 {
		delete(s.clients, c.account.client)
	}
}

// victim returns the connection to close for one of a client, nil where that client has the most itself and uses all of
// them.
func (s *connections) victim(client string) *guardedConn {
	heaviest := client
	for other, own := range s.clients {
		if len(own) > len(s.clients[heaviest]) {
			heaviest = other
		}
	}
	var oldest *guardedConn
	var state connState
	for c := range s.clients[heaviest] {
		now := c.state()
		if heaviest == client && now.busy {
			continue
		}
		if oldest == nil || now.before(state) {
			oldest, state = c, now
		}
	}
	return oldest
}

// A connState says how much a connection is used.
type connState struct {
	busy  bool // with a call
	since time.Time
}

// before reports whether a connection is closed before another one.
func (s connState) before(other connState) bool {
	if s.busy != other.busy {
		return !s.busy
	}
	return s.since.Before(other.since)
}

// clientOf returns what clients are told apart by: the address, or of IPv6 the network, since there everyone has as
// many addresses as they like. All that come through one socket are one client.
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

// A guardedListener accepts connections that break when the other side does not read what is written to it, and that
// calls can break: gRPC itself waits for ever for a client that reads nothing.
type guardedListener struct {
	net.Listener
	*limits
}

func (l guardedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := l.guard(conn)
		added, evicted := l.connections.add(c)
		if evicted {
			l.refusals.evicted.Add(1)
		}
		if added {
			return c, nil
		}
		l.refusals.refused.Add(1)
		conn.Close()
	}
}

// guard returns a connection with limits.
func (l *limits) guard(conn net.Conn) *guardedConn {
	c := &guardedConn{Conn: conn, limits: l, since: time.Now()}
	c.account = &account{
		limits: l, client: clientOf(conn.RemoteAddr().String()), conn: c, held: map[*charge]struct{}{},
	}
	return c
}

type guardedConn struct {
	net.Conn
	*limits
	account *account

	mu    sync.Mutex
	calls int       // under way
	since time.Time // when the number of calls changed
}

// RemoteAddr returns an address by which calls find their connection.
func (c *guardedConn) RemoteAddr() net.Addr { return connAddr{c.Conn.RemoteAddr(), c} }

func (c *guardedConn) Write(p []byte) (int, error) {
	if err := c.Conn.SetWriteDeadline(time.Now().Add(stallTime)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *guardedConn) Close() error {
	c.connections.remove(c)
	err := c.Conn.Close()
	// Not before: a call that has no account any more would still send its error.
	c.account.close()
	return err
}

// call counts calls that begin, and with -1 those that end.
func (c *guardedConn) call(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls += n
	c.since = time.Now()
}

func (c *guardedConn) state() connState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return connState{c.calls > 0, c.since}
}

// A connAddr is the address of a client and the connection to it.
type connAddr struct {
	net.Addr
	conn *guardedConn
}
