// Package guard protects a server from slow and hostile clients: it limits the resources of all clients together, and
// disconnects clients that block others. It has four types.
//
// A connection is the gRPC or HTTP connection of a client. Clients are grouped by their address. When a server is full,
// a new connection replaces a connection of the client with the most connections. Every write to a connection has a
// deadline, and the connection counts the bytes of the responses that wait to be written: a client that reads them
// below a minimum pace is disconnected.
//
// A call is a gRPC call. It takes a slot when its request has arrived. Until then it is pending: not for longer than a
// limit, and if too many calls are pending, those of the client with the most are dropped. A stream that waits for its
// next request is pending, too.
//
// A budget shares a limited amount among clients. One budget is for open calls, which are rejected when it is used up.
// Three budgets are for bytes of memory, for which responses wait. A client may hold at most as much as remains free,
// so that something is always left for another client, and a response waits only for responses of about its size.
//
// A lease is the memory that one response has taken from a budget. The response takes it before the store reads
// anything, and releases it when gRPC has written the last message to the connection, or when the connection is closed.
//
// A [Guard] has all connections and budgets of a process, and sets up its servers:
//
//	g := guard.New(guard.Options{
//		Connections: 1000, SendMemory: 64 << 20, Calls: 1000, Request: time.Second, Idle: time.Minute, Log: log,
//	})
//	server := grpc.NewServer(g.GRPCOptions()...)
//	err := server.Serve(g.Listener(l))
//
// The handlers of the servers respond with a [Lease] or a [Stream].
//
// The limits follow from the memory of the pod. Buffers that nobody uses are dropped after 2 to 4 seconds (package
// pool), and all free memory returns to the system 5 to 10 seconds after the last call.
package guard

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/keepalive"
)

// Limits of one client. Requests only contain names, and clients in clusters make one call at a time.
const (
	maxRequest    = 64 << 10         // bytes of a request
	maxHeader     = 16 << 10         // bytes of the metadata of a request
	maxCalls      = 250              // concurrent calls on a connection
	readBuffer    = 8 << 10          // bytes of each connection; requests are small
	streamWorkers = 8                // goroutines that calls share: a new one would have to grow its stack
	handshakeTime = 10 * time.Second // for a new connection to speak HTTP/2
	pingAfter     = time.Minute      // of silence, to detect dead connections
	pingTimeout   = 20 * time.Second
	pingInterval  = 10 * time.Second // minimum interval of pings from clients; upstream has five minutes

	httpHeaderTime = 10 * time.Second // for the header of an HTTP request, and for its body
	httpIdleTime   = 2 * time.Minute  // maximum wait of an HTTP connection for the next request
)

// Options are the limits of all clients together.
type Options struct {
	Connections int           // open at the same time, gRPC and HTTP
	Calls       int64         // open calls, gRPC and HTTP; as many calls of gRPC may wait for their request
	SendMemory  int64         // bytes of responses that are being sent
	Request     time.Duration // in which the request of a gRPC call must arrive
	Idle        time.Duration // after which a connection without calls is closed
	Log         *slog.Logger  // logs disconnected clients and, from time to time, the number of rejected ones
}

// A Guard has the connections and budgets of the servers of a process. It is safe for concurrent use.
type Guard struct {
	opts    Options
	calls   *budget // open calls
	pending pending
	memory  memory

	mu      sync.Mutex
	count   int                                 // of connections
	clients map[string]map[*connection]struct{} // connections by client

	loaded atomic.Bool // a catalog was loaded since the last check of memory
	late   atomic.Bool // a client missed the pace since the last check of memory

	// Counts since the last log message:
	refusedCalls atomic.Int64 // gRPC and HTTP calls rejected because too many were open
	evicted      atomic.Int64 // connections closed to make room for others
	refused      atomic.Int64 // connections rejected because there was no room
}

// New returns a Guard with no connections.
func New(opts Options) *Guard {
	return &Guard{
		opts: opts, calls: newBudget(opts.Calls), pending: pending{limit: opts.Calls}, memory: newMemory(opts.SendMemory),
		clients: map[string]map[*connection]struct{}{},
	}
}

// GRPCOptions returns the options of a gRPC server. It must serve a listener returned by [Guard.Listener].
func (g *Guard) GRPCOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.ReadBufferSize(readBuffer),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			Time: pingAfter, Timeout: pingTimeout, MaxConnectionIdle: g.opts.Idle,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingInterval, PermitWithoutStream: true}),
		grpc.InTapHandle(g.newCall),
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2(proto.Name)}),
	}
}

