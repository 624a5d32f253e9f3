package main

import (
	"errors"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/opm-toolchain/opm/cmd/opm/internal/cmdline"
	"github.com/opm-toolchain/opm/cmd/opm/internal/help"
	"github.com/opm-toolchain/opm/internal/linelog"
	"github.com/opm-toolchain/opm/pkg/image"
)

// imageFlags are the flags of commands that open images, in addition to the global ones about TLS.
type imageFlags struct {
	authFile     string
	certDir      string
	mirrors      []string
	platform     string
	ignorePolicy bool
	timeout      time.Duration
	redirects    []image.Destination
	cache        string
	cacheMax     cmdline.ByteSize
	unpackedMax  cmdline.ByteSize
	verbose      bool

	rootCA     string    // PEM file of additional trusted certificate authorities
	verifyOnly bool      // --skip-tls-verify does not allow plain HTTP
	keepGoing  bool      // see addKeepGoing
	each       *eachFlag // has what catalogs share; may be nil

	mirrorObjects []image.MirrorObject // of the cluster whose images are opened
	invalidMirror func(error)          // called with the error about one of mirrorObjects
}

// add adds the flags to cmd. Call it after the command has added its own flags, since -v may be taken.
func (f *imageFlags) add(cmd *cobra.Command) {
	flags := pflag.NewFlagSet(help.RegistryFlag, pflag.ContinueOnError)
	flags.StringVar(&f.authFile, "authfile", "",
		"`FILE` with credentials for registries, instead of podman's and docker's")
	flags.StringVar(&f.certDir, "cert-dir", "", "`DIRECTORY` with certificates for registries: *.crt, *.cert and *.key")
	flags.StringArrayVar(&f.mirrors, "image-mirrors", nil,
		"`FILE` with ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy objects")
	flags.StringVar(&f.platform, "platform", "", "choose the image for `OS/ARCH` from an index "+
		"(default linux and this machine's)")
	flags.BoolVar(&f.ignorePolicy, "ignore-signature-policy", false,
		"ignore the signature policy of this host; opm does not check signatures")
	flags.DurationVar(&f.timeout, "registry-timeout", image.DefaultTimeout,
		"give up on a registry that is silent for this `TIME`, or sends less than 4 KB/s (at most 128 KB) within it")
	flags.Func("allow-redirect", "let registries redirect to `HOST|CIDR` in a loopback, link-local or private network "+
		"that is not their own; repeatable", func(text string) error {
		to, err := image.ParseDestination(text)
		f.redirects = append(f.redirects, to)
		return err
	})
	flags.StringVar(&f.cache, "image-cache", "",
		"cache images in `DIRECTORY` (default $OLM_CACHE_DIR/opm-images; without that, there is no cache)")
	flags.Var(&f.cacheMax, "image-cache-max-size", "limit the image cache to `SIZE`, such as 500M or 2Gi (default 2G)")
	flags.Var(&f.unpackedMax, maxImageSize,
		"reject images, archives and standard input that unpack to more than `SIZE` (default 8Gi)")
	short := "v"
	if cmd.Flags().ShorthandLookup(short) != nil {
		short = ""
	}
	flags.BoolVarP(&f.verbose, "verbose", short, false, "log which registry or mirror answered")
	help.OfRegistries(flags)
	cmd.Flags().AddFlagSet(flags)
}

// images opens the images of one command. It reads and creates no files before the first image is opened.
type images struct {
	opener func() (*image.Opener, error)
	closer func() error
}

// close releases all open resources.
func (i *images) close() error { return i.closer() }

// open returns the images for the flags. The error is about flags that exclude each other.
func (f *imageFlags) open(cmd *cobra.Command) (*images, error) {
	if _, err := insecureFlags(cmd); err != nil {
		return nil, err
	}
	i := &images{closer: func() error { return nil }}
	i.opener = sync.OnceValues(func() (*image.Opener, error) {
		opts, err := f.options(cmd)
		if err != nil {
			return nil, err
		}
		opener := image.NewOpener(opts)
		i.closer = func() error { return errors.Join(opener.Close(), opts.Cache.Close()) }
		return opener, nil
	})
	return i, nil
}

