package image

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// authHome is a home directory with only the files of a test, and an empty registries.conf.
type authHome struct{ dir, authFile string }

// setEnv sets the environment variables for files of podman and docker, and unsets the others.
func setEnv(t testing.TB, env map[string]string) {
	t.Helper()
	for _, key := range []string{
		"HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "CONTAINERS_POLICY_JSON",
	} {
		t.Setenv(key, env[key])
	}
}

func newAuthHome(t testing.TB) *authHome {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "registries.conf"), "")
	setEnv(t, map[string]string{"HOME": dir, "XDG_RUNTIME_DIR": filepath.Join(dir, "run")})
	return &authHome{dir: dir}
}

func (h *authHome) options() AuthOptions {
	return AuthOptions{AuthFile: h.authFile, RegistriesConf: filepath.Join(h.dir, "registries.conf")}
}

func (h *authHome) path(elem ...string) string {
	return filepath.Join(append([]string{h.dir}, elem...)...)
}

// helper installs a credential helper in PATH that runs a script.
func (h *authHome) helper(t testing.TB, name, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("helpers of this test are shell scripts")
	}
	path := writeFile(t, h.path("bin", "docker-credential-"+name), "#!/bin/sh\n"+script)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(os.Getenv("PATH"), h.path("bin")) {
		t.Setenv("PATH", h.path("bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
}

func mustReference(t testing.TB, s string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(s)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// userFor returns the user in the credentials for an image, or "" without credentials.
func userFor(t testing.TB, k authn.Keychain, ref string) (string, error) {
	t.Helper()
	a, err := k.Resolve(mustReference(t, ref).Context())
	if err != nil {
		return "", err
	}
	config, err := a.Authorization()
	if err != nil {
		return "", err
	}
	return config.Username + config.IdentityToken, nil
}

func TestKeychain(t *testing.T) {
	const answer = `cat >/dev/null; echo '{"Username":"helped","Secret":"hunter2"}'`
	for _, test := range []struct {
		name  string
		setUp func(t *testing.T, h *authHome)
		ref   string
		want  string // the user, or the error after "error: "
	}{
		{"nothing", func(*testing.T, *authHome) {}, "q.io/o/a:1", ""},
		{"missing --authfile", func(_ *testing.T, h *authHome) {
			h.authFile = h.path("gone.json")
		}, "q.io/o/a:1", "error: gone.json: does not exist"},
		{"closed --authfile", func(t *testing.T, h *authHome) {
			h.authFile = writeFile(t, h.path("file"), "") + "/auth.json"
		}, "q.io/o/a:1", "error: auth.json: cannot be read: not a directory"},
		{"without a home directory", func(t *testing.T, h *authHome) {
			t.Setenv("HOME", "")
			t.Setenv("REGISTRY_AUTH_FILE", writeFile(t, h.path("a.json"), authJSON("q.io")))
		}, "q.io/o/a:1", "q.io"},
		{"namespace", func(t *testing.T, h *authHome) {
			writeFile(t, h.path("run/containers/auth.json"), authJSON("q.io/o", "q.io"))
		}, "q.io/o/a:1", "q.io/o"},
		{"docker hub", func(t *testing.T, h *authHome) {
			writeFile(t, h.path(".docker/config.json"), `{"auths":{"https://index.docker.io/v1/":{"auth":"aHViOnA="}}}`)
		}, "docker.io/library/a:1", "hub"},
		{"next file", func(t *testing.T, h *authHome) {
			writeFile(t, h.path(".docker/config.json"), authJSON("r.io"))
			writeFile(t, h.path(".config/containers/auth.json"), authJSON("q.io"))
		}, "q.io/o/a:1", "q.io"},
		{"legacy", func(t *testing.T, h *authHome) {
			writeFile(t, h.path(".dockercfg"), `{"q.io":{"auth":"bGVnYWN5OnA="}}`)
		}, "q.io/o/a:1", "legacy"},
		{"helper", func(t *testing.T, h *authHome) {
			h.helper(t, "x", answer)
			writeFile(t, h.path(".docker/config.json"), `{"credHelpers":{"q.io":"x"}}`)
		}, "q.io/o/a:1", "helped"},
		{"token of a helper", func(t *testing.T, h *authHome) {
			h.helper(t, "x", `cat >/dev/null; echo '{"Username":"<token>","Secret":"tok"}'`)
			writeFile(t, h.path(".docker/config.json"), `{"credsStore":"x"}`)
		}, "q.io/o/a:1", "tok"},
		{"helper of registries.conf", func(t *testing.T, h *authHome) {
			h.helper(t, "x", answer)
			writeFile(t, h.path("registries.conf"), `credential-helpers = ["x", "containers-auth.json"]`)
			writeFile(t, h.path(".docker/config.json"), authJSON("q.io"))
		}, "q.io/o/a:1", "helped"},
		{"helper without credentials", func(t *testing.T, h *authHome) {
			h.helper(t, "x", "cat >/dev/null; echo credentials not found in native keychain; exit 1")
			writeFile(t, h.path(".docker/config.json"), `{"credsStore":"x"}`)
			writeFile(t, h.path(".dockercfg"), `{"q.io":{"auth":"bGVnYWN5OnA="}}`)
		}, "q.io/o/a:1", "legacy"},
		{"helper fails", func(t *testing.T, h *authHome) {
			h.helper(t, "x", "cat >/dev/null; echo the safe is locked >&2; exit 3")
			writeFile(t, h.path(".docker/config.json"), `{"credsStore":"x"}`)
		}, "q.io/o/a:1", "error: docker-credential-x for q.io: .* the safe is locked"},
		{"helper is missing", func(t *testing.T, h *authHome) {
			writeFile(t, h.path(".docker/config.json"), `{"credHelpers":{"q.io":"gone"}}`)
		}, "q.io/o/a:1", "error: docker-credential-gone is not installed"},
		{"store is missing", func(t *testing.T, h *authHome) {
			writeFile(t, h.path(".docker/config.json"), `{"credsStore":"gone"}`)
		}, "q.io/o/a:1", ""},
		{"broken file", func(t *testing.T, h *authHome) {
			writeFile(t, h.path(".docker/config.json"), "{\n]")
		}, "q.io/o/a:1", "error: .docker/config.json: line 2: not valid JSON"},
		{"unreadable file", func(t *testing.T, h *authHome) {
			writeFile(t, h.path(".docker/config.json/x"), "")
		}, "q.io/o/a:1", "error: .docker/config.json: want a file, found a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newAuthHome(t)
			test.setUp(t, h)
			got, err := userFor(t, NewKeychain(h.options()), test.ref)
			if err != nil {
				got = "error: " + err.Error()
			}
			if !matches(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			e, explainErr := Explain(mustReference(t, test.ref), h.options())
			if (err == nil) != (explainErr == nil) {
				t.Errorf("explained with %v, but the keychain says %v", explainErr, err)
			}
			if strings.Contains(e.String(), "hunter2") {
				t.Errorf("secret in %s", e)
			}
			if isAnonymous := strings.HasSuffix(e.String(), "requests are anonymous\n"); isAnonymous != (got == "") ||
				(e.Used == nil) != (got == "" || err != nil) {
				t.Errorf("credentials of %q are explained by %s", got, e)
			}
		})
	}
}

// matches reports whether got equals want or, for an error, contains its parts in order.
func matches(got, want string) bool {
	parts, ok := strings.CutPrefix(want, "error: ")
	if !ok {
		return got == want
	}
	for part := range strings.SplitSeq(parts, ".*") {
		_, rest, found := strings.Cut(got, part)
		if !found {
			return false
		}
		got = rest
	}
	return true
}

func TestHelperRunsOnce(t *testing.T) {
	h := newAuthHome(t)
	h.helper(t, "x", fmt.Sprintf(`cat >/dev/null; echo >>%s; echo '{"Username":"u","Secret":"s"}'`, h.path("runs")))
	writeFile(t, h.path(".docker/config.json"), `{"credsStore":"x"}`)
	k := NewKeychain(h.options())
	for i := range 5 {
		if _, err := userFor(t, k, fmt.Sprintf("q.io/o/a%d:1", i)); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := os.ReadFile(h.path("runs"))
	if err != nil || len(runs) != 1 {
		t.Errorf("the helper ran %d times (%v), want once", len(runs), err)
	}
}

// TestHungHelper checks that a helper that does not answer delays no other registry, and that the error names it.
func TestHungHelper(t *testing.T) {
	defer func(before time.Duration) { helperTime = before }(helperTime)
	helperTime = time.Second
	h := newAuthHome(t)
	h.helper(t, "hung", "sleep 600 & wait") // its child keeps the output open
	writeFile(t, h.path(".docker/config.json"), `{"credHelpers":{"hung.io":"hung"},"auths":{"q.io":{"auth":"dTpw"}}}`)
	k := NewKeychain(h.options())
	failed := make(chan error, 2)
	for i := range cap(failed) { // the second waits for the first
		go func() {
			_, err := userFor(t, k, fmt.Sprintf("hung.io/o/a%d:1", i))
			failed <- err
		}()
	}
	if user, err := userFor(t, k, "q.io/o/a:1"); user != "u" || err != nil || len(failed) > 0 {
		t.Errorf("another registry: got %q, %v, after %d of the calls that wait", user, err, len(failed))
	}
	for range cap(failed) {
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "docker-credential-hung for hung.io: no answer within 1s") {
			t.Errorf("got %v", err)
		}
	}
}

// TestBrokenEntry checks that an ignored entry is logged, explained, and named by the error of a failed login.
func TestBrokenEntry(t *testing.T) {
	registry := newRegistry(t)
	ref := registry.push(t, "org/image:v1", imageOf(t, nil, tarOf(t, "a=1")))
	host, _, _ := strings.Cut(ref, "/")
	for _, auth := range []string{"hunter2", "aHVudGVyMg==", "hunter2:x"} { // the second is base64, without a colon
		for _, key := range []string{host, host + "/org", "http://" + host + "/v2/"} {
			var log bytes.Buffer
			h := newAuthHome(t)
			file := writeFile(t, h.path(".docker/config.json"), fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, key, auth))
			o := h.options()
			o.Log = slog.New(slog.NewTextHandler(&log, nil))
			user, err := userFor(t, NewKeychain(o), ref)
			if user != "" || err != nil || !strings.Contains(log.String(), "are ignored") ||
				strings.Contains(log.String(), "hunter2") {
				t.Errorf("got %q, %v; log: %s", user, err, log.String())
			}
			want := fmt.Sprintf("%s: the entry %q is ignored: auth is not the base64 of user:password", file, key)
			if e, err := Explain(mustReference(t, ref), o); err != nil || !strings.Contains(e.String(), want+"\n") {
				t.Errorf("got %v, %v; want %q", e, err, want)
			}
			registry.intercept(func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusForbidden)
				return true
			})
			opts := impatient(t)
			opts.Keychain = NewKeychain(o)
			if _, err := Open(t.Context(), ref, opts); err == nil || !strings.Contains(err.Error(), want+": log in") {
				t.Errorf("got %v, want %q", err, want)
			}
		}
	}
}

