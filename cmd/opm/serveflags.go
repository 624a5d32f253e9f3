package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/pkg/serve"
)

// serveFlags are the flags of opm serve.
type serveFlags struct {
	port, addr          perCatalog
	grpcCatalog         string
	portFile, httpAddr  string
	cert, key, clientCA string
	drain               time.Duration

	maxConnections int
	sendMemory     byteSize
	idleTimeout    time.Duration
	reloadGrace    time.Duration

	cacheDir           string
	cacheOnly, enforce bool
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
		"serve the CatalogSources in the manifests in this `PATH`; may be repeated")
	flags.StringArrayVar(&f.state.catalogs, "catalog", nil,
		"contents of a CatalogSource of --state: `[NAMESPACE/]NAME=CATALOG`")
	flags.StringVar(&f.portFile, "port-file", "", "write the port of gRPC to `FILE` when it is open")
	flags.StringVar(&f.httpAddr, "http-addr", "", "serve HTTP on `ADDRESS` too: HOST:PORT or unix:PATH")
	flags.StringVar(&f.cert, "tls-cert", "", "serve TLS with the certificate in `FILE`, which may change")
	flags.StringVar(&f.key, "tls-key", "", "`FILE` with the key of the certificate")
	flags.StringVar(&f.clientCA, "client-ca", "", "accept only clients whose certificate is signed by a CA in `FILE`")
	flags.DurationVar(&f.drain, "drain", serve.DefaultDrain, "let calls go on for this `TIME` after SIGTERM")
	flags.IntVar(&f.maxConnections, "max-connections", 0,
		"keep at most `N` connections, and close the longest idle ones for new ones (default 4000, less with little memory)")
	flags.Var(&f.sendMemory, "send-memory",
		"memory for answers that are being sent, others wait (default a fifth of the memory, at most 256Mi)")
	flags.DurationVar(&f.idleTimeout, "idle-timeout", serve.DefaultIdle,
		"close connections without calls after this `TIME`")
	flags.StringVar(&f.cacheDir, "cache-dir", "", "cache the store of the catalogs in `DIRECTORY`")
	flags.BoolVar(&f.cacheOnly, "cache-only", false, "build the cache, or check that it is up to date, and exit")
	flags.BoolVar(&f.withHTTP, "with-http", false, "cache also what --http-addr needs (with --cache-only)")
	flags.BoolVar(&f.enforce, "cache-enforce-integrity", false,
		"fail if the cache is stale or corrupt, instead of rebuilding it")
	f.images.addKeepGoing(cmd)
	flags.BoolVar(&f.watch, "watch", false, "load the catalogs again when their files change")
	flags.DurationVar(&f.reloadGrace, "reload-grace", serve.DefaultReloadGrace,
		"after a change, ask clients to reconnect over this `DURATION`, 0 never (with --watch)")
	flags.BoolVar(&f.debug, "debug", false, "log every call")
	choiceVar(cmd, &f.logFormat, "log-format", "", "text", "format of the log", "text", "json")
	flags.StringVarP(&f.terminationLog, "termination-log", "t", terminationLog, "write to `FILE` why the server ended")
	flags.StringVar(&f.pprofAddr, "pprof-addr", "", "serve profiles of the program on `ADDRESS`")
	flags.BoolVar(&f.pprofCapture, "pprof-capture-profiles", false,
		"record a profile of the start (with --pprof-addr "+defaultPprofAddr+", if none is given)")
	addReadFlags(cmd, &f.images)
	exclude(cmd, "addr", "port")
	exclude(cmd, "cache-only", "watch")
	must(cmd.MarkFlagDirname("cache-dir"))
	completeNothing(cmd, "port", "addr", "grpc-catalog", "http-addr", "drain", "pprof-addr", "max-connections",
		"send-memory", "idle-timeout", "reload-grace")
}

// check refuses flags that make no sense together.
func (f *serveFlags) check(cmd *cobra.Command) error {
	switch {
	case (f.cert == "") != (f.key == ""):
		return usageError{errors.New("--tls-cert and --tls-key need each other")}
	case f.clientCA != "" && f.cert == "":
		return usageError{errors.New("--client-ca needs --tls-cert")}
	case f.enforce && f.cacheDir == "":
		return usageError{errors.New("--cache-enforce-integrity needs --cache-dir")}
	case f.maxConnections < 0:
		return usageError{errors.New("--max-connections must not be negative")}
	case f.idleTimeout <= 0:
		return usageError{errors.New("--idle-timeout must be more than 0")}
	case f.reloadGrace < 0:
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
	return nil
}

func (f *serveFlags) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if f.debug {
		opts.Level = slog.LevelDebug
	}
	if f.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// sourceDate returns the time that SOURCE_DATE_EPOCH says, zero where it is not set.
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
