package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/opm-toolchain/opm/internal/legible"
)

// Forward connects to a port of a pod through the API server, as "kubectl port-forward" does: over a websocket, or over
// SPDY if the server or a proxy refuses that. No port is opened on this machine. The caller closes the connection,
// which has no deadlines. If the pod refuses the connection, reading and writing return the reason.
func (c *Cluster) Forward(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	conn, err := c.forward(ctx, namespace, pod, port)
	if err != nil {
		return nil, fmt.Errorf("forward port %d of pod %s/%s: %w", port, namespace, pod, err)
	}
	return conn, nil
}

func (c *Cluster) forward(ctx context.Context, namespace, pod string, port int) (net.Conn, error) {
	if !isSegment(namespace) || !isSegment(pod) {
		return nil, errors.New("the name is not valid")
	}
	streams, err := c.dial(ctx, namespace, pod)
	if err != nil {
		return nil, err
	}
	// Each connection to a port has a stream for an error of the pod, and one for the data.
	headers := http.Header{}
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	headers.Set(corev1.PortHeader, strconv.Itoa(port))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	refusals, err := streams.CreateStream(headers)
	if err != nil {
		streams.Close()
		return nil, err
	}
	_ = refusals.Close() // nothing is written to it
	conn := &forwarded{streams: streams, refused: make(chan struct{})}
	go conn.awaitRefusal(refusals)
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	if conn.Stream, err = streams.CreateStream(headers); err != nil {
		err = conn.reason(err)
		streams.Close()
		return nil, err
	}
	return conn, nil
}

// dial opens the connection to the API server. It has no context, so that an attempt that is given up ends with the
// server or the program.
func (c *Cluster) dial(ctx context.Context, namespace, pod string) (httpstream.Connection, error) {
	target := c.base.JoinPath("api/v1/namespaces", namespace, "pods", pod, "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, err
	}
	overSPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	overWebsocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, c.config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialerForStreaming(overWebsocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	type result struct {
		conn httpstream.Connection
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, errors.New(legible.Text(legible.Message(r.err.Error())))
		}
		return r.conn, nil
	case <-ctx.Done():
		go func() {
			if r := <-done; r.conn != nil {
				_ = r.conn.Close() // nobody uses it
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// A forwarded is a connection to a port of a pod.
type forwarded struct {
	httpstream.Stream
	streams httpstream.Connection
	refused chan struct{} // closed when the stream of errors ends
	refusal error
}

// maxRefusal is the maximum size of the message of a pod that refuses the connection.
const maxRefusal = 64 << 10

// awaitRefusal ends the connection if the pod refuses it.
func (f *forwarded) awaitRefusal(refusals io.Reader) {
	defer close(f.refused)
	message, _ := io.ReadAll(io.LimitReader(refusals, maxRefusal)) // the end of the connection is an error of Read
	if len(message) > 0 {
		f.refusal = errors.New(legible.Text(legible.Message(string(message))))
		_ = f.streams.Close()
	}
}

func (f *forwarded) Read(p []byte) (int, error) {
	n, err := f.Stream.Read(p)
	return n, f.reason(err)
}

func (f *forwarded) Write(p []byte) (int, error) {
	n, err := f.Stream.Write(p)
	return n, f.reason(err)
}

// refusalTime is the time to wait for the reason after the stream of data has ended: the two streams end in any order.
const refusalTime = 5 * time.Second

// reason returns the reason why the pod refuses the connection in place of an error that follows from it.
func (f *forwarded) reason(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-f.refused:
		return cmp.Or(f.refusal, err)
	case <-time.After(refusalTime):
		return err
	}
}

// Close ends both streams.
func (f *forwarded) Close() error {
	_ = f.Stream.Reset()
	return f.streams.Close()
}

// forwardedAddr is the address of both ends, which are known to the API server only.
type forwardedAddr struct{}

func (forwardedAddr) Network() string { return "port-forward" }
func (forwardedAddr) String() string  { return "pod" }

func (f *forwarded) LocalAddr() net.Addr              { return forwardedAddr{} }
func (f *forwarded) RemoteAddr() net.Addr             { return forwardedAddr{} }
func (f *forwarded) SetDeadline(time.Time) error      { return nil }
func (f *forwarded) SetReadDeadline(time.Time) error  { return nil }
func (f *forwarded) SetWriteDeadline(time.Time) error { return nil }

var _ net.Conn = (*forwarded)(nil)
