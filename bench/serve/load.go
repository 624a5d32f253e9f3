//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	"github.com/opm-toolchain/opm/pkg/api"
)

// A counter receives a response, and stores only its size in bytes.
type counter int

// A codec counts the bytes of responses instead of decoding them.
type codec struct{ encoding.CodecV2 }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if n, ok := v.(*counter); ok {
		*n = counter(data.Len())
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// A caller calls methods over one connection.
type caller struct{ conn *grpc.ClientConn }

func counting() grpc.CallOption { return grpc.ForceCodecV2(codec{encoding.GetCodecV2(proto.Name)}) }

// unary returns the size of the response.
func (c caller) unary(ctx context.Context, method string, req any) (int, error) {
	var n counter
	err := c.conn.Invoke(ctx, method, req, &n, counting())
	return int(n), err
}

// stream returns the number of messages in the response and their total size.
func (c caller) stream(ctx context.Context, method string, req any) (messages, bytes int, err error) {
	stream, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method, counting())
	if err != nil {
		return 0, 0, err
	}
	if err := stream.SendMsg(req); err != nil && err != io.EOF {
		return 0, 0, err
	}
	if err := stream.CloseSend(); err != nil {
		return 0, 0, err
	}
	for {
		var n counter
		err := stream.RecvMsg(&n)
		if err == io.EOF {
			return messages, bytes, nil
		}
		if err != nil {
			return messages, bytes, err
		}
		messages, bytes = messages+1, bytes+int(n)
	}
}

// mix returns a function that calls all kinds of methods in turn; one of a thousand calls lists all bundles. The code
// NOT_FOUND is not an error.
func (c caller) mix(ctx context.Context, bundles []*api.Bundle) func(int) (int, error) {
	return func(i int) (int, error) {
		b := bundles[i*7919%len(bundles)]
		n, err := c.mixedCall(ctx, i, b)
		if status.Code(err) == codes.NotFound {
			err = nil
		}
		return n, err
	}
}

func (c caller) mixedCall(ctx context.Context, i int, b *api.Bundle) (int, error) {
	pkg, channel, name := b.GetPackageName(), b.GetChannelName(), b.GetCsvName()
	if i%1000 == 999 {
		_, bytes, err := c.stream(ctx, api.Registry_ListBundles_FullMethodName, &api.ListBundlesRequest{})
		return bytes, err
	}
	switch i % 6 {
	case 0:
		return c.unary(ctx, api.Registry_GetPackage_FullMethodName, &api.GetPackageRequest{Name: pkg})
	case 1:
		return c.unary(ctx, api.Registry_GetBundleForChannel_FullMethodName,
			&api.GetBundleInChannelRequest{PkgName: pkg, ChannelName: channel})
	case 2:
		return c.unary(ctx, api.Registry_GetBundleThatReplaces_FullMethodName,
			&api.GetReplacementRequest{PkgName: pkg, ChannelName: channel, CsvName: name})
	case 3:
		_, bytes, err := c.stream(ctx, api.Registry_GetChannelEntriesThatReplace_FullMethodName,
			&api.GetAllReplacementsRequest{CsvName: name})
		return bytes, err
	case 4:
		_, bytes, err := c.stream(ctx, api.Registry_ListPackages_FullMethodName, &api.ListPackageRequest{})
		return bytes, err
	}
	return c.bundle(ctx, b)
}

// snapshot returns a function that makes the calls of OLM Classic before a resolution: all bundles, and each package.
func (c caller) snapshot(ctx context.Context, packages []string) func(int) (int, error) {
	return func(int) (int, error) {
		_, sum, err := c.stream(ctx, api.Registry_ListBundles_FullMethodName, &api.ListBundlesRequest{})
		for _, pkg := range packages {
			if err != nil {
				return sum, err
			}
			var n int
			n, err = c.unary(ctx, api.Registry_GetPackage_FullMethodName, &api.GetPackageRequest{Name: pkg})
			sum += n
		}
		return sum, err
	}
}

// bundle requests a bundle of a list, with its manifests.
func (c caller) bundle(ctx context.Context, b *api.Bundle) (int, error) {
	return c.unary(ctx, api.Registry_GetBundle_FullMethodName, &api.GetBundleRequest{
		PkgName: b.GetPackageName(), ChannelName: b.GetChannelName(), CsvName: b.GetCsvName(),
	})
}

// A result is the measurement of some calls.
type result struct {
	calls       int
	bytes       int
	took        time.Duration // all calls together
	median, p99 time.Duration // of one call
	processor   time.Duration // processor time of the server for all calls
	failed      error         // the first error
}

func (r result) rate() float64 { return float64(r.calls) / r.took.Seconds() }

func (r result) String() string {
	calls := max(r.calls, 1)
	text := fmt.Sprintf("%.0f/s, median %v, p99 %v, %.0f KB and %v of a CPU each", r.rate(),
		r.median.Round(time.Microsecond), r.p99.Round(time.Microsecond), float64(r.bytes)/float64(calls)/1000,
		(r.processor / time.Duration(calls)).Round(time.Microsecond))
	if r.failed != nil {
		text += ": " + r.failed.Error()
	}
	return text
}

// load makes calls from several concurrent callers for the duration last. The argument of call is the number of the
// call.
func load(callers int, last time.Duration, call func(int) (int, error)) result {
	var mu sync.Mutex
	var r result
	var times []time.Duration
	var all sync.WaitGroup
	start := time.Now()
	for number := range callers {
		all.Go(func() {
			var own []time.Duration
			var bytes int
			var failed error
			for i := number; failed == nil && time.Since(start) < last; i += callers {
				began := time.Now()
				n, err := call(i)
				own, bytes, failed = append(own, time.Since(began)), bytes+n, err
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, own...)
			r.bytes += bytes
			if r.failed == nil {
				r.failed = failed
			}
		})
	}
	all.Wait()
	r.took, r.calls = time.Since(start), len(times)
	slices.Sort(times)
	if len(times) > 0 {
		r.median, r.p99 = times[len(times)/2], times[len(times)*99/100]
	}
	return r
}

// httpClient returns a client of a socket that keeps its connections.
func httpClient(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 64,
		DisableCompression:  true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		},
	}}
}

// A webClient requests pages.
type webClient struct{ *http.Client }

// get returns the size of a page in an encoding, as it is sent.
func (c webClient) get(ctx context.Context, url, encoding string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", encoding)
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s: %s", url, resp.Status)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	return int(n), err
}
