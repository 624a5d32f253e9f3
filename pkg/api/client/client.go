package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"iter"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/opm-toolchain/opm/pkg/api"
)

// ErrNotFound is matched by errors about what the catalog does not hold. Servers of upstream do not say so: theirs have
// the code Unknown.
var ErrNotFound = errors.New("not found")

// maxMessage is the largest answer that is taken, in bytes. The default of gRPC is 4 MiB, and some bundles have more.
const maxMessage = 256 << 20

// Options say how to reach a registry. The zero value is plain text, as registries in clusters speak it.
type Options struct {
	TLS  *tls.Config       // nil is plain text
	Dial []grpc.DialOption // further ones, which count most
}

// A Client asks one registry. Any number of goroutines may use it, until Close.
type Client struct {
	conn         *grpc.ClientConn
	registry     api.RegistryClient
	experimental api.ExperimentalRegistryClient
}

// New returns a client for the registry at addr: host:port, unix:PATH, or any other target of gRPC. It connects when it
// is used first; calls fail at once where nobody answers, but for [Client.WaitReady].
func New(addr string, opts Options) (*Client, error) {
	creds := insecure.NewCredentials()
	if opts.TLS != nil {
		creds = credentials.NewTLS(opts.TLS)
	}
	dial := slices.Concat([]grpc.DialOption{
		grpc.WithTransportCredentials(creds),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	}, opts.Dial)
	conn, err := grpc.NewClient(addr, dial...)
	if err != nil {
		return nil, err
	}
	return &Client{conn, api.NewRegistryClient(conn), api.NewExperimentalRegistryClient(conn)}, nil
}

// Close ends the connection, and with it all calls.
func (c *Client) Close() error { return c.conn.Close() }

// Conn returns the connection, for services that the client does not know.
func (c *Client) Conn() *grpc.ClientConn { return c.conn }

// Packages yields the names of all packages, of a server of ours sorted.
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

// Package returns a package. The error matches ErrNotFound where there is none of that name.
func (c *Client) Package(ctx context.Context, name string) (*api.Package, error) {
	return unary(ctx, &api.GetPackageRequest{Name: name}, c.registry.GetPackage)
}

// Bundles yields every bundle of every channel, without manifests where it has an image. A server of ours orders them
// by channel, package and name.
func (c *Client) Bundles(ctx context.Context) iter.Seq2[*api.Bundle, error] {
	return stream(ctx, &api.ListBundlesRequest{}, c.registry.ListBundles)
}

// Bundle returns a bundle with its manifests, and without what it replaces and skips. The error matches ErrNotFound
// where the channel does not hold it.
func (c *Client) Bundle(ctx context.Context, pkg, channel, name string) (*api.Bundle, error) {
	return unary(ctx, &api.GetBundleRequest{PkgName: pkg, ChannelName: channel, CsvName: name}, c.registry.GetBundle)
}

// Replacement returns the bundle of a channel that replaces or skips the one called name. The error matches ErrNotFound
// where there is none.
func (c *Client) Replacement(ctx context.Context, pkg, channel, name string) (*api.Bundle, error) {
	req := &api.GetReplacementRequest{PkgName: pkg, ChannelName: channel, CsvName: name}
	return unary(ctx, req, c.registry.GetBundleThatReplaces)
}

// EntriesThatReplace yields every entry of a channel that replaces or skips the bundle called name; where there is
// none, an error that matches ErrNotFound.
func (c *Client) EntriesThatReplace(ctx context.Context, name string) iter.Seq2[*api.ChannelEntry, error] {
	return stream(ctx, &api.GetAllReplacementsRequest{CsvName: name}, c.registry.GetChannelEntriesThatReplace)
}

// EntriesThatProvide yields every entry of a channel whose bundle provides the kind; where there is none, an error that
// matches ErrNotFound.
func (c *Client) EntriesThatProvide(
	ctx context.Context, group, version, kind string,
) iter.Seq2[*api.ChannelEntry, error] {
	req := &api.GetAllProvidersRequest{Group: group, Version: version, Kind: kind}
	return stream(ctx, req, c.registry.GetChannelEntriesThatProvide)
}

// LatestEntriesThatProvide is EntriesThatProvide for the heads of channels.
func (c *Client) LatestEntriesThatProvide(
	ctx context.Context, group, version, kind string,
) iter.Seq2[*api.ChannelEntry, error] {
	req := &api.GetLatestProvidersRequest{Group: group, Version: version, Kind: kind}
	return stream(ctx, req, c.registry.GetLatestChannelEntriesThatProvide)
}

// DefaultProvider returns the bundle to install for a kind: the head of a default channel that provides it. The error
// matches ErrNotFound where there is none.
func (c *Client) DefaultProvider(ctx context.Context, group, version, kind string) (*api.Bundle, error) {
	req := &api.GetDefaultProviderRequest{Group: group, Version: version, Kind: kind}
	return unary(ctx, req, c.registry.GetDefaultBundleThatProvides)
}

// CustomMetas yields the objects of a schema that is none of the format's own and of a package, "" for those that
// belong to none, in the order of the catalog.
func (c *Client) CustomMetas(ctx context.Context, schema, pkg string) iter.Seq2[*structpb.Struct, error] {
	ctx = metadata.AppendToOutgoingContext(ctx, acknowledge, "true")
	req := &api.ExperimentalListPackageCustomSchemasRequest{Schema: schema, PackageName: pkg}
	return stream(ctx, req, c.experimental.ExperimentalListPackageCustomSchemas)
}

// acknowledge is the metadata without which servers answer experimental calls with nothing.
const acknowledge = "x-acknowledge-experimental"

func unary[Q, A any](
	ctx context.Context, req *Q, call func(context.Context, *Q, ...grpc.CallOption) (*A, error),
) (*A, error) {
	answer, err := call(ctx, req)
	if err != nil {
		return nil, named(err)
	}
	return answer, nil
}

// stream yields the answers to a call; an error is the last. The call ends when nobody wants more of them.
func stream[Q, A any](
	ctx context.Context, req *Q,
	call func(context.Context, *Q, ...grpc.CallOption) (grpc.ServerStreamingClient[A], error),
) iter.Seq2[*A, error] {
	return func(yield func(*A, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		answers, err := call(ctx, req)
		if err != nil {
			yield(nil, named(err))
			return
		}
		for {
			answer, err := answers.Recv()
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(nil, named(err))
				return
			}
			if !yield(answer, nil) {
				return
			}
		}
	}
}

// A notFoundError is the error of a server about what the catalog does not hold.
type notFoundError struct{ error }

func (notFoundError) Is(target error) bool { return target == ErrNotFound }
func (e notFoundError) Unwrap() error      { return e.error }

// named makes an error of a call match the errors of this package.
func named(err error) error {
	if status.Code(err) == codes.NotFound {
		return notFoundError{err}
	}
	return err
}
