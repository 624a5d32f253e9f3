package image

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"
)

// NewKeychain returns the credentials of the user, as podman and docker find them: in the files of [AuthOptions], most
// specific entry first, and from the helpers that those files and registries.conf name. Where there are none, it
// returns [authn.Anonymous].
//
// A file that is there but cannot be read and a helper that fails are errors. Of that, docker's credsStore is left out
// if its program is not installed: a configuration that was made on a desktop must not keep anyone from public images.
//
// Files are read once and helpers asked once for a registry. Calls may run at once.
func NewKeychain(o AuthOptions) authn.Keychain {
	return &keychain{
		options: o,
		files:   map[string]readFile{},
		helped:  map[helperCall]helperAnswer{},
	}
}

// A keychain looks credentials up, and remembers what it has read and been told.
type keychain struct {
	options AuthOptions

	mu     sync.Mutex
	files  map[string]readFile // by path
	helped map[helperCall]helperAnswer
}

type readFile struct {
	file *authFile
	err  error
}

type helperCall struct{ name, server string }

type helperAnswer struct {
	config authn.AuthConfig
	err    error
}

var _ authn.ContextKeychain = (*keychain)(nil)

// Resolve implements [authn.Keychain].
func (k *keychain) Resolve(r authn.Resource) (authn.Authenticator, error) {
	return k.ResolveContext(context.Background(), r)
}

// ResolveContext implements [authn.ContextKeychain]. Helpers are stopped with the context.
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

// lookup returns the credentials for a target, zero for none, and where it looked. It is the only way to either, so
// that an explanation is what happens.
//
// registries.conf lists who is asked: helpers, and the files under a name of their own. As in podman, one that fails
// is an error only if none that follows has credentials.
func (k *keychain) lookup(ctx context.Context, t authTarget) (authn.AuthConfig, []AuthSource, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
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

// askListed asks a helper that registries.conf lists, which may stand for the files.
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

// searchFiles looks into one file after the other, up to the first that has credentials or cannot be used.
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
	file, err := k.read(p)
	source.Exists = !errors.Is(err, errNoFile)
	source.Readable = err == nil
	if !source.Exists && !p.must {
		return authn.AuthConfig{}, source, nil
	}
	var config authn.AuthConfig
	if err == nil {
		config, err = k.match(ctx, file, t, &source)
	}
	source.conclude(config, err)
	if err != nil {
		err = fmt.Errorf("%s: %w", p.path, err)
	}
	return config, source, err
}

// match returns the credentials that a file has for a target or leads to, and tells source how.
func (k *keychain) match(ctx context.Context, f *authFile, t authTarget, source *AuthSource) (
	authn.AuthConfig, error,
) {
	m, ok := f.find(t)
	if !ok {
		return authn.AuthConfig{}, nil
	}
	source.Key, source.Helper = m.key, m.helper
	if m.entry != nil {
		config, err := m.entry.config()
		if err != nil {
			return config, fmt.Errorf("entry %q: %w", m.key, err)
		}
		return config, nil
	}
	config, err := k.ask(ctx, m.helper, m.server)
	if m.store && errors.Is(err, errNotInstalled) {
		source.Note = err.Error()
		return authn.AuthConfig{}, nil
	}
	return config, err
}

func (k *keychain) read(p authPlace) (*authFile, error) {
	got, ok := k.files[p.path]
	if !ok {
		got.file, got.err = readAuthFile(p)
		k.files[p.path] = got
	}
	return got.file, got.err
}

func (k *keychain) ask(ctx context.Context, name, server string) (authn.AuthConfig, error) {
	call := helperCall{name, server}
	got, ok := k.helped[call]
	if ok {
		return got.config, got.err
	}
	got.config, got.err = askHelper(ctx, name, server)
	if ctx.Err() == nil {
		k.helped[call] = got
	}
	return got.config, got.err
}

// registriesConf returns the context that makes the podman libraries read a registries.conf, and the files of the
// directory NAME.d beside it; "" are the usual places.
func registriesConf(path string) *types.SystemContext {
	if path == "" {
		return &types.SystemContext{}
	}
	return &types.SystemContext{SystemRegistriesConfPath: path, SystemRegistriesConfDirPath: path + ".d"}
}
