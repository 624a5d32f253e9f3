package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/opm-toolchain/opm/pkg/api"
)

// ErrNotFound is matched by errors about objects that are not in the catalog. The errors of upstream's servers do not
// match it, because they have the code Unknown.
var ErrNotFound = errors.New("not found")

// maxMessage is the maximum size of a response in bytes. gRPC's default is 4 MiB, and some bundles are larger.
const maxMessage = 256 << 20

// Options configure the connection to a registry. The zero value uses plain text, as registries in clusters do.
type Options struct {
	TLS *tls.Config // nil means plain text

	// Connect, if not nil, opens connections in place of dialing the address, of which only its form matters then:
	// passthrough:///NAME.
	Connect func(ctx context.Context) (net.Conn, error)

	Dial []grpc.DialOption // further options, which take precedence
}

// A Client calls the methods of one registry. It is safe for concurrent use until Close.
type Client struct {
	conn         *grpc.ClientConn
	registry     api.RegistryClient
	experimental api.ExperimentalRegistryClient
}

// New returns a client for the registry at addr: host:port, unix:PATH, or any other gRPC target. It connects at the
// first call. If the registry cannot be reached, calls fail at once, except [Client.WaitReady].
func New(addr string, opts Options) (*Client, error) {
	creds := insecure.NewCredentials()
	if opts.TLS != nil {
		creds = credentials.NewTLS(opts.TLS)
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	}
	if connect := opts.Connect; connect != nil {
		dialer := func(ctx context.Context, _ string) (net.Conn, error) { return connect(ctx) }
		dial = append(dial, grpc.WithContextDialer(dialer))
	}
	conn, err := grpc.NewClient(addr, append(dial, opts.Dial...)...)
	if err != nil {
		return nil, err
	}
	return &Client{conn, api.NewRegistryClient(conn), api.NewExperimentalRegistryClient(conn)}, nil
}

// Close closes the connection, which ends all calls.
func (c *Client) Close() error { return c.conn.Close() }

// Conn returns the connection, for calls of other services.
func (c *Client) Conn() *grpc.ClientConn { return c.conn }

// Packages yields the names of all packages. The server of this project sorts them.
func (c *Client) Packages(ctx context.Context) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		names := stream(ctx, &api.ListPackageRequest{}, c.registry.ListPackages)
		for p, err := range names {
			if !yield(p.GetName(), err) {
				return
			}
		}
	}
}

// Package returns a package. The error matches ErrNotFound if the catalog does not have it.
func (c *Client) Package(ctx context.Context, name string) (*api.Package, error) {
	return unary(ctx, &api.GetPackageRequest{Name: name}, c.registry.GetPackage)
}

// Bundles yields every bundle of every channel, without manifests if it has an image. The server of this project sorts
// them by channel, package and name.
func (c *Client) Bundles(ctx context.Context) iter.Seq2[*api.Bundle, error] {
	return stream(ctx, &api.ListBundlesRequest{}, c.registry.ListBundles)
}

// Bundle returns a bundle with its manifests, and without the names of the bundles that it replaces and skips. The
// error matches ErrNotFound if the channel does not have the bundle.
func (c *Client) Bundle(ctx context.Context, pkg, channel, name string) (*api.Bundle, error) {
	return unary(ctx, &api.GetBundleRequest{PkgName: pkg, ChannelName: channel, CsvName: name}, c.registry.GetBundle)
}

// Replacement returns the bundle of a channel that replaces or skips the named bundle. The error matches ErrNotFound if
// there is none.
func (c *Client) Replacement(ctx context.Context, pkg, channel, name string) (*api.Bundle, error) {
	req := &api.GetReplacementRequest{PkgName: pkg, ChannelName: channel, CsvName: name}
	return unary(ctx, req, c.registry.GetBundleThatReplaces)
}

// EntriesThatReplace yields every channel entry that replaces or skips the named bundle. If there is none, it yields an
// error that matches ErrNotFound.
func (c *Client) EntriesThatReplace(ctx context.Context, name string) iter.Seq2[*api.ChannelEntry, error] {
	return stream(ctx, &api.GetAllReplacementsRequest{CsvName: name}, c.registry.GetChannelEntriesThatReplace)
}

// EntriesThatProvide yields every channel entry whose bundle provides the kind. If there is none, it yields an error
// that matches ErrNotFound.
func (c *Client) EntriesThatProvide(
	ctx context.Context, group, version, kind string,
) iter.Seq2[*api.ChannelEntry, error] {
	req := &api.GetAllProvidersRequest{Group: group, Version: version, Kind: kind}
	return stream(ctx, req, c.registry.GetChannelEntriesThatProvide)
}

// LatestEntriesThatProvide is EntriesThatProvide for channel heads only.
func (c *Client) LatestEntriesThatProvide(
	ctx context.Context, group, version, kind string,
) iter.Seq2[*api.ChannelEntry, error] {
	req := &api.GetLatestProvidersRequest{Group: group, Version: version, Kind: kind}
	return stream(ctx, req, c.registry.GetLatestChannelEntriesThatProvide)
}

// DefaultProvider returns the bundle to install for a kind: the head of a default channel that provides it. The error
// matches ErrNotFound if there is none.
func (c *Client) DefaultProvider(ctx context.Context, group, version, kind string) (*api.Bundle, error) {
	req := &api.GetDefaultProviderRequest{Group: group, Version: version, Kind: kind}
	return unary(ctx, req, c.registry.GetDefaultBundleThatProvides)
}

// CustomMetas yields the objects with a custom schema and a package, in the order of the catalog. The package ""
// selects the objects without a package.
func (c *Client) CustomMetas(ctx context.Context, schema, pkg string) iter.Seq2[*structpb.Struct, error] {
	ctx = metadata.AppendToOutgoingContext(ctx, acknowledge, "true")
	req := &api.ExperimentalListPackageCustomSchemasRequest{Schema: schema, PackageName: pkg}
	return stream(ctx, req, c.experimental.ExperimentalListPackageCustomSchemas)
}

// acknowledge is the metadata key that experimental calls need: without it, servers return no objects.
const acknowledge = "x-acknowledge-experimental"

func unary[Q, A any](
	ctx context.Context, req *Q, call func(context.Context, *Q, ...grpc.CallOption) (*A, error),
) (*A, error) {
	response, err := call(ctx, req)
	if err != nil {
		return nil, matchNotFound(err)
	}
	return response, nil
}

// stream yields the responses to a call. An error is the last. The call is canceled when the iteration stops.
func stream[Q, A any](
	ctx context.Context, req *Q,
	call func(context.Context, *Q, ...grpc.CallOption) (grpc.ServerStreamingClient[A], error),
) iter.Seq2[*A, error] {
	return func(yield func(*A, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		responses, err := call(ctx, req)
		if err != nil {
			yield(nil, matchNotFound(err))
			return
		}
		for {
			response, err := responses.Recv()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, matchNotFound(err))
				return
			}
			if !yield(response, nil) {
				return
			}
		}
	}
}

// A notFoundError is a gRPC error with the code NOT_FOUND.
type notFoundError struct{ error }

func (notFoundError) Is(target error) bool { return target == ErrNotFound }
func (e notFoundError) Unwrap() error      { return e.error }

// matchNotFound makes an error with the code NOT_FOUND match ErrNotFound. Other errors are returned unchanged.
func matchNotFound(err error) error {
	if status.Code(err) == codes.NotFound {
		return notFoundError{err}
	}
	return err
}
