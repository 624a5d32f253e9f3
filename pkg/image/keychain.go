package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	helper "github.com/docker/docker-credential-helpers/client"
	"github.com/docker/docker-credential-helpers/credentials"
	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"
	"golang.org/x/sync/semaphore"

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
	o.Log = logger(o.Log)
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
	asking *semaphore.Weighted // a lock held while the helper runs
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
		if name != sysregistriesv2.AuthenticationFileHelper {
			source := AuthSource{Origin: "registries.conf", Exists: true, Helper: name}
			config, err := k.ask(ctx, name, t.host)
			source.conclude(config, err)
			sources, errs = append(sources, source), append(errs, err)
			if config != (authn.AuthConfig{}) {
				return config, sources, nil
			}
			continue
		}
		for _, place := range authPlaces(k.options) { // until one has credentials or fails
			config, source, err := k.searchFile(ctx, place, t)
			sources, errs = append(sources, source), append(errs, err)
			if config != (authn.AuthConfig{}) {
				return config, sources, nil
			}
			if err != nil {
				break
			}
		}
	}
	return authn.AuthConfig{}, sources, errors.Join(errs...)
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
		config, err = authn.AuthConfig{}, nil
	}
	if key := file.brokenEntry(t); key != "" && err == nil && config == (authn.AuthConfig{}) {
		k.options.Log.Warn("credentials for "+t.host+" are ignored", "file", p.path, "reason", errBrokenEntry)
		source.Note = fmt.Sprintf("the entry %q is ignored: %v", key, errBrokenEntry)
		source.broken = true
	}
	if err != nil || config != (authn.AuthConfig{}) {
		return config, err
	}
	if config, err = file.dockerEntry(t); err != nil || config != (authn.AuthConfig{}) {
		return config, err
	}
	servers := []string{t.host}
	if t.host == dockerHub { // docker has other names for it
		servers = []string{"https://index.docker.io/v1/", "index.docker.io"}
	}
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
		got = &helperAnswer{asking: semaphore.NewWeighted(1)}
		k.helped[call] = got
	}
	k.mu.Unlock()
	if got.asking.Acquire(ctx, 1) != nil {
		return authn.AuthConfig{}, context.Cause(ctx)
	}
	defer got.asking.Release(1)
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

// errNotInstalled is the error for a credential helper whose program does not exist.
var errNotInstalled = errors.New("is not installed")

// helperTime is the timeout of a credential helper, which may ask the user. Tests change it.
var helperTime = time.Minute

// askHelper runs docker-credential-NAME to get the credentials for a registry. The zero AuthConfig means no
// credentials. Podman's library can run helpers too, but cannot cancel them.
func askHelper(ctx context.Context, name, server string) (authn.AuthConfig, error) {
	program := "docker-credential-" + name
	late := fmt.Errorf("%s for %s: no answer within %v", program, server, helperTime)
	ctx, cancel := context.WithTimeoutCause(ctx, helperTime, late)
	defer cancel()
	if _, err := exec.LookPath(program); err != nil {
		return authn.AuthConfig{}, fmt.Errorf("%s %w", program, errNotInstalled)
	}
	got, err := helper.Get(func(args ...string) helper.Program {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = time.Second // its child processes may keep the output open
		return helperProgram{cmd}
	}, server)
	switch {
	case ctx.Err() != nil:
		return authn.AuthConfig{}, context.Cause(ctx)
	case credentials.IsErrCredentialsNotFound(err):
		return authn.AuthConfig{}, nil
	case err != nil:
		return authn.AuthConfig{}, fmt.Errorf("%s for %s: %w", program, server, err)
	case got.Username == "<token>":
		return authn.AuthConfig{IdentityToken: got.Secret}, nil
	}
	return authn.AuthConfig{Username: got.Username, Password: got.Secret}, nil
}

// A helperProgram is one run of a credential helper.
type helperProgram struct{ *exec.Cmd }

func (p helperProgram) Input(in io.Reader) { p.Stdin = in }

