package serve

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
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

// What clients may cost. Requests hold nothing but names, and clients in clusters make one call at a time.
const (
	maxRequest    = 64 << 10         // bytes of a request
	maxHeader     = 16 << 10         // bytes of the metadata of a request
	maxCalls      = 250              // at one time on a connection
	readBuffer    = 8 << 10          // bytes of each connection; requests are small
	streamWorkers = 8                // goroutines that calls take turns on: new ones would grow their stacks each time
	handshakeTime = 10 * time.Second // within which a connection has to speak HTTP/2
	pingAfter     = time.Minute      // of silence, to find connections that lead nowhere any more
	pingTimeout   = 20 * time.Second
	pingInterval  = 10 * time.Second // that clients may ping in; upstream has five minutes
)

// Defaults of limits that depend on how much memory there is. Without a limit on memory, they are the most that is
// given.
const (
	// DefaultIdle is when a connection without calls is closed: clients of gRPC close theirs after as long.
	DefaultIdle = 30 * time.Minute

	maxConnections = 4000
	connCost       = 32 << 10 // bytes of an idle connection, about
	openCalls      = 4_000    // that are waiting or being answered
	callCost       = 24 << 10 // bytes of one, about
	maxSendMemory  = 256 << 20
)

// Limits are what clients may take of a server, all of them together. Zero values depend on the memory that the server
// may use.
type Limits struct {
	Connections int           // open at one time, gRPC and HTTP; 0 means up to 4000
	SendMemory  int64         // bytes of answers that are being sent; 0 means a fifth of the memory, up to 256 MiB
	Idle        time.Duration // after which a connection without calls is closed; 0 means DefaultIdle
}

// defaults returns the limits with those that are not set for a server with so much memory.
func (l Limits) defaults(memory int64) Limits {
	if l.Connections == 0 {
		l.Connections = int(min(maxConnections, max(memory/10/connCost, 100)))
	}
	if l.SendMemory == 0 {
		l.SendMemory = min(maxSendMemory, memory/5)
	}
	if l.Idle == 0 {
		l.Idle = DefaultIdle
	}
	return l
}

// limits keep a server safe from slow and hostile clients.
type limits struct {
	idle        time.Duration
	log         *slog.Logger
	connections *connections
	memory      sendMemory
	calls       *budget // open ones
	refusals    refusals
	loaded      atomic.Bool // a catalog, since tidy looked
	late        atomic.Bool // a client, since tidy looked
}

func newLimits(opts ServerOptions) *limits {
	memory := MemoryLimit()
	set := opts.Limits.defaults(memory)
	if most := connectionsWithin(openFiles()); set.Connections > most {
		if opts.Limits.Connections > 0 {
			opts.Log.Warn("fewer connections than asked for, since the process may open so few files (ulimit -n)",
				"asked", set.Connections, "connections", most)
		}
		set.Connections = most
	}
	return &limits{
		idle: set.Idle, log: opts.Log,
		connections: newConnections(set.Connections),
		memory:      newSendMemory(set.SendMemory),
		calls:       newBudget(min(openCalls, max(memory/10/callCost, 256))),
	}
}

const (
	maxOpenFiles  = 1 << 30 // where the system sets no limit
	reservedFiles = 100     // for what is not a connection of a client: stores, listeners, registries
)

// connectionsWithin returns how many connections there may be where a number of files may be open.
func connectionsWithin(files uint64) int {
	return int(files - min(reservedFiles, files/2))
}

// listener returns l with limits on its connections.
func (l *limits) listener(of net.Listener) net.Listener { return guardedListener{of, l} }

// options returns the options of a gRPC server.
func (l *limits) options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ReadBufferSize(readBuffer),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: pingAfter, Timeout: pingTimeout, MaxConnectionIdle: l.idle,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval, PermitWithoutStream: true}),
		grpc.InTapHandle(l.open),
	}
}

// open counts a call that is opened, or refuses it. There is always room for questions about health.
func (l *limits) open(ctx context.Context, info *tap.Info) (context.Context, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	addr, ok := p.Addr.(connAddr)
	if !ok {
		return ctx, nil
	}
	conn, counted := addr.conn, !isHealth(info.FullMethodName)
	if counted && !l.calls.try(conn.account.client, 1) {
		l.refusals.calls.Add(1)
		return ctx, status.Error(codes.Unavailable, "too many calls are open; try again")
	}
	conn.call(1)
	context.AfterFunc(ctx, func() {
		conn.call(-1)
		if counted {
			l.calls.release(conn.account.client, 1)
		}
	})
	return ctx, nil
}

func isHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.") }

// connState counts the requests on connections of HTTP.
func (l *limits) connState(c net.Conn, state http.ConnState) {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = wrapped.NetConn()
	}
	conn, ok := c.(*guardedConn)
	if !ok {
		return
	}
	switch state {
	case http.StateActive:
		conn.call(1)
	case http.StateIdle:
		conn.call(-1)
	}
}

// countRequests refuses requests when too many are being answered. There is always room for probes. A body, which no
// request needs, has to arrive in time: after an answer, net/http reads the body to the end.
func (l *limits) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(httpHeaderTime))
		}
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			client := clientOf(r.RemoteAddr)
			if !l.calls.try(client, 1) {
				l.refusals.calls.Add(1)
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests are open; try again", http.StatusServiceUnavailable)
				return
			}
			defer l.calls.release(client, 1)
		}
		next.ServeHTTP(w, r)
	})
}

// request waits for memory to answer a request of HTTP.
func (l *limits) request(r *http.Request, bytes int) (release func(), err error) {
	client := clientOf(r.RemoteAddr)
	from := l.memory.of(int64(bytes))
	taken, err := from.acquire(r.Context(), client, int64(bytes))
	if err != nil {
		return nil, err
	}
	return func() { from.release(client, taken) }, nil
}
