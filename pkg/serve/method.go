package serve

import (
	"context"
	"iter"
	"path"

	"google.golang.org/grpc"

	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// A registry is what the methods of the registry services are called on.
type registry struct{ live *Live }

// A reply is the answer of a method that has one.
type reply struct {
	parts [][]byte // of the message
	buf   []byte   // of getBuffer, which the parts use; nil if they use none
}

// unary describes a method that has one answer.
func unary[Q any](full string, answer func(*answering, *store.Store, *Q) (reply, error)) grpc.MethodDesc {
	handle := func(srv any, ctx context.Context, decode func(any) error, by grpc.UnaryServerInterceptor) (any, error) {
		req := new(Q)
		if err := decode(req); err != nil {
			return nil, err
		}
		call := func(ctx context.Context, req any) (any, error) {
			return srv.(*registry).one(ctx, func(memory *answering, s *store.Store) (reply, error) {
				return answer(memory, s, req.(*Q))
			})
		}
		return by(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, call)
	}
	return grpc.MethodDesc{MethodName: path.Base(full), Handler: handle}
}

// one answers from the snapshot that is served.
func (r *registry) one(ctx context.Context, answer func(*answering, *store.Store) (reply, error)) (any, error) {
	snapshot, release, err := r.live.Acquire()
	if err != nil {
		return nil, err
	}
	defer release()
	memory := &answering{ctx: ctx, account: accountOf(ctx)}
	defer memory.done()
	got, err := answer(memory, snapshot.Store)
	if err != nil {
		return nil, err
	}
	return memory.lease.message(got), nil
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
		return srv.(*registry).many(to.(*sender), func(s *store.Store) (iter.Seq2[[]byte, error], error) {
			return answer(to.Context(), s, req)
		})
	}
	return grpc.StreamDesc{StreamName: path.Base(full), Handler: handle, ServerStreams: true}
}

// many sends the answers from the snapshot that is served.
func (r *registry) many(to *sender, answers func(*store.Store) (iter.Seq2[[]byte, error], error)) error {
	snapshot, release, err := r.live.Acquire()
	if err != nil {
		return err
	}
	defer release()
	messages, err := answers(snapshot.Store.Limited(to.takeNext))
	if err != nil {
		return err
	}
	for message, err := range messages {
		if err != nil {
			return err
		}
		if err := to.SendMsg(encoded(message)); err != nil {
			return err
		}
	}
	return nil
}
