package serve

import (
	"context"
	"iter"
	"path"

	"google.golang.org/grpc"

	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// A registry is what the methods of the registry services are called on.
type registry struct {
	live  *Live
	stall *stallGuard
}

// unary describes a method that has one answer.
func unary[Q any](full string, answer func(*store.Store, *Q) (reply, error)) grpc.MethodDesc {
	handle := func(srv any, ctx context.Context, decode func(any) error, by grpc.UnaryServerInterceptor) (any, error) {
		req := new(Q)
		if err := decode(req); err != nil {
			return nil, err
		}
		call := func(_ context.Context, req any) (any, error) {
			return srv.(*registry).one(func(s *store.Store) (reply, error) { return answer(s, req.(*Q)) })
		}
		return by(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, call)
	}
	return grpc.MethodDesc{MethodName: path.Base(full), Handler: handle}
}

// one answers from the snapshot that is served.
func (r *registry) one(answer func(*store.Store) (reply, error)) (any, error) {
	snapshot, release, err := r.live.Acquire()
	if err != nil {
		return nil, err
	}
	defer release()
	return answer(snapshot.Store)
}

// stream describes a method that has any number of answers, which are one after another.
func stream[Q any](
	full string, answer func(context.Context, *store.Store, *Q) (iter.Seq2[[]byte, error], error),
) grpc.StreamDesc {
	handle := func(srv any, to grpc.ServerStream) error {
		req := new(Q)
		if err := to.RecvMsg(req); err != nil {
			return err
		}
		return srv.(*registry).many(to, func(s *store.Store) (iter.Seq2[[]byte, error], error) {
			return answer(to.Context(), s, req)
		})
	}
	return grpc.StreamDesc{StreamName: path.Base(full), Handler: handle, ServerStreams: true}
}

// many sends the answers from the snapshot that is served.
func (r *registry) many(
	to grpc.ServerStream, answers func(*store.Store) (iter.Seq2[[]byte, error], error),
) error {
	snapshot, release, err := r.live.Acquire()
	if err != nil {
		return err
	}
	defer release()
	messages, err := answers(snapshot.Store)
	if err != nil {
		return err
	}
	watch := r.stall.start(to.Context())
	defer watch.stop()
	for message, err := range messages {
		if err != nil {
			return err
		}
		watch.progress()
		if err := to.SendMsg(kept(message)); err != nil {
			return err
		}
	}
	return nil
}