// options returns the options for image.NewOpener. It reads the files that the flags name. The caller must close the
// Cache of the options.
func (f *imageFlags) options(cmd *cobra.Command) (opts image.Options, err error) {
	insecure, err := insecureFlags(cmd)
	if err != nil {
		return opts, err
	}
	giveHome()
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelInfo
	}
	log := linelog.New(cmd.ErrOrStderr(), level)
	transport := image.TransportOptions{
		Insecure: insecure, OnInsecure: warnOfOtherFlag(cmd, log), CertDir: f.certDir, RootCAs: f.rootCA,
		Timeout: f.timeout, Log: log, AllowRedirects: f.redirects,
	}
	if f.verifyOnly {
		insecure, transport.OnInsecure = isSet(cmd, "use-http") || isSet(cmd, "skip-tls"), nil
	}
	opts = image.Options{
		Platform:     f.platform,
		Insecure:     insecure,
		Keychain:     image.NewKeychain(image.AuthOptions{AuthFile: f.authFile, Log: log}),
		IgnorePolicy: f.ignorePolicy,
		Limits:       image.Limits{Unpacked: int64(f.unpackedMax)},
		Spool:        spoolOptions(cmd),
		Log:          log,
	}
	mirrors := image.MirrorOptions{
		Files: f.mirrors, Objects: f.mirrorObjects, Invalid: f.invalidMirror, Insecure: insecure,
	}
	if opts.Mirrors, err = image.LoadMirrors(mirrors); err != nil {
		return opts, err
	}
	if opts.Transport, err = image.NewTransport(transport); err != nil {
		return opts, err
	}
	transport.Insecure, transport.OnInsecure = true, nil
	if opts.InsecureTransport, err = image.NewTransport(transport); err != nil {
		return opts, err
	}
	shown := display(cmd)
	opts.Transport, opts.InsecureTransport = shown.Transfers(opts.Transport), shown.Transfers(opts.InsecureTransport)
	cache := image.CacheOptions{MaxSize: int64(f.cacheMax), Spool: opts.Spool, Log: log}
	opts.Cache = image.OpenCache(f.cacheDir(), cache)
	return opts, nil
}

// cacheDir returns the directory of the image cache; "" means no cache.
func (f *imageFlags) cacheDir() string {
	if f.cache != "" {
		return f.cache
	}
	if dir := os.Getenv("OLM_CACHE_DIR"); dir != "" {
		return filepath.Join(dir, "opm-images") // images is upstream's
	}
	return ""
}

// giveHome sets HOME to / for a user without a home directory, as container runtimes do. Without HOME, the library that
// reads registries.conf fails.
func giveHome() {
	if os.Getenv("HOME") != "" {
		return
	}
	if _, err := user.LookupId(strconv.Itoa(os.Getuid())); err != nil {
		_ = os.Setenv("HOME", "/") // fails only for invalid names
	}
}

// insecureFlags reports whether --skip-tls (deprecated), --use-http or --skip-tls-verify allows connections without TLS
// or with unverified certificates. The error is upstream's for flags that exclude each other.
func insecureFlags(cmd *cobra.Command) (bool, error) {
	const invalid = "invalid flag combination: cannot use "
	skipTLS, useHTTP, skipVerify := cmd.Flag("skip-tls"), cmd.Flag("use-http"), cmd.Flag("skip-tls-verify")
	switch {
	case skipTLS.Changed && useHTTP.Changed:
		return false, cmdline.Errorf(invalid + "--use-http with --skip-tls")
	case skipTLS.Changed && skipVerify.Changed:
		return false, cmdline.Errorf(invalid + "--skip-tls-verify with --skip-tls")
	case isSet(cmd, "use-http") && isSet(cmd, "skip-tls-verify"):
		return false, cmdline.Errorf(invalid + "--use-http with --skip-tls-verify")
	}
	return isSet(cmd, "skip-tls") || isSet(cmd, "use-http") || isSet(cmd, "skip-tls-verify"), nil
}

// isSet returns the value of a boolean flag.
func isSet(cmd *cobra.Command, name string) bool { return cmd.Flag(name).Value.String() == "true" }

// warnOfOtherFlag returns a function that warns if --use-http was needed to skip verification, or --skip-tls-verify to
// use plain HTTP: as in upstream, both flags allow both.
func warnOfOtherFlag(cmd *cobra.Command, log *slog.Logger) func(host string, reason error) {
	return func(host string, reason error) {
		switch isPlain := errors.Is(reason, image.ErrPlainHTTP); {
		case isPlain && isSet(cmd, "skip-tls-verify"):
			log.Warn("--skip-tls-verify allowed plain HTTP; use --use-http for that", "registry", host)
		case !isPlain && isSet(cmd, "use-http"):
			log.Warn("--use-http allowed an invalid TLS certificate; use --skip-tls-verify for that",
				"registry", host, "error", reason)
		}
	}
}

// spoolOptions returns the options for buffering input that cannot be read twice.
func spoolOptions(cmd *cobra.Command) image.SpoolOptions {
	return image.SpoolOptions{
		Dir:       os.Getenv("OLM_CACHE_DIR"),
		FileLimit: cmdline.Size(cmd, maxImageSize) / 4, // compressed; a larger file is not a catalog
		Warn:      func(message string) { warn(cmd, "%s", message) },
	}
}
