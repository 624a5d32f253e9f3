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

// retryDelay is the delay between two attempts of WaitReady.
const retryDelay = 250 * time.Millisecond

// WaitReady returns nil when the server reports that it is serving. Until ctx is done, it also waits for a server that
// cannot be reached yet. An error that waiting cannot resolve ends the wait, for example if the server has no health
// service.
func (c *Client) WaitReady(ctx context.Context) error {
	checks := health.NewHealthClient(c.conn)
	for {
		err := watch(ctx, checks)
		if status.Code(err) == codes.Unimplemented { // upstream's servers only have Check
			err = check(ctx, checks)
		}
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !isTemporary(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryDelay):
		}
	}
}

// errNotServing is the error about a server that responds but is not ready.
var errNotServing = status.Error(codes.Unavailable, "the registry is not serving")

// isTemporary reports whether another attempt may succeed after this error.
func isTemporary(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Aborted:
		return true
	}
	return false
}

// watch waits until the server reports that it is serving, and then returns nil.
func watch(ctx context.Context, checks health.HealthClient) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates, err := checks.Watch(ctx, &health.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	for {
		update, err := updates.Recv()
		if err == io.EOF { // the server is stopping
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
	response, err := checks.Check(ctx, &health.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if response.GetStatus() != health.HealthCheckResponse_SERVING {
		return errNotServing
	}
	return nil
}
