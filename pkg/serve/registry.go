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

	"github.com/opm-toolchain/opm/internal/serve/guard"
	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/pkg/api"
)

// registryService describes api.Registry. Its responses come encoded from the store.
var registryService = grpc.ServiceDesc{
	ServiceName: api.Registry_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil),
	Metadata:    api.Registry_ServiceDesc.Metadata,
	Methods: []grpc.MethodDesc{
		unary(api.Registry_GetPackage_FullMethodName, getPackage),
		unaryBundle(api.Registry_GetBundle_FullMethodName, getBundle),
		unaryBundle(api.Registry_GetBundleForChannel_FullMethodName, getBundleForChannel),
		unaryBundle(api.Registry_GetBundleThatReplaces_FullMethodName, getBundleThatReplaces),
		unaryBundle(api.Registry_GetDefaultBundleThatProvides_FullMethodName, getDefaultBundleThatProvides),
	},
	Streams: []grpc.StreamDesc{
		stream(api.Registry_ListPackages_FullMethodName, listPackages),
		stream(api.Registry_ListBundles_FullMethodName, listBundles),
		stream(api.Registry_GetChannelEntriesThatReplace_FullMethodName, getChannelEntriesThatReplace),
		stream(api.Registry_GetChannelEntriesThatProvide_FullMethodName, getChannelEntriesThatProvide),
		stream(api.Registry_GetLatestChannelEntriesThatProvide_FullMethodName, getLatestChannelEntriesThatProvide),
	},
}

var experimentalService = grpc.ServiceDesc{
	ServiceName: api.ExperimentalRegistry_ServiceDesc.ServiceName,
	HandlerType: (*any)(nil),
	Metadata:    api.ExperimentalRegistry_ServiceDesc.Metadata,
	Streams: []grpc.StreamDesc{
		stream(api.ExperimentalRegistry_ExperimentalListPackageCustomSchemas_FullMethodName, listCustomSchemas),
	},
}

func getPackage(
	ctx context.Context, memory *guard.Lease, s *store.Store, req *api.GetPackageRequest,
) ([][]byte, error) {
	message, err := s.Package(req.GetName())
	if err != nil {
		return nil, err
	}
	return [][]byte{message}, memory.Take(ctx, int64(len(message)))
}

func getBundle(_ *store.Store, req *api.GetBundleRequest) (pkg, channel, name string, err error) {
	return req.GetPkgName(), req.GetChannelName(), req.GetCsvName(), nil
}

func getBundleForChannel(s *store.Store, req *api.GetBundleInChannelRequest) (pkg, channel, name string, err error) {
	pkg, channel = req.GetPkgName(), req.GetChannelName()
	name, err = s.ChannelHead(pkg, channel)
	return pkg, channel, name, err
}

func getBundleThatReplaces(s *store.Store, req *api.GetReplacementRequest) (pkg, channel, name string, err error) {
	pkg, channel = req.GetPkgName(), req.GetChannelName()
	name, err = s.Replacement(req.GetCsvName(), pkg, channel)
	return pkg, channel, name, err
}

func getDefaultBundleThatProvides(
	s *store.Store, req *api.GetDefaultProviderRequest,
) (pkg, channel, name string, err error) {
	return s.DefaultProvider(req.GetGroup(), req.GetVersion(), req.GetKind())
}

// messages are the encoded answers of a stream. An error is the last.
type messages = iter.Seq2[[]byte, error]

func listPackages(_ context.Context, s *store.Store, _ *api.ListPackageRequest) messages {
	return func(yield func([]byte, error) bool) {
		for _, name := range s.PackageNames() {
			if !yield(proto.Marshal(&api.PackageName{Name: name})) {
				return
			}
		}
	}
}

func listBundles(_ context.Context, s *store.Store, _ *api.ListBundlesRequest) messages {
	return s.Bundles()
}

func getChannelEntriesThatReplace(_ context.Context, s *store.Store, req *api.GetAllReplacementsRequest) messages {
	return s.EntriesThatReplace(req.GetCsvName())
}