// IsHealth reports whether a gRPC method is one of the health service.
func IsHealth(method string) bool { return strings.HasPrefix(method, "/grpc.health.") }

// HTTPServer returns an HTTP server. It must serve a listener returned by [Guard.Listener].
func (g *Guard) HTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           g.countRequests(handler),
		ReadHeaderTimeout: httpHeaderTime,
		IdleTimeout:       min(httpIdleTime, g.opts.Idle),
		ConnState:         connState,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(g.opts.Log.Handler(), slog.LevelDebug),
	}
}

// connState counts the requests on a connection of HTTP.
func connState(conn net.Conn, state http.ConnState) {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
		conn = wrapped.NetConn()
	}
	c, ok := conn.(*connection)
	switch {
	case ok && state == http.StateActive:
		c.addCalls(1)
	case ok && state == http.StateIdle:
		c.addCalls(-1)
	}
}

// countRequests rejects requests when too many are open. Probes are never rejected. A request body, which no route
// needs, must arrive in time, since net/http reads it to the end after the response.
func (g *Guard) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(httpHeaderTime))
		}
		if r.URL.Path != "/healthz" && r.URL.Path != "/readyz" {
			client := clientOf(r.RemoteAddr)
			if !g.calls.try(client, 1) {
				g.refusedCalls.Add(1)
				w.Header().Set("Retry-After", "1")
				http.Error(w, "too many requests are open; try again", http.StatusServiceUnavailable)
				return
			}
			defer g.calls.release(client, 1)
		}
		next.ServeHTTP(w, r)
	})
}

// Memory waits for memory to respond to an HTTP request, and returns a function that changes its size: less is
// released, and more is taken without waiting. The response must release all of it in the end. The error is the error
// of the request's context.
func (g *Guard) Memory(r *http.Request, bytes int) (resize func(bytes int), err error) {
	client := clientOf(r.RemoteAddr)
	from := g.memory.budgetFor(int64(bytes))
	taken, err := from.acquire(r.Context(), client, int64(bytes))
	if err != nil {
		return nil, err
	}
	return func(bytes int) {
		more := int64(bytes) - taken
		switch taken = int64(bytes); {
		case more > 0:
			from.add(client, more)
		case more < 0:
			from.release(client, -more)
		}
	}, nil
}

// SendMemoryHeld returns the number of bytes of the responses that are being sent.
func (g *Guard) SendMemoryHeld() int64 {
	now, _, _ := g.memory.usage()
	return now
}

// Loaded records that a catalog was loaded, which leaves garbage.
func (g *Guard) Loaded() { g.loaded.Store(true) }

const (
	// returnEvery is the interval at which memory is returned to the system after load. By then, pools have dropped their
	// buffers.
	returnEvery = 5 * time.Second

	// reportEvery is the interval at which the number of rejected clients is logged. A line for each would fill the
	// log.
	reportEvery = time.Minute
)

// Run returns memory to the system, and logs the number of rejected clients, until ctx is done. It returns the error of
// ctx.
//
// Memory is returned when load ends or a catalog was loaded: a server without calls makes no garbage, so that the
// garbage collector has no reason to run. It is also returned before a client is disconnected, since messages that gRPC
// has lost count as unsent until they are collected.
func (g *Guard) Run(ctx context.Context) error {
	memory, refusals := time.NewTicker(returnEvery), time.NewTicker(reportEvery)
	defer memory.Stop()
	defer refusals.Stop()
	defer g.logRefusals()
	used := false // since memory was returned
	var peak int64
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-refusals.C:
			g.logRefusals()
			continue
		case <-memory.C:
		}
		now, most, grants := g.memory.usage()
		idle := !g.loaded.Swap(false) && grants == 0
		used, peak = used || !idle, max(peak, most)
		calmer := peak > g.memory.size()/4 && now < peak/8
		if g.late.Swap(false) || used && (idle || calmer) {
			debug.FreeOSMemory()
			used, peak = false, now
		}
	}
}

func (g *Guard) logRefusals() {
	calls, evicted, refused := g.refusedCalls.Swap(0), g.evicted.Swap(0), g.refused.Swap(0)
	if calls+evicted+refused > 0 {
		g.opts.Log.Warn("too many clients: calls or connections were refused",
			"calls", calls, "connectionsClosed", evicted, "connectionsRefused", refused)
	}
	if ended := g.pending.ended.Swap(0); ended > 0 {
		g.opts.Log.Warn("calls whose request did not arrive were ended", "calls", ended)
	}
}
