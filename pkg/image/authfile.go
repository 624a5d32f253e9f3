package image

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.podman.io/image/v5/pkg/docker/config"

	"github.com/opm-toolchain/opm/internal/regular"
)

// An authTarget is a repository or registry to look up credentials for.
type authTarget struct {
	repository string // docker.io/library/busybox, or a registry alone
	host       string // docker.io
}

func newAuthTarget(r authn.Resource) authTarget {
	repository := podmanName(r.String())
	host, _, _ := strings.Cut(repository, "/")
	return authTarget{repository, host}
}

// podmanName returns podman's name for a repository named by go-containerregistry.
func podmanName(name string) string {
	if rest, ok := strings.CutPrefix(name, "index.docker.io"); ok && (rest == "" || rest[0] == '/') {
		return "docker.io" + rest
	}
	return name
}

// An authFile contains the parts of an auth.json or config.json that podman's library ignores or cannot query with a
// timeout: credential helpers, and entries without the field auth.
type authFile struct {
	Auths       map[string]json.RawMessage `json:"auths"`
	CredHelpers map[string]string          `json:"credHelpers"`
	CredsStore  string                     `json:"credsStore"`
}

// readAuthFile reads a credentials file. It returns nil for a blank file.
func readAuthFile(p authPlace) (*authFile, []byte, error) {
	data, err := regular.ReadPath(p.path)
	if err != nil {
		return nil, nil, regular.WithoutPath(err) // the caller adds the path
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, nil, nil
	}
	f := new(authFile)
	var into any = f
	if p.legacy {
		into = &f.Auths
	}
	return f, data, authError(data, json.Unmarshal(data, into))
}

// podmanEntry returns the credentials that podman's library finds in a file.
func podmanEntry(p authPlace, data []byte, t authTarget) (authn.AuthConfig, error) {
	sys := registriesConf(os.DevNull) // the helpers it lists were already asked
	if p.legacy {
		sys.LegacyFormatAuthFilePath = p.path
	} else {
		sys.AuthFilePath = p.path
	}
	c, err := config.GetCredentials(sys, t.repository)
	return authn.AuthConfig{Username: c.Username, Password: c.Password, IdentityToken: c.IdentityToken},
		authError(data, err)
}

// dockerEntry returns credentials that only docker finds: an entry of the registry with other fields instead of auth.
func (f *authFile) dockerEntry(t authTarget) (authn.AuthConfig, error) {
	type fields authn.AuthConfig // without its UnmarshalJSON, which sets Auth
	for _, key := range slices.Sorted(maps.Keys(f.Auths)) {
		if entryPlace(key) != t.host {
			continue
		}
		var c fields
		if err := json.Unmarshal(f.Auths[key], &c); err != nil {
			return authn.AuthConfig{}, err
		}
		if c.Auth == "" {
			return authn.AuthConfig(c), nil
		}
	}
	return authn.AuthConfig{}, nil
}

// brokenEntry returns the key of the most specific entry for a target whose field auth cannot be decoded, or "".
func (f *authFile) brokenEntry(t authTarget) (broken string) {
	most := 0
	for _, key := range slices.Sorted(maps.Keys(f.Auths)) {
		place := entryPlace(key)
		if t.repository != place && !strings.HasPrefix(t.repository, place+"/") || len(place) < most {
			continue
		}
		most, broken = len(place), ""
		var c struct {
			Auth string `json:"auth"`
		}
		_ = json.Unmarshal(f.Auths[key], &c) // dockerEntry reports the error
		user, err := base64.StdEncoding.DecodeString(c.Auth)
		if err != nil || c.Auth != "" && !bytes.ContainsRune(user, ':') {
			broken = key
		}
	}
	return broken
}

// entryPlace returns podman's name for the registry or the repository of an entry, whose key may be a URL.
func entryPlace(key string) string {
	if u, err := url.Parse(key); err == nil && u.Host != "" {
		key = u.Host
	}
	return podmanName(key)
}

// errBrokenEntry is the error for an entry that is ignored.
var errBrokenEntry = errors.New("auth is not the base64 of user:password")

// authError adds the line of an error in data, without quoting data, which may be secret.
func authError(data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: not valid JSON: %w", lineAt(data, syntax.Offset), syntax)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("line %d: %s has the wrong type", lineAt(data, kind.Offset), cmp.Or(kind.Field, "the file"))
	}
	if _, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return errBrokenEntry
	}
	return err
}

// lineAt returns the line number of an offset, counted from 1.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// AuthOptions configure the lookup of credentials. The zero value uses the same places as podman and docker.
type AuthOptions struct {
	// AuthFile is the only file to read, and must exist; "" means the usual files.
	AuthFile string

	// RegistriesConf is the registries.conf whose credential-helpers are used; "" means the usual files.
	RegistriesConf string

	// Log gets warnings about ignored entries; nil discards them.
	Log *slog.Logger
}

// home returns the home directory of the user, or "".
func home() string {
	if dir := os.Getenv("HOME"); dir != "" {
		return dir
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// configHome returns the directory of the user's configuration, or "".
func configHome() string { return cmp.Or(os.Getenv("XDG_CONFIG_HOME"), under(home(), ".config")) }

// under joins dir and path elements, and returns "" if dir is "".
func under(dir string, elem ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, elem...)...)
}

// An authPlace is the location of a credentials file.
type authPlace struct {
	path   string
	origin string // the option or variable that sets the path, or ""
	legacy bool   // a .dockercfg, with the registries at the top level
	must   bool   // a missing file is an error
}

// authPlaces returns the credentials files to read, in this order, whether or not they exist.
//
// The first is $REGISTRY_AUTH_FILE or else docker's config.json, as in upstream's opm. The files of podman follow,
// see containers-auth.json(5). All constructed paths are absolute, even without a home directory.
func authPlaces(o AuthOptions) []authPlace {
	if o.AuthFile != "" {
		return []authPlace{{path: o.AuthFile, origin: "--authfile", must: true}}
	}
	docker := authPlace{path: under(home(), ".docker", "config.json")}
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		docker = authPlace{path: filepath.Join(dir, "config.json"), origin: "$DOCKER_CONFIG"}
	}
	first := docker
	if path := os.Getenv("REGISTRY_AUTH_FILE"); path != "" {
		first = authPlace{path: path, origin: "$REGISTRY_AUTH_FILE"}
	}
	// The file that `podman login` writes, which does not outlive the session.
	session := authPlace{path: fmt.Sprintf("/run/containers/%d/auth.json", os.Getuid())}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		session = authPlace{path: filepath.Join(dir, "containers", "auth.json"), origin: "$XDG_RUNTIME_DIR"}
	} else if runtime.GOOS != "linux" {
		session.path = under(home(), ".config", "containers", "auth.json")
	}
	places := []authPlace{
		first,
		session,
		{path: under(configHome(), "containers", "auth.json")},
		docker,
		{path: under(home(), ".dockercfg"), legacy: true},
	}
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(places, func(p authPlace) bool {
		again := seen[p.path]
		seen[p.path] = true
		return again
	})
}