func getChannelEntriesThatProvide(_ context.Context, s *store.Store, req *api.GetAllProvidersRequest) messages {
	return s.EntriesThatProvide(req.GetGroup(), req.GetVersion(), req.GetKind(), false)
}

func getLatestChannelEntriesThatProvide(
	_ context.Context, s *store.Store, req *api.GetLatestProvidersRequest,
) messages {
	return s.EntriesThatProvide(req.GetGroup(), req.GetVersion(), req.GetKind(), true)
}

func listCustomSchemas(
	ctx context.Context, s *store.Store, req *api.ExperimentalListPackageCustomSchemasRequest,
) messages {
	if !slices.Contains(metadata.ValueFromIncomingContext(ctx, "x-acknowledge-experimental"), "true") {
		return func(func([]byte, error) bool) {} // clients must acknowledge that the method may change
	}
	if req.GetSchema() == "" {
		return func(yield func([]byte, error) bool) {
			yield(nil, status.Error(codes.InvalidArgument, "the schema is missing"))
		}
	}
	return s.CustomMetas(req.GetSchema(), req.GetPackageName())
}

func statusOf(err error) error {
	code := codes.Internal
	switch {
	case errors.Is(err, store.ErrNotFound):
		code = codes.NotFound
	case errors.Is(err, store.ErrDataLoss):
		code = codes.DataLoss
	case errors.Is(err, errNotServing):
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

// unary describes a method with one response, a message in several parts.
func unary[Q any](
	full string, answer func(context.Context, *guard.Lease, *store.Store, *Q) ([][]byte, error),
) grpc.MethodDesc {
	handle := func(srv any, ctx context.Context, decode func(any) error, by grpc.UnaryServerInterceptor) (any, error) {
		req := new(Q)
		if err := decode(req); err != nil {
			return nil, err
		}
		call := func(ctx context.Context, req any) (any, error) {
			snapshot, release, err := srv.(*liveSnapshot).acquire()
			if err != nil {
				return nil, err
			}
			defer release()
			memory := guard.NewLease(ctx)
			defer memory.Done()
			parts, err := answer(ctx, memory, snapshot.store, req.(*Q))
			if err != nil {
				return nil, err
			}
			return memory.Message(parts...), nil
		}
		return by(ctx, req, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, call)
	}
	return grpc.MethodDesc{MethodName: path.Base(full), Handler: handle}
}

// unaryBundle describes a method whose response is a bundle. Find returns its package, channel and name.
func unaryBundle[Q any](
	full string, find func(*store.Store, *Q) (pkg, channel, name string, err error),
) grpc.MethodDesc {
	return unary(full, func(ctx context.Context, memory *guard.Lease, s *store.Store, req *Q) ([][]byte, error) {
		pkg, channel, name, err := find(s, req)
		if err != nil {
			return nil, err
		}
		b, err := s.Bundle(pkg, channel, name)
		if err != nil {
			return nil, err
		}
		buf, err := memory.Buffer(ctx, b.Size())
		if err != nil {
			return nil, err
		}
		return b.Message(buf)
	})
}

// stream describes a method with any number of responses.
func stream[Q any](full string, answer func(context.Context, *store.Store, *Q) messages) grpc.StreamDesc {
	handle := func(srv any, server grpc.ServerStream) error {
		to := server.(*guard.Stream)
		req := new(Q)
		if err := to.RecvMsg(req); err != nil {
			return err
		}
		snapshot, release, err := srv.(*liveSnapshot).acquire()
		if err != nil {
			return err
		}
		defer release()
		for message, err := range answer(to.Context(), snapshot.store.Limited(to.TakeNext), req) {
			if err != nil {
				return err
			}
			if err := to.Send(message); err != nil {
				return err
			}
		}
		return nil
	}
	return grpc.StreamDesc{StreamName: path.Base(full), Handler: handle, ServerStreams: true}
}
