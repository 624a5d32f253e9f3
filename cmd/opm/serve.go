package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/serve"
)

func serveCmd() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [NAME=]CATALOG...",
		Short: "Serve catalogs as a gRPC registry and over HTTP",
		Long: `Serve catalogs as a registry over gRPC, and over HTTP if asked to.

A CATALOG is a directory, a file, an archive (.tar or .tar.gz), "-" for standard input, or an
image in a registry, an OCI layout (oci:DIRECTORY[:TAG]) or an archive of images. It must be
valid. Several catalogs are one registry, so that no package may be in two of them; over HTTP
each has its NAME, which is the last part of its path if none is given. With --grpc-catalog, or
--port or --addr for each NAME, catalogs are registries of their own, and may have the same
packages.

With --state, the catalogs of the CatalogSources of a cluster are registries of their own, named
NAMESPACE.NAME: with the contents that --catalog gives, or else their image. The first is served
at --port or --addr, the others at the ports after it; the address of each is printed.

Clients may connect at once: health says NOT_SERVING, and calls wait, until the catalogs are
loaded. The store that is built from them is kept in --cache-dir for the next start.

With --watch, a changed catalog is served as soon as it is loaded, if it is valid. Clients are
then asked to reconnect, over --reload-grace, so that OLM notices the change; no call is lost.

On SIGTERM the server lets running calls finish, up to --drain. Logs go to standard error.`,
		Example: `  opm serve catalog --cache-dir cache --cache-only
  opm serve catalog --cache-dir cache
  opm serve crafts=catalog --addr localhost:50051 --http-addr :8080 --watch
  opm serve old=catalog new=catalog --port old=50051 --port new=50052
  opm serve --state cluster --catalog olm/crafts=catalog --addr localhost:50051`,
		Args:              f.args,
		ValidArgsFunction: completeArgs(files),
		RunE:              func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

// run serves until the context is done. What it has to say goes to the log, errors included: whoever reads that of a
// server looks nowhere else.
func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	log := f.logger(cmd.ErrOrStderr())
	cmd.SetErr(&logWriter{log: log}) // for what opens images
	if f.isFromState() {
		var err error
		if args, err = f.stateCatalogs(cmd); err != nil {
			return err
		}
	}
	catalogs, err := f.catalogs(cmd, args)
	if err != nil {
		return err
	}
	defer catalogs.close()
	catalogs.opts.Read = logReading(log)
	registries, err := f.registries(catalogs)
	if err != nil {
		return err
	}
	err = f.serve(cmd, registries, log)
	if err == nil {
		return nil
	}
	if writeErr := writeTerminationLog(f.terminationLog, cmd.Flags().Changed("termination-log"), err); writeErr != nil {
		log.Warn("cannot write the termination log", "reason", writeErr)
	}
	fail := stopped(log, err, args, catalogs.names())
	if f.logFormat == "json" {
		return failed("") // each line is a record
	}
	return fail
}

// stopped logs why the server stopped, and returns the failure.
func stopped(log *slog.Logger, err error, args, names []string) error {
	serve.LogError(log, "server stopped", err)
	invalid, ok := errors.AsType[*serve.ProblemsError](err)
	switch {
	case !ok:
		return failed(reason(flatten(nil, err)))
	case invalid.Clash:
		return &failure{problem.Reason(invalid.Problems), "hint: " + adviceOnClash(args, names) + "\n"}
	}
	return failed(problem.Reason(invalid.Problems))
}

func (f *serveFlags) serve(cmd *cobra.Command, registries []*servedRegistry, log *slog.Logger) error {
	serve.HonorMemoryLimit()
	profiles, err := startProfiles(f.pprofAddr, f.pprofCapture, log)
	if err != nil {
		return err
	}
	defer profiles.close()
	opts, err := f.options(registries, log)
	if err != nil {
		return err
	}
	loading, loaded := context.WithCancel(cmd.Context())
	defer loaded()
	go limitGarbage(loading)
	if f.cacheOnly {
		for _, r := range opts.Registries {
			if err := serve.Cache(cmd.Context(), r.Load); err != nil {
				return err
			}
		}
		return nil
	}
	opts.Ready = func() {
		profiles.started()
		loaded()
	}
	patience.Store(int64(f.drain))
	return f.listenAndServe(cmd, opts, registries)
}

func (f *serveFlags) options(registries []*servedRegistry, log *slog.Logger) (opts serve.Options, err error) {
	modified, err := sourceDate()
	if err != nil {
		return opts, err
	}
	for _, r := range registries {
		one := serve.Registry{Load: serve.LoadOptions{
			Open: r.open, HTTP: f.httpAddr != "" || f.withHTTP, Log: log, Modified: modified,
			CacheDir: f.cacheDir, CacheName: r.cacheName, CacheOnly: f.cacheOnly, Enforce: f.enforce,
			KeepGoing: f.images.keepGoing,
		}}
		if len(registries) > 1 {
			one.Load.Log = log.With("catalog", r.cacheName)
		}
		if f.watch {
			one.Watch = r.paths()
		}
		opts.Registries = append(opts.Registries, one)
	}
	opts.Server = serve.ServerOptions{Log: log, Drain: f.drain, ReloadGrace: f.reloadGrace, Limits: serve.Limits{
		Connections: f.maxConnections, SendMemory: int64(f.sendMemory), Idle: f.idleTimeout,
	}}
	if f.reloadGrace == 0 {
		opts.Server.ReloadGrace = -1 // never
	}
	if f.cert != "" {
		files := serve.Certificates{Cert: f.cert, Key: f.key, ClientCA: f.clientCA, Log: log}
		opts.Server.TLS, err = files.Config()
	}
	return opts, err
}

func (f *serveFlags) listenAndServe(
	cmd *cobra.Command, opts serve.Options, registries []*servedRegistry,
) error {
	ctx, log := cmd.Context(), opts.Server.Log
	var addrs []net.Addr
	for i, r := range registries {
		if r.addr == "" {
			continue
		}
		l, err := listen(ctx, r.addr)
		if err != nil {
			return err
		}
		defer l.Close() // once more, where it does not come to serving
		opts.Registries[i].Listener = l
		addrs = append(addrs, l.Addr())
		log.Info("listening", "grpc", l.Addr().String(), "tls", f.cert != "", "catalogs", r.names())
	}
	if f.isFromState() {
		if err := printAddresses(textOutput(cmd), registries, addrs); err != nil {
			return err
		}
	}
	if f.httpAddr != "" {
		l, err := listen(ctx, f.httpAddr)
		if err != nil {
			return err
		}
		defer l.Close()
		opts.HTTP = l
		log.Info("listening", "http", l.Addr().String(), "tls", f.cert != "")
	}
	if f.portFile != "" {
		if err := writePort(f.portFile, opts.Registries[0].Listener.Addr()); err != nil {
			return err
		}
		defer os.Remove(f.portFile)
	}
	if err := serve.Run(ctx, opts); err != nil {
		return err
	}
	log.Info("server stopped cleanly")
	return nil
}

// writePort writes the port of addr to a file, with a line feed.
func writePort(name string, addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("write port: %s has none", addr)
	}
	return writeWhole(name, strconv.Itoa(tcp.Port)+"\n")
}
