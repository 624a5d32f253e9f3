package serve

import (
	"context"
	"errors"
	"iter"
	"path"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/pkg/api"
	"github.com/opm-toolchain/opm/pkg/serve/store"
)

// registryService is api.Registry, whose answers come encoded out of the store.
var registryService = grpc.ServiceDesc{
	ServiceName: api.Registry_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil),
	Metadata:    api.Registry_ServiceDesc.Metadata,
	Methods: []grpc.MethodDesc{
		unary(api.Registry_GetPackage_FullMethodName, getPackage),
		unary(api.Registry_GetBundle_FullMethodName, getBundle),
		unary(api.Registry_GetBundleForChannel_FullMethodName, getBundleForChannel),
		unary(api.Registry_GetBundleThatReplaces_FullMethodName, getBundleThatReplaces),
		unary(api.Registry_GetDefaultBundleThatProvides_FullMethodName, getDefaultBundleThatProvides),
	},
	Streams: []grpc.StreamDesc{
		stream(api.Registry_ListPackages_FullMethodName, listPackages),
		stream(api.Registry_ListBundles_FullMethodName, listBundles),
		stream(api.Registry_GetChannelEntriesThatReplace_FullMethodName, getChannelEntriesThatReplace),
		stream(api.Registry_GetChannelEntriesThatProvide_FullMethodName, getChannelEntriesThatProvide),
		stream(api.Registry_GetLatestChannelEntriesThatProvide_FullMethodName, getLatestChannelEntriesThatProvide),
	},
}

// experimentalService is api.ExperimentalRegistry.
var experimentalService = grpc.ServiceDesc{
	ServiceName: api.ExperimentalRegistry_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil),
	Metadata:    api.ExperimentalRegistry_ServiceDesc.Metadata,
	Streams: []grpc.StreamDesc{
		stream(api.ExperimentalRegistry_ExperimentalListPackageCustomSchemas_FullMethodName, listCustomSchemas),
	},
}

func getPackage(memory *answering, s *store.Store, req *api.GetPackageRequest) (reply, error) {
	message, err := s.Package(req.GetName())
	if err == nil {
		err = memory.take(max(int64(len(message)), smallAnswer))
	}
	return reply{parts: [][]byte{message}}, err
}

func getBundle(memory *answering, s *store.Store, req *api.GetBundleRequest) (reply, error) {
	return bundle(memory, s, req.GetPkgName(), req.GetChannelName(), req.GetCsvName())
}

func getBundleForChannel(memory *answering, s *store.Store, req *api.GetBundleInChannelRequest) (reply, error) {
	head, err := s.ChannelHead(req.GetPkgName(), req.GetChannelName())
	if err != nil {
		return reply{}, err
	}
	return bundle(memory, s, req.GetPkgName(), req.GetChannelName(), head)
}

func getBundleThatReplaces(memory *answering, s *store.Store, req *api.GetReplacementRequest) (reply, error) {
	name, err := s.Replacement(req.GetCsvName(), req.GetPkgName(), req.GetChannelName())
	if err != nil {
		return reply{}, err
	}
	return bundle(memory, s, req.GetPkgName(), req.GetChannelName(), name)
}

func getDefaultBundleThatProvides(
	memory *answering, s *store.Store, req *api.GetDefaultProviderRequest,
) (reply, error) {
	pkg, channel, name, err := s.DefaultProvider(req.GetGroup(), req.GetVersion(), req.GetKind())
	if err != nil {
		return reply{}, err
	}
	return bundle(memory, s, pkg, channel, name)
}

func bundle(memory *answering, s *store.Store, pkg, channel, name string) (reply, error) {
	b, err := s.Bundle(pkg, channel, name)
	if err != nil {
		return reply{}, err
	}
	size := bufferSize(b.Size())
	if err := memory.take(int64(size)); err != nil {
		return reply{}, err
	}
	buf := getBuffer(size)
	parts, err := b.Message(buf)
	if err != nil {
		putBuffer(buf)
		return reply{}, err
	}
	return reply{parts, buf}, nil
}

func listPackages(_ context.Context, s *store.Store, _ *api.ListPackageRequest) (iter.Seq2[[]byte, error], error) {
	return func(yield func([]byte, error) bool) {
		for _, name := range s.PackageNames() {
			if !yield(proto.Marshal(&api.PackageName{Name: name})) {
				return
			}
		}
	}, nil
}

func listBundles(_ context.Context, s *store.Store, _ *api.ListBundlesRequest) (iter.Seq2[[]byte, error], error) {
	return s.Bundles(), nil
}

func getChannelEntriesThatReplace(
	_ context.Context, s *store.Store, req *api.GetAllReplacementsRequest,
) (iter.Seq2[[]byte, error], error) {
	return s.EntriesThatReplace(req.GetCsvName()), nil
}

func getChannelEntriesThatProvide(
	_ context.Context, s *store.Store, req *api.GetAllProvidersRequest,
) (iter.Seq2[[]byte, error], error) {
	return s.EntriesThatProvide(req.GetGroup(), req.GetVersion(), req.GetKind(), false), nil
}

func getLatestChannelEntriesThatProvide(
	_ context.Context, s *store.Store, req *api.GetLatestProvidersRequest,
) (iter.Seq2[[]byte, error], error) {
	return s.EntriesThatProvide(req.GetGroup(), req.GetVersion(), req.GetKind(), true), nil
}

func listCustomSchemas(
	ctx context.Context, s *store.Store, req *api.ExperimentalListPackageCustomSchemasRequest,
) (iter.Seq2[[]byte, error], error) {
	if !acknowledged(ctx) {
		return func(func([]byte, error) bool) {}, nil
	}
	if req.GetSchema() == "" {
		return nil, status.Error(codes.InvalidArgument, "the schema is missing")
	}
	return s.CustomMetas(req.GetSchema(), req.GetPackageName()), nil
}

// acknowledged reports whether the client knows that it asks for what may change.
func acknowledged(ctx context.Context) bool {
	return slices.Contains(metadata.ValueFromIncomingContext(ctx, "x-acknowledge-experimental"), "true")
}

// statusOf returns an error of a call with the code for it.
func statusOf(err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, store.ErrNotFound):
		code = codes.NotFound
	case errors.Is(err, store.ErrDataLoss):
		code = codes.DataLoss
	case errors.Is(err, ErrNotServing):
		code = codes.Unavailable
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	default:
		if _, ok := status.FromError(err); ok {
			return err
		}
	}
	return status.Error(code, err.Error())
}

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
