package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/atomicfile"
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
		complete: completeArgs(files),
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
	cmd.SetErr(&logWriter{log: log}) // for warnings from opening images
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
		return failed("") // standard error has only JSON records
	}
	return fail
}

// stopped logs the reason why the server stopped, and returns the failure.
func stopped(log *slog.Logger, err error, args, names []string) error {
	serve.LogError(log, "server stopped", err)
	invalid, ok := errors.AsType[*serve.ProblemsError](err)
	switch {
	case !ok:
		return failed(reason(flatten(err)))
	case invalid.Clash:
		return &failure{problem.Reason(invalid.Problems), "hint: " + adviceOnClash(args, names) + "\n"}
	}
	return failed(problem.Reason(invalid.Problems))
}

func (f *serveFlags) serve(cmd *cobra.Command, registries []*servedRegistry, log *slog.Logger) error {
	p := processOf(cmd.Context())
	p.honorMemoryLimit()
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
	go p.limitGarbage(loading)
	if f.load.CacheOnly {
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
	p.waitFor(f.server.Drain)
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
		l, err := listen(ctx, r.addr)
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
		l, err := listen(ctx, f.httpAddr)
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

// serveFlags are the flags of opm serve.
type serveFlags struct {
	port, addr         perCatalog
	grpcCatalog        string
	portFile, httpAddr string
	tls                serve.Certificates
	server             serve.Options
	sendMemory         byteSize
	load               serve.LoadOptions
	withHTTP           bool
	watch              bool

	debug          bool
	logFormat      string
	terminationLog string
	pprofAddr      string
	pprofCapture   bool

	state  stateFlags
	images imageFlags
}

func (f *serveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.port.all = "50051"
	flags.VarP(&f.port, "port", "p",
		"serve gRPC on `[NAME=]PORT` of all interfaces, 0 is any that is free; with NAME, that catalog by itself")
	flags.Var(&f.addr, "addr", "serve gRPC on `[NAME=]ADDRESS`: HOST:PORT or unix:PATH; with NAME as --port")
	flags.StringVar(&f.grpcCatalog, "grpc-catalog", "", "serve only the catalog `NAME` over gRPC, and all over HTTP")
	flags.StringArrayVar(&f.state.paths, "state", nil,
		"serve the CatalogSources in the manifests in this `PATH`, or of the live cluster kube:[CONTEXT]; repeatable")
	f.state.live.add(flags)
	flags.StringArrayVar(&f.state.catalogs, "catalog", nil,
		"contents of a CatalogSource of --state: `[NAMESPACE/]NAME=CATALOG`")
	flags.StringVar(&f.portFile, "port-file", "", "write the port of gRPC to `FILE` when it is open")
	flags.StringVar(&f.httpAddr, "http-addr", "", "serve HTTP on `ADDRESS` too: HOST:PORT or unix:PATH")
	flags.StringVar(&f.tls.Cert, "tls-cert", "", "serve TLS with the certificate in `FILE`, which may change")
	flags.StringVar(&f.tls.Key, "tls-key", "", "`FILE` with the key of the certificate")
	flags.StringVar(&f.tls.ClientCA, "client-ca", "", "accept only clients whose certificate is signed by a CA in `FILE`")
	flags.DurationVar(&f.server.Drain, "drain", serve.DefaultDrain, "let calls go on for this `TIME` after SIGTERM")
	flags.IntVar(&f.server.Limits.Connections, "max-connections", 0,
		"keep at most `N` connections, and close the longest idle ones for new ones (default 4000, less with little memory)")
	flags.Var(&f.sendMemory, "send-memory",
		"memory for answers that are being sent, others wait (default a fifth of the memory, at most 256Mi)")
	flags.DurationVar(&f.server.Limits.Idle, "idle-timeout", serve.DefaultIdle,
		"close connections without calls after this `TIME`")
	flags.StringVar(&f.load.CacheDir, "cache-dir", "", "cache the store of the catalogs in `DIRECTORY`")
	flags.BoolVar(&f.load.CacheOnly, "cache-only", false, "build the cache, or check that it is up to date, and exit")
	flags.BoolVar(&f.withHTTP, "with-http", false, "cache also what --http-addr needs (with --cache-only)")
	flags.BoolVar(&f.load.Enforce, "cache-enforce-integrity", false,
		"fail if the cache is stale or corrupt, instead of rebuilding it")
	f.images.addKeepGoing(cmd)
	flags.BoolVar(&f.watch, "watch", false, "load the catalogs again when their files change")
	flags.DurationVar(&f.server.ReloadGrace, "reload-grace", serve.DefaultReloadGrace,
		"after a change, ask clients to reconnect over this `DURATION`, 0 never (with --watch)")
	flags.BoolVar(&f.debug, "debug", false, "log every call")
	choiceVar(cmd, &f.logFormat, "log-format", "", "text", "format of the log", "text", "json")
	flags.StringVarP(&f.terminationLog, "termination-log", "t", terminationLog, "write to `FILE` why the server ended")
	flags.StringVar(&f.pprofAddr, "pprof-addr", "", "serve profiles of the program on `ADDRESS`")
	flags.BoolVar(&f.pprofCapture, "pprof-capture-profiles", false,
		"record a profile of the start (with --pprof-addr "+defaultPprofAddr+", if none is given)")
	exclude(cmd, "addr", "port")
	exclude(cmd, "cache-only", "watch")
}

// check returns an error for flags that cannot be combined.
func (f *serveFlags) check(cmd *cobra.Command) error {
	switch {
	case (f.tls.Cert == "") != (f.tls.Key == ""):
		return usageError{errors.New("--tls-cert and --tls-key need each other")}
	case f.tls.ClientCA != "" && f.tls.Cert == "":
		return usageError{errors.New("--client-ca needs --tls-cert")}
	case f.load.Enforce && f.load.CacheDir == "":
		return usageError{errors.New("--cache-enforce-integrity needs --cache-dir")}
	case f.server.Limits.Connections < 0:
		return usageError{errors.New("--max-connections must not be negative")}
	case f.server.Limits.Idle <= 0:
		return usageError{errors.New("--idle-timeout must be more than 0")}
	case f.server.ReloadGrace < 0:
		return usageError{errors.New("--reload-grace must not be negative")}
	case cmd.Flags().Changed("reload-grace") && !f.watch:
		return usageError{errors.New("--reload-grace needs --watch")}
	case f.portFile != "" && strings.HasPrefix(f.addr.all, unixPrefix):
		return usageError{errors.New("--port-file needs an address with a port")}
	case f.portFile != "" && (len(f.port.each)+len(f.addr.each) > 0 || f.isFromState()):
		return usageError{errors.New("--port-file needs one gRPC address for all catalogs")}
	case f.grpcCatalog != "" && len(f.port.each)+len(f.addr.each) > 0:
		return usageError{errors.New("--grpc-catalog needs one gRPC address, without a NAME")}
	}
	return f.checkAddresses()
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

const unixPrefix = "unix:"

// socketPath returns the path of an address unix:PATH, and whether it is one.
func socketPath(addr string) (path string, ok bool) {
	path, ok = strings.CutPrefix(addr, unixPrefix)
	return strings.TrimPrefix(path, "//"), ok
}

// checkAddresses returns an error for an address of a socket without a path, for which the system would choose a name.
func (f *serveFlags) checkAddresses() error {
	addrs := map[string][]string{"addr": {f.addr.all}, "http-addr": {f.httpAddr}}
	for _, name := range slices.Sorted(maps.Keys(f.addr.each)) {
		addrs["addr"] = append(addrs["addr"], f.addr.each[name])
	}
	for _, flag := range slices.Sorted(maps.Keys(addrs)) {
		for _, addr := range addrs[flag] {
			if path, ok := socketPath(addr); ok && path == "" {
				return usageError{fmt.Errorf("--%s %q has no path: want %sPATH", flag, addr, unixPrefix)}
			}
		}
	}
	return nil
}

// listen opens HOST:PORT or unix:PATH. A stale socket at PATH is replaced.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	network := "tcp"
	if path, ok := socketPath(addr); ok {
		network, addr = "unix", path
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, network, addr)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && isLeftOver(ctx, addr) {
		if err := os.Remove(addr); err != nil {
			return nil, err
		}
		return config.Listen(ctx, network, addr)
	}
	return l, err
}

// isLeftOver reports whether no process listens on the socket at path.
func isLeftOver(ctx context.Context, path string) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
