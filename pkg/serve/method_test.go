package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/api"
)

// TestServices compares the served methods with the generated ones.
func TestServices(t *testing.T) {
	for _, pair := range []struct{ got, want grpc.ServiceDesc }{
		{registryService, api.Registry_ServiceDesc},
		{experimentalService, api.ExperimentalRegistry_ServiceDesc},
	} {
		got, want := methods(pair.got), methods(pair.want)
		for name, streams := range want {
			if has, ok := got[name]; !ok || has != streams {
				t.Errorf("%s/%s: is there: %t, is a stream: %t, want %t", pair.want.ServiceName, name, ok, has, streams)
			}
		}
		if len(got) != len(want) || pair.got.ServiceName != pair.want.ServiceName {
			t.Errorf("got %s with %d methods, want %s with %d", pair.got.ServiceName, len(got), pair.want.ServiceName, len(want))
		}
	}
}

// methods returns the names of all methods of a service, and whether they are streams.
func methods(d grpc.ServiceDesc) map[string]bool {
	all := map[string]bool{}
	for _, m := range d.Methods {
		all[m.MethodName] = false
	}
	for _, m := range d.Streams {
		all[m.StreamName] = m.ServerStreams && !m.ClientStreams
	}
	return all
}

// TestCodes checks the code of every error.
func TestCodes(t *testing.T) {
	for _, test := range []struct {
		err  error
		want codes.Code
	}{
		{store.ErrNotFound, codes.NotFound},
		{store.ErrDataLoss, codes.DataLoss},
		{errNotServing, codes.Unavailable},
		{context.Canceled, codes.Canceled},
		{context.DeadlineExceeded, codes.DeadlineExceeded},
		{status.Error(codes.InvalidArgument, "no"), codes.InvalidArgument},
		{errors.New("something else"), codes.Internal},
	} {
		if got := status.Code(statusOf(test.err)); got != test.want {
			t.Errorf("%v: got %v, want %v", test.err, got, test.want)
		}
	}
}

// TestCalls checks that only slow and failed calls are logged.
func TestCalls(t *testing.T) {
	fault := func() error { panic("an accident") }
	for _, test := range []struct {
		name   string
		method string
		call   func() error
		code   codes.Code
		logged []string // texts in the log, none of them for a log that is empty
	}{
		{"healthy", "/api.Registry/GetBundle", func() error { return nil }, codes.OK, nil},
		{"not found", "/api.Registry/GetBundle", func() error { return store.ErrNotFound }, codes.NotFound, nil},
		{"damaged", "/api.Registry/GetBundle", func() error { return store.ErrDataLoss }, codes.DataLoss,
			[]string{"call failed", "method=/api.Registry/GetBundle", "code=DataLoss"}},
		{"panics", "/grpc.health.v1.Health/Check", fault, codes.Internal, []string{"an accident", "method_test.go"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log strings.Builder
			var seen []codes.Code
			live := newLiveSnapshot()
			live.current = &snapshot{}
			c := &calls{
				live: live, log: slog.New(slog.NewTextHandler(&log, nil)), slow: time.Hour,
				observe: func(_ string, code codes.Code, _ time.Duration) { seen = append(seen, code) },
			}
			err := c.call(t.Context(), test.method, test.call)
			if status.Code(err) != test.code || len(seen) != 1 || seen[0] != test.code {
				t.Errorf("got %v and observed %v, want %v", err, seen, test.code)
			}
			if len(test.logged) == 0 && log.Len() > 0 {
				t.Errorf("logged\n%s", &log)
			}
			for _, text := range test.logged {
				if !strings.Contains(log.String(), text) {
					t.Errorf("the log does not hold %q:\n%s", text, &log)
				}
			}
			if damaged := len(live.damaged) == 1; damaged != (test.code == codes.DataLoss) {
				t.Errorf("the store counts as damaged: %t", damaged)
			}
		})
	}
}

// TestSlowCall checks that slow calls are logged.
func TestSlowCall(t *testing.T) {
	var log strings.Builder
	live := newLiveSnapshot()
	live.current = &snapshot{}
	c := &calls{live: live, log: slog.New(slog.NewTextHandler(&log, nil)), slow: 1}
	for _, method := range []string{"/api.Registry/GetBundle", "/grpc.health.v1.Health/Watch"} {
		if err := c.call(t.Context(), method, func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "slow call") != 1 || !strings.Contains(got, "GetBundle") {
		t.Errorf("logged\n%s", got)
	}
}
