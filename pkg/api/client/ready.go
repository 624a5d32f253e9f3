package client

import (
	"context"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// again is how long WaitReady waits before it asks again.
const again = 250 * time.Millisecond

// WaitReady returns when the server says that it is serving. Until ctx is done it waits for a server that is not there
// yet, too. An error of the server that waiting does not change, such as that it knows of no health, ends it.
func (c *Client) WaitReady(ctx context.Context) error {
	checks := health.NewHealthClient(c.conn)
	for {
		err := watch(ctx, checks)
		if status.Code(err) == codes.Unimplemented { // as servers of upstream say
			err = check(ctx, checks)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !passes(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(again):
		}
	}
}

// errNotServing is the error of a server that answers but is not ready.
var errNotServing = status.Error(codes.Unavailable, "the registry is not serving")

// passes reports whether an error may be gone when the call is made again.
func passes(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}

// watch returns nil when the server says that it is serving.
func watch(ctx context.Context, checks health.HealthClient) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, err := checks.Watch(ctx, &health.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for {
		update, err := updates.Recv()
		if err == io.EOF { // of a server that ends the watch when it ends itself
			return errNotServing
		}
		if err != nil {
			return err
		}
		if update.GetStatus() == health.HealthCheckResponse_SERVING {
			return nil
		}
	}
}

func check(ctx context.Context, checks health.HealthClient) error {
	answer, err := checks.Check(ctx, &health.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if answer.GetStatus() != health.HealthCheckResponse_SERVING {
		return errNotServing
	}
	return nil
}
