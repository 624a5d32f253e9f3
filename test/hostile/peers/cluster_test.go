package peers

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/test/program"
)

// clusterMemory is the maximum memory of opm for a malicious API server.
const clusterMemory = 300e6

// kubeconfig starts an API server with TLS, without which clients send no credentials. It answers lists of Subscriptions
// by subscriptions and has nothing else. The result is a kubeconfig with a user.
func kubeconfig(t *testing.T, user string, subscriptions http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/subscriptions"):
			subscriptions(w, r)
		case r.URL.Path == "/version":
			io.WriteString(w, `{"gitVersion": "v1.34.1"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"+
		"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]\nusers: [{name: u, user: %s}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: u}}]\n",
		server.URL, base64.StdEncoding.EncodeToString(ca), user)
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestEvilCluster checks that answers of an API server cannot fill the memory or the disk, or control a terminal.
func TestEvilCluster(t *testing.T) {
	endless := func(begin, repeat string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			text := []byte(strings.Repeat(repeat, 64<<10/len(repeat)))
			for n, err := io.WriteString(w, begin); err == nil && n < 2<<30; {
				var m int
				m, err = w.Write(text)
				n += m
			}
		}
	}
	for _, tt := range []struct {
		name          string
		subscriptions http.HandlerFunc
		stderr        string
	}{
		{"one object", endless(`{"items":[{"metadata":{"name":"`, "a"), "an object is larger than 32 MB"},
		{"white space", endless(`{"items":[`, " "), "an object is larger than 32 MB"},
		{"many objects", endless(`{"items":[{}`, `,{"metadata":{"name":"a"}}`), "more than 500,000 objects"},
		{"an error", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			endless(`{"message":"`, "a")(w, r)
		}, "Unauthorized"},
		{"cyclic tokens", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"metadata":{"continue":"again"},"items":[]}`)
		}, "its continue token was used before"},
		{"control characters", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"items":[{"metadata":{"name":"\u001b[31mred\r","namespace":"a\u0007\n"},"spec":{"name":"\u001b[1m"}}]}`)
		}, "red"},
		{"many values nested deeply", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"items":[{"metadata":{"name":"deep","namespace":"b"},"spec":{"x":`+strings.Repeat("[", 9000)+
				strings.Repeat("1,", 30_000)+"1"+strings.Repeat("]", 9000)+`}}]}`)
		}, "deep"},
		{"paths", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"items":[{"metadata":{"name":"x","namespace":"../../secrets"},"spec":{"name":"x","source":"s",`+
				`"sourceNamespace":"../.."}}]}`)
		}, "secrets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", kubeconfig(t, "{}", tt.subscriptions))
			call := program.Call{Args: []string{"simulate", "kube:"}, Dir: t.TempDir()}
			r := call.Bounded(t, clusterMemory)
			if out := r.Stdout + r.Stderr; r.Code == 0 || !strings.Contains(out, tt.stderr) ||
				strings.ContainsAny(out, "\x1b\x07\r") {
				t.Errorf("exit status %d, output %.2000q, want %q", r.Code, out, tt.stderr)
			}
		})
	}
}

// TestPluginOfCluster checks that a plugin for credentials runs as kubectl runs it: also from a kubeconfig that others
// can write to.
func TestPluginOfCluster(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the plugin is a shell script")
	}
	plugin := filepath.Join(t.TempDir(), "plugin")
	script := "#!/bin/sh\necho '{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", " +
		"\"status\": {\"token\": \"from-plugin\"}}'\n"
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	tokens := make(chan string, 10)
	user := fmt.Sprintf("{exec: {apiVersion: client.authentication.k8s.io/v1, command: %q, interactiveMode: Never}}", plugin)
	file := kubeconfig(t, user, func(w http.ResponseWriter, r *http.Request) {
		tokens <- r.Header.Get("Authorization")
		io.WriteString(w, `{"items":[]}`)
	})
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	r := program.Call{Args: []string{"plan", "v4.18=catalog", "--state", "kube:"}, Dir: "../../../examples"}.Run(t)
	select {
	case got := <-tokens:
		if got != "Bearer from-plugin" {
			t.Errorf("the server got %q", got)
		}
	default:
		t.Errorf("no request: %s", r.Stderr)
	}
}
