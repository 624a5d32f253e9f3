package image

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.podman.io/image/v5/pkg/docker/config"
	"go.podman.io/image/v5/types"
)

// basic returns the auth field of an entry.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// authJSON returns a credentials file with an entry for each key, with the key as the user.
func authJSON(keys ...string) string {
	var entries []string
	for _, key := range keys {
		entries = append(entries, fmt.Sprintf("%q:{\"auth\":%q}", key, basic(key, "secret")))
	}
	return `{"auths":{` + strings.Join(entries, ",") + `}}`
}

func writeFile(t testing.TB, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAuthPlaces(t *testing.T) {
	home := map[string]string{"HOME": "/h", "XDG_RUNTIME_DIR": "/run/u"}
	for _, test := range []struct {
		name string
		env  map[string]string
		file string
		want []string
	}{
		{"usual", home, "", []string{
			"/h/.docker/config.json", "/run/u/containers/auth.json", "/h/.config/containers/auth.json", "/h/.dockercfg",
		}},
		{"no runtime directory", map[string]string{"HOME": "/h"}, "", []string{
			"/h/.docker/config.json", fmt.Sprintf("/run/containers/%d/auth.json", os.Getuid()),
			"/h/.config/containers/auth.json", "/h/.dockercfg",
		}},
		{"DOCKER_CONFIG", map[string]string{
			"DOCKER_CONFIG": "/d", "HOME": "/h", "XDG_RUNTIME_DIR": "/run/u",
		}, "", []string{
			"/d/config.json", "/run/u/containers/auth.json", "/h/.config/containers/auth.json", "/h/.dockercfg",
		}},
		{"REGISTRY_AUTH_FILE", map[string]string{
			"REGISTRY_AUTH_FILE": "/r", "HOME": "/h", "XDG_CONFIG_HOME": "/x", "XDG_RUNTIME_DIR": "/run/u",
		}, "", []string{
			"/r", "/run/u/containers/auth.json", "/x/containers/auth.json", "/h/.docker/config.json", "/h/.dockercfg",
		}},
		{"authfile", map[string]string{"REGISTRY_AUTH_FILE": "/r", "HOME": "/h"}, "/a", []string{"/a"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			setEnv(t, test.env)
			for _, place := range authPlaces(AuthOptions{AuthFile: test.file}) {
				got = append(got, place.path)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
}

func TestAuthFile(t *testing.T) {
	helpers := newAuthHome(t)
	for _, name := range []string{"h", "s"} {
		helpers.helper(t, name, `read -r server; printf '{"Username":"`+name+` %s","Secret":"s"}' "$server"`)
	}
	for _, test := range []struct{ name, file, repository, want string }{
		{"repository before namespace", authJSON("q.io/o/a", "q.io/o", "q.io"), "q.io/o/a", "q.io/o/a"},
		{"namespace before registry", authJSON("q.io/o", "q.io"), "q.io/o/a", "q.io/o"},
		{"registry", authJSON("q.io", "q.io/o"), "q.io/p/a", "q.io"},
		{"a name is no prefix", authJSON("q.io/o"), "q.io/org/a", ""},
		{"port", authJSON("q.io"), "q.io:5000/o/a", ""},
		{"URL", `{"auths":{"https://q.io/v1/":{"auth":"dTpw"}}}`, "q.io/o/a", "u"},
		{"docker hub", `{"auths":{"https://index.docker.io/v1/":{"auth":"dTpw"}}}`, "docker.io/library/a", "u"},
		{"docker hub namespace", authJSON("docker.io/o", "https://index.docker.io/v1/"), "docker.io/o/a", "docker.io/o"},
		{"helper before entry", `{"credHelpers":{"q.io":"h"},"auths":{"q.io/o":{"auth":"YTpi"}}}`, "q.io/o/a", "h q.io"},
		{"helper of another registry", `{"credHelpers":{"q.io":"h"}}`, "r.io/o/a", ""},
		{"helper of docker hub", `{"credHelpers":{"https://index.docker.io/v1/":"h"}}`, "docker.io/library/a",
			"h https://index.docker.io/v1/"},
		{"store", `{"credsStore":"s"}`, "q.io/o/a", "s q.io"},
		{"store for a marker", `{"credsStore":"s","auths":{"q.io":{}}}`, "q.io/o/a", "s q.io"},
		{"entry before store", `{"credsStore":"s","auths":{"q.io":{"auth":"YTpi"}}}`, "q.io/o/a", "a"},
		{"store of docker hub", `{"credsStore":"s"}`, "docker.io/library/a", "s https://index.docker.io/v1/"},
		{"empty entry hides shorter ones", `{"auths":{"q.io/o":{},"q.io":{"auth":"YTpi"}}}`, "q.io/o/a", ""},
		{"name and password", `{"auths":{"q.io":{"username":"u","password":"p"}}}`, "q.io/o/a", "u"},
		{"name and password for a URL", `{"auths":{"https://q.io/v1/":{"username":"u","password":"p"}}}`, "q.io/o/a", "u"},
		{"token", `{"auths":{"index.docker.io":{"identitytoken":"t"}}}`, "docker.io/library/a", "t"},
		{"another entry is broken", `{"auths":{"r.io":{"auth":"?"},"q.io":{"auth":"YTpi"}}}`, "q.io/o/a", "a"},
		{"blank file", " \n", "q.io/o/a", ""},
		{"legacy URL", `legacy {"https://q.io/v1/":{"auth":"dTpw"}}`, "q.io/o/a", "u"},
		{"legacy has no namespaces", `legacy {"q.io/o":{"auth":"bjpw"},"q.io":{"auth":"dTpw"}}`, "q.io/o/a", "u"},
		{"syntax", "{\n \"auths\": {\n  \"q.io\": {]\n}}", "q.io/o/a", "error: line 3: not valid JSON"},
		{"type", "{\n \"auths\": {\n  \"q.io\": \"hunter2\"\n}}", "q.io/o/a", "error: line 3: auths has the wrong type"},
		{"number", `{"auths":{"q.io":{"auth":7777777}}}`, "q.io/o/a", "error: line 1: auths.auth has the wrong type"},
		{"root", `["hunter2"]`, "q.io/o/a", "error: line 1: the file has the wrong type"},
		{"not base64", `{"auths":{"q.io":{"auth":"hunter2"}}}`, "q.io/o/a", ""},
		{"no password", `{"auths":{"q.io":{"auth":"aHVudGVyMg=="}}}`, "q.io/o/a", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			content, legacy := strings.CutPrefix(test.file, "legacy ")
			place := authPlace{path: writeFile(t, filepath.Join(t.TempDir(), "auth.json"), content), legacy: legacy}
			c, err := credentialsIn(place, test.repository)
			got := c.Username + c.IdentityToken
			if err != nil {
				got = "error: " + err.Error()
			}
			if !matches(got, test.want) || strings.Contains(got, "hunter2") || strings.Contains(got, "7777777") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// credentialsIn returns the credentials for a repository in a file.
func credentialsIn(p authPlace, repository string) (authn.AuthConfig, error) {
	host, _, _ := strings.Cut(repository, "/")
	k := NewKeychain(AuthOptions{}).(*keychain)
	return k.fromFile(context.Background(), p, authTarget{repository, host}, &AuthSource{})
}

var repositories = []string{
	"q.io/o/a", "q.io/o/a/b", "q.io:5000/o/a", "q.io", "docker.io/library/a", "docker.io", "localhost/a",
}

// FuzzFindAsPodman compares the credentials found in a file with podman's, if podman finds any.
func FuzzFindAsPodman(f *testing.F) {
	f.Add("{}")
	f.Add(authJSON("q.io/o/a", "q.io/o", "q.io"))
	f.Add(authJSON("https://q.io/v1/", "docker.io/library"))
	f.Add(authJSON("https://index.docker.io/v1/"))
	f.Add(`{"auths":{"q.io":{"auth":"dTpwAAA=","identitytoken":"t"},"q.io/o":{"auth":"YTo="}}}`)
	f.Add(`{"q.io":{"auth":"dTpw"},"http://docker.io/x":{"auth":"YTpi"}}`)
	dir := f.TempDir()
	conf := writeFile(f, filepath.Join(dir, "registries.conf"), "")
	f.Fuzz(func(t *testing.T, content string) {
		// Helpers would run programs, and podman's choice among entries with equal hosts is random.
		if strings.Contains(strings.ToLower(content), "cred") || strings.Count(content, "://") > 1 {
			t.Skip()
		}
		path := writeFile(t, filepath.Join(dir, "auth.json"), content)
		auth, legacy := registriesConf(conf), registriesConf(conf)
		auth.AuthFilePath, legacy.LegacyFormatAuthFilePath = path, path
		for _, repository := range repositories {
			for _, sys := range []*types.SystemContext{auth, legacy} {
				want, err := config.GetCredentials(sys, repository)
				if err != nil || want == (types.DockerAuthConfig{}) {
					continue
				}
				got, err := credentialsIn(authPlace{path: path, legacy: sys == legacy}, repository)
				same := types.DockerAuthConfig{
					Username: got.Username, Password: got.Password, IdentityToken: got.IdentityToken,
				}
				if err != nil || same != want {
					t.Errorf("%s: got %+v (%v), want %+v", repository, got, err, want)
				}
			}
		}
	})
}