// Output runs the program. Its error includes stderr, because not all helpers report errors on stdout as they should.
func (p helperProgram) Output() ([]byte, error) {
	out, err := p.Cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// An Explanation lists the places searched for credentials for an image, and the credentials used. It contains no
// secrets.
type Explanation struct {
	Reference string       `json:"reference"`
	Sources   []AuthSource `json:"sources"` // in search order, up to the one used
	Used      *AuthSource  `json:"used,omitempty"`
	Error     string       `json:"error,omitempty"`
}

// An AuthSource is a file that may have credentials, or a helper listed in registries.conf.
type AuthSource struct {
	File     string `json:"file,omitempty"`
	Origin   string `json:"origin,omitempty"` // its setting, such as $REGISTRY_AUTH_FILE; "" for the usual files
	Exists   bool   `json:"exists"`
	Helper   string `json:"helper,omitempty"`   // the program docker-credential-HELPER was asked
	Username string `json:"username,omitempty"` // of the credentials
	Token    bool   `json:"token,omitzero"`     // the credentials are a token
	Note     string `json:"note,omitempty"`     // why the source is not used although it exists
	used     bool
	broken   bool // an entry for the image is ignored, see Note
}

// ignoredEntry returns the reason why an entry in one of the files is ignored, with the name of the file, or "".
func ignoredEntry(sources []AuthSource) string {
	for _, s := range sources {
		if s.broken {
			return s.File + ": " + s.Note
		}
	}
	return ""
}

// conclude records the result of a source.
func (s *AuthSource) conclude(c authn.AuthConfig, err error) {
	s.used = c != (authn.AuthConfig{})
	s.Username = c.Username
	s.Token = c.IdentityToken != "" || c.RegistryToken != ""
	switch {
	case err != nil:
		s.Note = err.Error()
	case s.used:
		s.Note = ""
	case s.Note != "":
	case s.Helper != "":
		s.Note = fmt.Sprintf("docker-credential-%s has no credentials for it", s.Helper)
	default:
		s.Note = "no credentials for it"
	}
}

// Explain explains which file or helper provides the credentials for ref. It runs helpers.
//
// The error is the keychain's error for ref (see [NewKeychain]). The explanation is returned with it, and is nil only
// if registries.conf cannot be read.
func Explain(ref name.Reference, o AuthOptions) (*Explanation, error) {
	_, sources, err := NewKeychain(o).(*keychain).lookup(context.Background(), newAuthTarget(ref.Context()))
	if sources == nil && err != nil {
		return nil, err
	}
	e := &Explanation{Reference: ref.Name(), Sources: sources}
	if err != nil {
		e.Error = err.Error()
	}
	if n := len(sources); n > 0 && sources[n-1].used {
		e.Used = &sources[n-1]
	}
	return e, err
}

// String returns the explanation as text: a line for each source, then the result.
func (e *Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", e.Reference)
	for _, s := range e.Sources {
		where, state := cmp.Or(s.File, "docker-credential-"+s.Helper), s.Note
		if s.Origin != "" {
			where += " (" + s.Origin + ")"
		}
		if s.used {
			state = "used"
		} else if !s.Exists {
			state = "does not exist"
		}
		fmt.Fprintf(&b, "  %s: %s\n", where, state)
	}
	switch {
	case e.Used != nil:
		fmt.Fprintf(&b, "credentials: %s\n", e.Used.credentials())
	case e.Error != "":
		b.WriteString("credentials: none, because of the error above\n")
	default:
		b.WriteString("credentials: none, requests are anonymous\n")
	}
	return b.String()
}

// credentials describes the credentials: the user, and the file or helper that provides them.
func (s *AuthSource) credentials() string {
	what := "user " + strconv.Quote(s.Username)
	if s.Token && s.Username == "" {
		what = "a token"
	} else if s.Token {
		what = "a token of " + what
	}
	switch {
	case s.Helper == "":
		return what + " from " + s.File
	case s.File == "":
		return what + " from docker-credential-" + s.Helper
	}
	return what + " from docker-credential-" + s.Helper + ", which is named in " + s.File
}
