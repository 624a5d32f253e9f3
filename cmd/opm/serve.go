package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/completion"
	"github.com/opm-toolchain/opm/cmd/opm/internal/failure"
	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
	"github.com/opm-toolchain/opm/internal/atomicfile"
	"github.com/opm-toolchain/opm/internal/linelog"
	"github.com/opm-toolchain/opm/internal/serve/listen"
	"github.com/opm-toolchain/opm/internal/serve/profiles"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/serve"
)

func serveCmd() *cobra.Command {
	var f serveFlags
	return command{
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
		args:     f.args,
		complete: completion.Args(completion.Files),
		flags:    f.add,
		images:   &f.images,
		do:       f.run,
	}.cobra()
}

// run serves until the context is done. It reports everything in the log, including errors, because operators of a
// server look nowhere else.
func (f *serveFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	level := &slog.HandlerOptions{Level: slog.LevelInfo}
	if f.debug {
		level.Level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), level))
	if f.logFormat == "json" {
		log = slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), level))
	}
	cmd.SetErr(&linelog.Writer{Log: log}) // for warnings from opening images
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
	asked, message := cmd.Flags().Changed("termination-log"), terminationMessage(err)
	if err := process.WriteTerminationLog(f.terminationLog, asked, message); err != nil {
		log.Warn("cannot write the termination log", "reason", err)
	}
	fail := stopped(cmd, log, err, args, catalogs.names())
	if f.logFormat == "json" {
		return failure.New("") // standard error has only JSON records
	}
	return fail
}

// stopped logs the reason why the server stopped, and returns the failure.
func stopped(cmd *cobra.Command, log *slog.Logger, err error, args, names []string) error {
	serve.LogError(log, "server stopped", err)
	invalid, ok := errors.AsType[*serve.ProblemsError](err)
	switch {
	case !ok:
		return &failure.Error{Reason: failure.Reason(failure.Flatten(err)), After: hintLine(cmd, err)}
	case invalid.Clash:
		return &failure.Error{
			Reason: problem.Reason(invalid.Problems), After: "hint: " + adviceOnClash(args, names) + "\n",
		}
	}
	return failure.New(problem.Reason(invalid.Problems))
}

func (f *serveFlags) serve(cmd *cobra.Command, registries []*servedRegistry, log *slog.Logger) error {
	p := process.Of(cmd.Context())
	p.HonorMemoryLimit()
	profiling, err := profiles.Start(f.pprofAddr, f.pprofCapture, log)
	if err != nil {
		return err
	}
	defer profiling.Close()
	opts, err := f.options(registries, log)
	if err != nil {
		return err
	}
	loading, loaded := context.WithCancel(cmd.Context())
	defer loaded()
	go p.LimitGarbage(loading)
	if f.load.CacheOnly {
		for _, r := range opts.Registries {
			if err := serve.Cache(cmd.Context(), r.Load); err != nil {
				return err
			}
		}
		return nil
	}
	opts.Ready = func() {
		profiling.Started()
		loaded()
	}
	p.WaitFor(f.server.Drain)
	return f.listenAndServe(cmd, opts, registries)
}

func (f *serveFlags) options(registries []*servedRegistry, log *slog.Logger) (opts serve.Options, err error) {
	if f.load.Modified, err = sourceDate(); err != nil {
		return opts, err
	}
	opts = f.server
	opts.Log = log
	f.load.HTTP, f.load.KeepGoing = f.httpAddr != "" || f.withHTTP, f.images.keepGoing
	for _, r := range registries {
		one := serve.Registry{Load: f.load}
		one.Load.Open, one.Load.CacheName, one.Load.Log = r.open, r.cacheName, log
		if len(registries) > 1 {
			one.Load.Log = log.With("catalog", r.cacheName)
		}
		if f.watch {
			one.Watch = r.paths()
		}
		opts.Registries = append(opts.Registries, one)
	}
	opts.Limits.SendMemory = int64(f.sendMemory)
	if f.server.ReloadGrace == 0 {
		opts.ReloadGrace = -1 // never
	}
	if f.tls.Cert != "" {
		f.tls.Log = log
		opts.TLS, err = f.tls.Config()
	}
	return opts, err
}

func (f *serveFlags) listenAndServe(
	cmd *cobra.Command, opts serve.Options, registries []*servedRegistry,
) error {
	ctx, log := cmd.Context(), opts.Log
	var printed strings.Builder
	var grpc net.Listener // the only one, with --port-file
	for i, r := range registries {
		if r.addr == "" {
			continue
		}
		l, err := listen.Open(ctx, r.addr)
		if err != nil {
			return err
		}
		defer l.Close() // for errors before serving; otherwise it is closed already
		opts.Registries[i].Listener, grpc = l, l
		log.Info("listening", "grpc", l.Addr().String(), "tls", f.tls.Cert != "", "catalogs", r.names())
		if f.isFromState() {
			fmt.Fprintf(&printed, "%s %s\n", strings.Replace(r.cacheName, ".", "/", 1), l.Addr())
		}
	}
	if f.isFromState() {
		if _, err := io.WriteString(textOutput(cmd), printed.String()); err != nil {
			return err
		}
	}
	if f.httpAddr != "" {
		l, err := listen.Open(ctx, f.httpAddr)
		if err != nil {
			return err
		}
		defer l.Close()
		opts.HTTP = l
		log.Info("listening", "http", l.Addr().String(), "tls", f.tls.Cert != "")
	}
	if f.portFile != "" {
		if err := writePort(f.portFile, grpc.Addr()); err != nil {
			return err
		}
		defer removePort(f.portFile, log)
	}
	if err := serve.Run(ctx, opts); err != nil {
		return err
	}
	log.Info("server stopped cleanly")
	return nil
}

func writePort(file string, addr net.Addr) error {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("write port: %s has none", addr)
	}
	opts := atomicfile.Options{Replace: true, Stream: true}
	return atomicfile.Write(file, opts, atomicfile.Text(fmt.Appendln(nil, tcp.Port)))
}

// removePort removes the file of the port, but no device, pipe or link.
func removePort(file string, log *slog.Logger) {
	if err := atomicfile.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		log.Warn("cannot remove the file of the port", "reason", err)
	}
}

// sourceDate returns the time in SOURCE_DATE_EPOCH, or the zero time if the variable is not set.
func sourceDate() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Time{}, nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds", text)
	}
	return time.Unix(seconds, 0), nil
}