// TestBrokenEntryHidden checks that an ignored entry is not explained if it is not the reason.
func TestBrokenEntryHidden(t *testing.T) {
	for _, file := range []string{
		`{"auths":{"q.io/o":{"auth":"YTpi"},"q.io":{"auth":"?"}}}`, // a more specific entry is used
		`{"auths":{"q.io/o":{},"q.io":{"auth":"?"}}}`,              // or is empty
		`{"auths":{"r.io":{"auth":"?"}}}`,
		`{"auths":{"q.io/other":{"auth":"?"}}}`,
		`{"auths":{"q.io":{"username":"u","password":"p","auth":""}}}`,
	} {
		h := newAuthHome(t)
		writeFile(t, h.path(".docker/config.json"), file)
		if e, err := Explain(mustReference(t, "q.io/o/a:1"), h.options()); err != nil || strings.Contains(e.String(), "ignored") {
			t.Errorf("%s: got %v, %v", file, e, err)
		}
	}
}

func TestHelperStopsWithContext(t *testing.T) {
	h := newAuthHome(t)
	h.helper(t, "x", "exec sleep 60")
	writeFile(t, h.path(".docker/config.json"), `{"credsStore":"x"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := authn.Resolve(ctx, NewKeychain(h.options()), mustReference(t, "q.io/o/a:1").Context())
	if err == nil || time.Since(start) > 30*time.Second {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
}

func TestExplain(t *testing.T) {
	h := newAuthHome(t)
	t.Setenv("REGISTRY_AUTH_FILE", h.path("gone.json"))
	writeFile(t, h.path("run/containers/auth.json"), `{"auths":{"q.io":{}},"credsStore":"gone"}`)
	writeFile(t, h.path(".config/containers/auth.json"), authJSON("r.io"))
	writeFile(t, h.path(".docker/config.json"), authJSON("q.io/o"))
	e, err := Explain(mustReference(t, "q.io/o/a:1"), h.options())
	if err != nil {
		t.Fatal(err)
	}
	want := `q.io/o/a:1
  HOME/gone.json ($REGISTRY_AUTH_FILE): does not exist
  HOME/run/containers/auth.json ($XDG_RUNTIME_DIR): docker-credential-gone is not installed
  HOME/.config/containers/auth.json: no credentials for it
  HOME/.docker/config.json: used
credentials: user "q.io/o" from HOME/.docker/config.json
`
	if got := strings.ReplaceAll(e.String(), h.dir, "HOME"); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if e.Used == nil || e.Used.Username != "q.io/o" || !e.Used.Exists {
		t.Errorf("used is %+v", e.Used)
	}
}

func BenchmarkKeychain(b *testing.B) {
	h := newAuthHome(b)
	writeFile(b, h.path(".docker/config.json"), authJSON("q.io/o", "r.io", "s.io"))
	k, ref := NewKeychain(h.options()), mustReference(b, "q.io/o/a:1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Resolve(ref.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
