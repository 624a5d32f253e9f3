package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"

	"github.com/opm-toolchain/opm/internal/regular"
)

// NewKeychain returns the credentials of the user, found as by podman and docker: in the files of [AuthOptions], most
// specific entry first, and from the helpers listed in these files and in registries.conf. If there are none, it
// resolves to [authn.Anonymous].
//
// An unreadable file and a failing helper are errors, except docker's credsStore if its program is not installed: a
// configuration from a desktop must not prevent access to public images. An entry with an invalid field auth is
// ignored with a warning, as in upstream.
//
// A helper is asked once per registry, with a timeout of a minute. Calls may be concurrent, and wait for each other
// only if they need the same answer.
func NewKeychain(o AuthOptions) authn.Keychain {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &keychain{options: o, helped: map[helperCall]*helperAnswer{}}
}

// A keychain looks up credentials and caches the answers of helpers.
type keychain struct {
	options AuthOptions

	mu     sync.Mutex
	helped map[helperCall]*helperAnswer
}

type helperCall struct{ name, server string }

// A helperAnswer is the cached answer of a helper for a server.
type helperAnswer struct {
	asking chan struct{} // a lock held while the helper runs
	known  bool
	config authn.AuthConfig
	err    error
}

var _ authn.ContextKeychain = (*keychain)(nil)

// Resolve implements [authn.Keychain].
func (k *keychain) Resolve(r authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), r)
}

// ResolveContext implements [authn.ContextKeychain]. Helpers are stopped when ctx is done.
func (k *keychain) ResolveContext(ctx context.Context, r authn.Resource) (authn.Authenticator, error) {
	config, _, err := k.lookup(ctx, newAuthTarget(r))
	if err != nil {
		return nil, fmt.Errorf("credentials for %s: %w", r, err)
	}
	if config == (authn.AuthConfig{}) {
		return authn.Anonymous, nil
	}
	return authn.FromConfig(config), nil
}

// lookup returns the credentials for a target, zero for none, and the sources it searched. Both the keychain and
// Explain use it, so that an explanation matches the actual lookup.
//
// registries.conf lists the sources: helpers, and the files under a reserved name. As in podman, the failure of a
// source is an error only if no later source has credentials.
func (k *keychain) lookup(ctx context.Context, t authTarget) (authn.AuthConfig, []AuthSource, error) {
	helpers, err := sysregistriesv2.CredentialHelpers(registriesConf(k.options.RegistriesConf))
	if err != nil {
		return authn.AuthConfig{}, nil, fmt.Errorf("read registries.conf: %w", err)
	}
	var sources []AuthSource
	var errs []error
	for _, name := range helpers {
		config, asked, err := k.askListed(ctx, name, t)
		sources = append(sources, asked...)
		if err != nil {
			errs = append(errs, err)
		}
		if config != (authn.AuthConfig{}) {
			return config, sources, nil
		}
	}
	return authn.AuthConfig{}, sources, errors.Join(errs...)
}

// askListed asks a source listed in registries.conf: a helper or the files.
func (k *keychain) askListed(ctx context.Context, name string, t authTarget) (
	authn.AuthConfig, []AuthSource, error,
) {
	if name == sysregistriesv2.AuthenticationFileHelper {
		return k.searchFiles(ctx, t)
	}
	source := AuthSource{Origin: "registries.conf", Exists: true, Helper: name}
	config, err := k.ask(ctx, name, t.host)
	source.conclude(config, err)
	return config, []AuthSource{source}, err
}

// searchFiles reads the files in order, until one has credentials or fails.
func (k *keychain) searchFiles(ctx context.Context, t authTarget) (authn.AuthConfig, []AuthSource, error) {
	var sources []AuthSource
	for _, place := range authPlaces(k.options) {
		config, source, err := k.searchFile(ctx, place, t)
		sources = append(sources, source)
		if err != nil || config != (authn.AuthConfig{}) {
			return config, sources, err
		}
	}
	return authn.AuthConfig{}, sources, nil
}

func (k *keychain) searchFile(ctx context.Context, p authPlace, t authTarget) (authn.AuthConfig, AuthSource, error) {
	source := AuthSource{File: p.path, Origin: p.origin}
	// Files in directories that we may not read belong to another user.
	switch _, err := os.Stat(p.path); {
	case err != nil && !p.must:
		return authn.AuthConfig{}, source, nil
	case errors.Is(err, fs.ErrNotExist):
		return authn.AuthConfig{}, source, fmt.Errorf("%s: does not exist", p.path)
	case err != nil:
		return authn.AuthConfig{}, source, fmt.Errorf("%s: cannot be read: %w", p.path, regular.WithoutPath(err))
	}
	source.Exists = true
	config, err := k.fromFile(ctx, p, t, &source)
	source.conclude(config, err)
	if err != nil {
		err = fmt.Errorf("%s: %w", p.path, err)
	}
	return config, source, err
}

// fromFile returns the credentials from a file or from a helper it lists, and records the helper in source. As in
// podman, the helper for a registry takes precedence over its entries. Entries and helpers that only docker supports
// come last.
func (k *keychain) fromFile(ctx context.Context, p authPlace, t authTarget, source *AuthSource) (
	config authn.AuthConfig, err error,
) {
	file, data, err := readAuthFile(p)
	if err != nil || file == nil {
		return config, err
	}
	if helper, ok := file.CredHelpers[t.host]; ok {
		source.Helper = helper
		return k.ask(ctx, helper, t.host)
	}
	config, err = podmanEntry(p, data, t)
	if errors.Is(err, errBrokenEntry) {
		k.options.Log.Warn("credentials for "+t.host+" are ignored", "file", p.path, "reason", err)
		config, err = authn.AuthConfig{}, nil
	}
	if err != nil || config != (authn.AuthConfig{}) {
		return config, err
	}
	if config, err = file.dockerEntry(t); err != nil || config != (authn.AuthConfig{}) {
		return config, err
	}
	servers := t.servers()
	for _, server := range servers {
		if helper, ok := file.CredHelpers[server]; ok {
			source.Helper = helper
			return k.ask(ctx, helper, server)
		}
	}
	if file.CredsStore == "" {
		return config, nil
	}
	source.Helper = file.CredsStore
	config, err = k.ask(ctx, file.CredsStore, servers[0])
	if errors.Is(err, errNotInstalled) {
		source.Note = err.Error()
		return authn.AuthConfig{}, nil
	}
	return config, err
}

// ask returns the answer of a helper for a server, and runs the helper only once.
func (k *keychain) ask(ctx context.Context, name, server string) (authn.AuthConfig, error) {
	call := helperCall{name, server}
	k.mu.Lock()
	got, ok := k.helped[call]
	if !ok {
		got = &helperAnswer{asking: make(chan struct{}, 1)}
		k.helped[call] = got
	}
	k.mu.Unlock()
	select {
	case got.asking <- struct{}{}:
		defer func() { <-got.asking }()
	case <-ctx.Done():
		return authn.AuthConfig{}, context.Cause(ctx)
	}
	if !got.known {
		got.config, got.err = askHelper(ctx, name, server)
		got.known = ctx.Err() == nil
	}
	return got.config, got.err
}

// registriesConf returns the context for podman's libraries to read this registries.conf and the files in the
// directory with the additional suffix .d; "" means the usual files.
func registriesConf(path string) *types.SystemContext {
	if path == "" {
		return &types.SystemContext{}
	}
	return &types.SystemContext{SystemRegistriesConfPath: path, SystemRegistriesConfDirPath: path + ".d"}
}
