package image

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// An authFile is what a file with credentials says, in the format of docker's config.json and podman's auth.json.
type authFile struct {
	Auths       map[string]authEntry `json:"auths"`
	CredHelpers map[string]string    `json:"credHelpers"`
	CredsStore  string               `json:"credsStore"`

	legacy bool
}

// An authEntry holds the credentials of one key. Docker leaves entries empty to say that its store has the credentials.
type authEntry struct {
	Auth          string `json:"auth"` // base64 of user:password
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// errNoFile is returned for a place where no file can be seen.
var errNoFile = errors.New("does not exist")

// readAuthFile reads the file of a place. The error is errNoFile if there is none or its directory is closed to us:
// what another user has there is not ours. A file that is there must be readable.
func readAuthFile(p authPlace) (*authFile, error) {
	if _, err := os.Stat(p.path); err != nil {
		return nil, errNoFile
	}
	data, err := os.ReadFile(p.path)
	if err != nil {
		return nil, cmp.Or(errors.Unwrap(err), err) // without the path, which the caller knows
	}
	f := &authFile{legacy: p.legacy}
	if len(bytes.TrimSpace(data)) == 0 {
		return f, nil
	}
	var into any = f
	if p.legacy {
		into = &f.Auths
	}
	if err := json.Unmarshal(data, into); err != nil {
		return nil, jsonError(data, err)
	}
	return f, nil
}

// jsonError says where in data a JSON error is. It leaves out what stands there, which may be a secret.
func jsonError(data []byte, err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("line %d: not JSON: %w", lineAt(data, syntax.Offset), err)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("line %d: %s is of the wrong type", lineAt(data, kind.Offset), cmp.Or(kind.Field, "the file"))
	}
	return err
}

// lineAt returns the line of an offset, from 1.
func lineAt(data []byte, offset int64) int {
	return 1 + bytes.Count(data[:min(max(offset, 0), int64(len(data)))], []byte("\n"))
}

// An authTarget is what credentials are looked up for.
type authTarget struct {
	repository string // docker.io/library/busybox, or a registry alone
	host       string // docker.io
}

func newAuthTarget(r authn.Resource) authTarget {
	repository := podmanName(r.String())
	host, _, _ := strings.Cut(repository, "/")
	return authTarget{repository, host}
}

// podmanName returns a name that go-containerregistry made as podman and the files have it.
func podmanName(name string) string {
	if rest, ok := strings.CutPrefix(name, "index.docker.io"); ok && (rest == "" || rest[0] == '/') {
		return "docker.io" + rest
	}
	return name
}

// keys returns what entries may be called, the most specific first: quay.io/org/app, quay.io/org, quay.io.
func (t authTarget) keys() []string {
	keys := []string{t.repository}
	for key := t.repository; strings.Contains(key, "/"); {
		key = key[:strings.LastIndexByte(key, '/')]
		keys = append(keys, key)
	}
	return keys
}

// servers returns what docker calls the registry where it asks helpers. Only its own has several names.
func (t authTarget) servers() []string {
	if t.host == "docker.io" {
		return []string{"https://index.docker.io/v1/", "index.docker.io"}
	}
	return []string{t.host}
}

// An authMatch is the part of a file that is about a target.
type authMatch struct {
	key    string     // of auths or credHelpers; "" for credsStore
	helper string     // to be asked; "" if entry has the credentials
	server string     // what the helper is asked for
	store  bool       // the helper is the one for all registries
	entry  *authEntry // of auths
}

// find returns what the file has for a target, in the order in which it counts: first as podman reads the file, then
// as docker does. No matches are no credentials.
//
// As in podman, the helper of a registry replaces the entries of the file, and only the most specific entry counts.
func (f *authFile) find(t authTarget) (authMatch, bool) {
	if helper, ok := f.CredHelpers[t.host]; ok {
		return authMatch{key: t.host, helper: helper, server: t.host}, true
	}
	if key, entry := f.entry(t); entry != nil && *entry != (authEntry{}) {
		return authMatch{key: key, entry: entry}, true
	}
	servers := t.servers()
	for _, server := range servers {
		if helper, ok := f.CredHelpers[server]; ok {
			return authMatch{key: server, helper: helper, server: server}, true
		}
	}
	if f.CredsStore != "" {
		return authMatch{helper: f.CredsStore, server: servers[0], store: true}, true
	}
	return authMatch{}, false
}

// entry returns the most specific entry for a target and its key, or nil.
func (f *authFile) entry(t authTarget) (string, *authEntry) {
	keys := t.keys()
	if f.legacy {
		keys = []string{t.host}
	}
	for _, key := range keys {
		if entry, ok := f.Auths[key]; ok {
			return key, &entry
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.Auths)) {
		if f.hostOf(key) == t.host {
			entry := f.Auths[key]
			return key, &entry
		}
	}
	return "", nil
}

// hostOf returns the registry that a key is about, and keys with a path as they are. Docker has written URLs and
// several names of its own registry.
func (f *authFile) hostOf(key string) string {
	_, rest, isURL := strings.Cut(key, "://")
	if !isURL {
		rest = key
	}
	if isURL || f.legacy {
		rest, _, _ = strings.Cut(rest, "/")
	}
	if rest == "index.docker.io" || rest == "registry-1.docker.io" {
		return "docker.io"
	}
	return rest
}

// config returns the credentials of an entry.
func (e *authEntry) config() (authn.AuthConfig, error) {
	c := authn.AuthConfig{
		Username:      e.Username,
		Password:      e.Password,
		IdentityToken: e.IdentityToken,
		RegistryToken: e.RegistryToken,
	}
	if e.Auth == "" {
		return c, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(e.Auth))
	name, password, ok := strings.Cut(string(decoded), ":")
	if err != nil || !ok {
		// The text is kept out of the message: it may be a secret.
		return authn.AuthConfig{}, errors.New("auth is not the base64 of user:password")
	}
	c.Username, c.Password = name, strings.Trim(password, "\x00")
	return c, nil
}
