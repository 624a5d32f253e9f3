package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/process"
	"github.com/opm-toolchain/opm/internal/serve/listen"
	"github.com/opm-toolchain/opm/internal/serve/profiles"
	"github.com/opm-toolchain/opm/pkg/serve"
)

// serveFlags are the flags of opm serve.
type serveFlags struct {
	port, addr         cmdline.PerName // by the name of a catalog
	grpcCatalog        string
	portFile, httpAddr string
	tls                serve.Certificates
	server             serve.Options
	sendMemory         cmdline.ByteSize
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
	f.port.All = "50051"
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
	cmdline.ChoiceVar(cmd, &f.logFormat, "log-format", "", "text", "format of the log", "text", "json")
	flags.StringVarP(&f.terminationLog, "termination-log", "t", process.TerminationLog,
		"write to `FILE` why the server ended")
	flags.StringVar(&f.pprofAddr, "pprof-addr", "", "serve profiles of the program on `ADDRESS`")
	flags.BoolVar(&f.pprofCapture, "pprof-capture-profiles", false,
		"record a profile of the start (with --pprof-addr "+profiles.DefaultAddr+", if none is given)")
	cmdline.Exclude(cmd, "addr", "port")
	cmdline.Exclude(cmd, "cache-only", "watch")
}

// check returns an error for flags that cannot be combined.
func (f *serveFlags) check(cmd *cobra.Command) error {
	switch {
	case (f.tls.Cert == "") != (f.tls.Key == ""):
		return cmdline.Errorf("--tls-cert and --tls-key need each other")
	case f.tls.ClientCA != "" && f.tls.Cert == "":
		return cmdline.Errorf("--client-ca needs --tls-cert")
	case f.load.Enforce && f.load.CacheDir == "":
		return cmdline.Errorf("--cache-enforce-integrity needs --cache-dir")
	case f.server.Limits.Connections < 0:
		return cmdline.Errorf("--max-connections must not be negative")
	case f.server.Limits.Idle <= 0:
		return cmdline.Errorf("--idle-timeout must be more than 0")
	case f.server.ReloadGrace < 0:
		return cmdline.Errorf("--reload-grace must not be negative")
	case cmd.Flags().Changed("reload-grace") && !f.watch:
		return cmdline.Errorf("--reload-grace needs --watch")
	case f.portFile != "" && strings.HasPrefix(f.addr.All, listen.UnixPrefix):
		return cmdline.Errorf("--port-file needs an address with a port")
	case f.portFile != "" && (len(f.port.Each)+len(f.addr.Each) > 0 || f.isFromState()):
		return cmdline.Errorf("--port-file needs one gRPC address for all catalogs")
	case f.grpcCatalog != "" && len(f.port.Each)+len(f.addr.Each) > 0:
		return cmdline.Errorf("--grpc-catalog needs one gRPC address, without a NAME")
	}
	return f.checkAddresses()
}

// checkAddresses returns an error for an address of a socket without a path, for which the system would choose a name.
func (f *serveFlags) checkAddresses() error {
	addrs := map[string][]string{"addr": {f.addr.All}, "http-addr": {f.httpAddr}}
	for _, name := range slices.Sorted(maps.Keys(f.addr.Each)) {
		addrs["addr"] = append(addrs["addr"], f.addr.Each[name])
	}
	for _, flag := range slices.Sorted(maps.Keys(addrs)) {
		for _, addr := range addrs[flag] {
			if path, ok := listen.SocketPath(addr); ok && path == "" {
				return cmdline.Errorf("--%s %q has no path: want %sPATH", flag, addr, listen.UnixPrefix)
			}
		}
	}
	return nil
}
