package serve

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// maxShards is the number of servers among which the connections of one catalog content are divided.
const maxShards = 8

// A fleet is the set of gRPC servers of one listener. gRPC can ask clients to reconnect only by stopping a server, and
// then asks all its clients at once. So the connections are divided among several servers, the shards. When the catalog
// changes, the shards are stopped one after another, while new shards take the new connections.
type fleet struct {
	newServer func() *grpc.Server
	grace     time.Duration // period over which old shards are stopped; negative keeps a shard forever
	drain     time.Duration
	stopping  chan struct{} // closed when no more connections are accepted
	running   sync.WaitGroup

	mu      sync.Mutex
	current []*shard
	next    int                 // index in current, modulo its length
	all     map[*shard]struct{} // shards that have not stopped, current or not
}

// A shard is a server and its listener, which accepts connections from the fleet.
type shard struct {
	*grpc.Server
	conns  chan net.Conn
	addr   net.Addr
	closed chan struct{}
	close  func()
	stop   func() // gracefully
}

// Accept implements [net.Listener].
func (s *shard) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (s *shard) Close() error {
	s.close()
	return nil
}

// Addr implements [net.Listener].
func (s *shard) Addr() net.Addr { return s.addr }

// accept gives the connections of l to the shards in turn. It returns the error of the listener.
func (f *fleet) accept(l net.Listener) error {
	for wait := time.Duration(0); ; {
		c, err := l.Accept()
		if temporary, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); ok && temporary.Temporary() {
			wait = min(max(2*wait, 5*time.Millisecond), time.Second) // as gRPC does
			select {
			case <-time.After(wait):
			case <-f.stopping:
			}
			continue
		}
		if err != nil {
			return err
		}
		wait = 0
		f.dispatch(c, l.Addr())
	}
}

func (f *fleet) dispatch(c net.Conn, addr net.Addr) {
	for {
		s := f.shard(addr)
		if s == nil {
			c.Close()
			return
		}
		select {
		case s.conns <- c:
			return
		case <-s.closed:
		}
	}
}

// shard returns the shard for a new connection, or nil if the fleet is stopping.
func (f *fleet) shard(addr net.Addr) *shard {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.stopping:
		return nil
	default:
	}
	if len(f.current) < maxShards && (f.grace >= 0 || len(f.current) == 0) {
		s := &shard{Server: f.newServer(), conns: make(chan net.Conn), addr: addr, closed: make(chan struct{})}
		s.close, s.stop = sync.OnceFunc(func() { close(s.closed) }), sync.OnceFunc(s.GracefulStop)
		f.current = append(f.current, s)
		f.all[s] = struct{}{}
		f.running.Go(func() { _ = s.Serve(s) }) // returns when the shard is stopped: Accept has no other error
		return s
	}
	f.next++
	return f.current[f.next%len(f.current)]
}

// renew asks all clients to reconnect, spread over the grace period, each after its calls have ended.
func (f *fleet) renew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.grace < 0 {
		return
	}
	old := f.current
	f.current = nil
	for i, s := range old {
		// Not at once: a connection that the shard has just accepted would be closed without a response.
		after := f.grace * time.Duration(i+1) / time.Duration(len(old)+1)
		f.running.Go(func() {
			select {
			case <-time.After(after):
			case <-f.stopping:
			}
			f.stop(s)
		})
	}
}

// stop stops a shard when its calls have ended.
func (f *fleet) stop(s *shard) {
	s.stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.all, s)
}

// end stops all shards gracefully, and forcibly after the time for draining. It reports whether all of them stopped
// gracefully.
func (f *fleet) end() (drained bool) {
	f.mu.Lock()
	close(f.stopping)
	for s := range f.all {
		f.running.Go(func() { f.stop(s) })
	}
	f.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		f.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(f.drain):
	}
	f.mu.Lock()
	for s := range f.all {
		f.running.Go(s.Stop)
	}
	f.mu.Unlock()
	<-ended
	return false
}

// serve serves the clients of l until ctx is done or l fails. It closes l.
func (f *fleet) serve(ctx context.Context, l net.Listener, live *liveSnapshot) error {
	defer l.Close()
	accepted := make(chan error, 1)
	served, changed := live.content() // before the first connection, which has to hear of every change
	go func() { accepted <- f.accept(l) }()
	for {
		select {
		case err := <-accepted:
			return err
		case <-ctx.Done():
			l.Close()
			return nil
		case <-changed:
		}
		var now int
		if now, changed = live.content(); now != served {
			served = now
			f.renew()
		}
	}
}
