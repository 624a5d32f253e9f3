//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secrets are files of a host, whose secret parts contain hunter2.
var secrets = map[string]string{
	"token":      "hunter2",
	"docker":     `{"auths": {"quay.io": {"auth": "hunter2"}}}`,
	"env":        "TOKEN=hunter2\nB=hunter2\n",
	"key":        "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2/hunter2+\nhunter2==\n-----END OPENSSH PRIVATE KEY-----\n",
	"kubeconfig": "apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user: {token: hunter2}\n",
	"netrc":      "machine hunter2.com\n login hunter2\n password hunter2\n",
	"git":        "[http]\n\textraheader = AUTHORIZATION: basic hunter2\n",
	"shadow":     "root:$6$hunter2:19000:0:99999:7:::\ndaemon:*hunter2:19000:0:99999:7:::\n",
}

// secretCommands are commands that read the link s to a secret, or a link in a directory.
var secretCommands = []string{
	"validate config/catalog", "validate baseline/catalog", "validate schema/catalog", "validate file/catalog",
	"validate ignored/catalog", "render file/catalog", "list packages file/catalog", "fmt --check file/catalog",
	"render --refs-file s", "generate manifests s --render-job 2 --image r.example/i:v1", "validate s",
	"render-template basic s", "render-template semver s", "render-template basic --targets s --output-dir out s",
	"convert-template basic s", "filter config/catalog --config s", "mirror --config s --to localhost:1/a --dry-run",
	"compose s", "simulate s", "diagnose s", "resolve --state s", "mirror prune --record s", "render --lock s config/catalog",
	"auth explain r.example/a --authfile s", "bundle validate bundle", "render bundle",
}

// TestLinksToSecrets checks that no error has text of a secret that a pull request made a file a link to.
func TestLinksToSecrets(t *testing.T) {
	const catalog = "schema: olm.package\nname: p\ndefaultChannel: s\n"
	for name, secret := range secrets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			write("secret", secret)
			for _, with := range []string{"config", "baseline", "schema", "file", "ignored"} {
				write(with+"/catalog/c.yaml", catalog)
			}
			write("baseline/opm.yaml", "baseline: s\n")
			write("schema/opm.yaml", "schemas: [s]\n")
			write("bundle/metadata/annotations.yaml", "annotations: {operators.operatorframework.io.bundle.package.v1: p}\n")
			write("bundle/manifests/service.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n")
			for _, link := range []string{
				"s", "config/opm.yaml", "baseline/s", "schema/s", "file/catalog/s.yaml", "ignored/catalog/.indexignore",
				"bundle/manifests/s.yaml", "bundle/metadata/s.yaml",
			} {
				if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			for _, line := range secretCommands {
				if got := opm(t, dir, line); strings.Contains(got.stdout+got.stderr, "hunter2") {
					t.Errorf("opm %s:\n%s%s", line, got.stdout, got.stderr)
				}
			}
		})
	}
}
