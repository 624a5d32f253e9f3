package kubetest

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// The headers and the protocol of port-forward, see k8s.io/kubelet/pkg/cri/streaming/portforward.
const (
	forwardProtocol = "portforward.k8s.io"
	headerStream    = "streamType"
	headerPort      = "port"
)

// forwardedPod returns the pod of /api/v1/namespaces/NAMESPACE/pods/NAME/portforward, as NAMESPACE/NAME.
func forwardedPod(path string) (pod string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/api/v1/namespaces/")
	namespace, rest, ok2 := strings.Cut(rest, "/pods/")
	name, ok3 := strings.CutSuffix(rest, "/portforward")
	return namespace + "/" + name, ok && ok2 && ok3
}

// forward connects streams of a client to a pod, over SPDY, until the client ends the connection.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, pod string) {
	streams := make(chan httpstream.Stream)
	ended := make(chan struct{})
	if _, err := httpstream.Handshake(r, w, []string{forwardProtocol}); err != nil {
		return // the handshake has answered
	}
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		select {
		case streams <- stream:
		case <-ended:
		}
		return nil
	})
	if conn == nil {
		return // the upgrader has answered
	}
	defer close(ended)
	defer conn.Close()
	var open sync.WaitGroup
	defer open.Wait()
	var refusals httpstream.Stream
	for {
		select {
		case <-conn.CloseChan():
			return
		case stream := <-streams:
			if stream.Headers().Get(headerStream) == "error" {
				refusals = stream
				continue
			}
			open.Go(func() { s.connect(stream, refusals, pod, stream.Headers().Get(headerPort)) })
		}
	}
}

// connect copies between a stream and a pod until one of them ends.
func (s *Server) connect(stream, refusals httpstream.Stream, pod, port string) {
	defer func() { _ = stream.Reset() }() // the client may be gone
	defer refusals.Close()
	backend, err := net.Dial("tcp", s.Pods[pod])
	if err != nil {
		_, _ = io.WriteString(refusals, "connect to port "+port+" of the pod: connection refused") // the client may be gone
		return
	}
	defer backend.Close()
	go func() {
		_, _ = io.Copy(backend, stream) // one of them ends
		backend.Close()
	}()
	_, _ = io.Copy(stream, backend)
}
