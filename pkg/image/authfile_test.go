package image

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.podman.io/image/v5/pkg/docker/config"
	"go.podman.io/image/v5/types"
)

// basic returns the auth field of an entry.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// authJSON returns a file with an entry for each key, whose user is the key.
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

// targetOf returns the target of a repository as the files have it.
func targetOf(repository string) authTarget {
	host, _, _ := strings.Cut(repository, "/")
	return authTarget{repository, host}
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
			o := AuthOptions{AuthFile: test.file, Env: func(s string) string { return test.env[s] }}
			for _, place := range authPlaces(o) {
				got = append(got, place.path)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%q, want\n%q", got, test.want)
			}
		})
	}
}

func TestFind(t *testing.T) {
	for _, test := range []struct {
		name, file, repository string
		want                   string // key, or helper, server
	}{
		{"repository before namespace", authJSON("q.io/o/a", "q.io/o", "q.io"), "q.io/o/a", "q.io/o/a"},
		{"namespace before registry", authJSON("q.io/o", "q.io"), "q.io/o/a", "q.io/o"},
		{"registry", authJSON("q.io", "q.io/o"), "q.io/p/a", "q.io"},
		{"a name is no prefix", authJSON("q.io/o"), "q.io/org/a", ""},
		{"port", authJSON("q.io"), "q.io:5000/o/a", ""},
		{"URL", authJSON("https://q.io/v1/"), "q.io/o/a", "https://q.io/v1/"},
		{"docker hub", authJSON("https://index.docker.io/v1/"), "docker.io/library/a", "https://index.docker.io/v1/"},
		{"docker hub namespace", authJSON("docker.io/o", "https://index.docker.io/v1/"), "docker.io/o/a", "docker.io/o"},
		{"helper before entry", `{"credHelpers":{"q.io":"h"},"auths":{"q.io/o":{"auth":"YTpi"}}}`, "q.io/o/a", "h q.io"},
		{"helper of another registry", `{"credHelpers":{"q.io":"h"}}`, "r.io/o/a", ""},
		{"helper of docker hub", `{"credHelpers":{"https://index.docker.io/v1/":"h"}}`, "docker.io/library/a",
			"h https://index.docker.io/v1/"},
		{"store", `{"credsStore":"s"}`, "q.io/o/a", "s q.io"},
		{"store for a marker", `{"credsStore":"s","auths":{"q.io":{}}}`, "q.io/o/a", "s q.io"},
		{"entry before store", `{"credsStore":"s","auths":{"q.io":{"auth":"YTpi"}}}`, "q.io/o/a", "q.io"},
		{"store of docker hub", `{"credsStore":"s"}`, "docker.io/library/a", "s https://index.docker.io/v1/"},
		{"empty entry hides shorter ones", `{"auths":{"q.io/o":{},"q.io":{"auth":"YTpi"}}}`, "q.io/o/a", ""},
		{"name and password", `{"auths":{"q.io":{"username":"u","password":"p"}}}`, "q.io/o/a", "q.io"},
		{"blank file", " \n", "q.io/o/a", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := writeFile(t, filepath.Join(t.TempDir(), "auth.json"), test.file)
			file, err := readAuthFile(authPlace{path: path})
			if err != nil {
				t.Fatal(err)
			}
			m, _ := file.find(targetOf(test.repository))
			got := m.key
			if m.helper != "" {
				got = m.helper + " " + m.server
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLegacyFile(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{`{"https://q.io/v1/":{"auth":"dTpw"}}`, "https://q.io/v1/"},
		{`{"q.io/o":{"auth":"dTpw"},"q.io":{"auth":"dTpw"}}`, "q.io"},
	} {
		path := writeFile(t, filepath.Join(t.TempDir(), ".dockercfg"), test.file)
		file, err := readAuthFile(authPlace{path: path, legacy: true})
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := file.find(targetOf("q.io/o/a")); !ok || m.key != test.want {
			t.Errorf("%s: got %+v, %v, want %s", test.file, m, ok, test.want)
		}
	}
}

func TestAuthFileErrors(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"syntax", "{\n \"auths\": {\n  \"q.io\": {]\n}}", "line 3: not JSON"},
		{"type", "{\n \"auths\": {\n  \"q.io\": \"hunter2\"\n}}", "line 3: auths is of the wrong type"},
		{"root", `["hunter2"]`, "line 1: the file is of the wrong type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readAuthFile(authPlace{path: writeFile(t, filepath.Join(t.TempDir(), "a"), test.file)})
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("secret in %v", err)
			}
		})
	}
}

// sameAsPodman compares the entry of a file for a repository with what podman takes, where podman takes any.
func sameAsPodman(t *testing.T, path, repository string, legacy bool) {
	t.Helper()
	conf := filepath.Join(filepath.Dir(path), "registries.conf")
	sys := registriesConf(conf)
	if legacy {
		sys.LegacyFormatAuthFilePath = path
	} else {
		sys.AuthFilePath = path
	}
	want, err := config.GetCredentials(sys, repository)
	if err != nil || want == (types.DockerAuthConfig{}) {
		return
	}
	file, err := readAuthFile(authPlace{path: path, legacy: legacy})
	if err != nil {
		t.Fatalf("%v, but podman takes it", err)
	}
	m, _ := file.find(targetOf(repository))
	if m.entry == nil {
		t.Fatalf("%s: got %+v, want %+v", repository, m, want)
	}
	got, err := m.entry.config()
	same := types.DockerAuthConfig{Username: got.Username, Password: got.Password, IdentityToken: got.IdentityToken}
	if err != nil || same != want {
		t.Errorf("%s: got %+v (%v), want %+v", repository, got, err, want)
	}
}

var repositories = []string{
	"q.io/o/a", "q.io/o/a/b", "q.io:5000/o/a", "q.io", "docker.io/library/a", "docker.io", "localhost/a",
}

func FuzzFindAsPodman(f *testing.F) {
	f.Add("{}")
	f.Add(authJSON("q.io/o/a", "q.io/o", "q.io"))
	f.Add(authJSON("https://q.io/v1/", "docker.io/library"))
	f.Add(authJSON("https://index.docker.io/v1/"))
	f.Add(`{"auths":{"q.io":{"auth":"dTpwAAA=","identitytoken":"t"},"q.io/o":{"auth":"YTo="}}}`)
	f.Add(`{"q.io":{"auth":"dTpw"},"http://docker.io/x":{"auth":"YTpi"}}`)
	dir := f.TempDir()
	writeFile(f, filepath.Join(dir, "registries.conf"), "")
	f.Fuzz(func(t *testing.T, content string) {
		// Helpers would run programs, and of equal hosts podman takes any.
		if strings.Contains(strings.ToLower(content), "cred") || strings.Count(content, "://") > 1 {
			t.Skip()
		}
		path := writeFile(t, filepath.Join(dir, "auth.json"), content)
		for _, repository := range repositories {
			sameAsPodman(t, path, repository, false)
			sameAsPodman(t, path, repository, true)
		}
	})
}
