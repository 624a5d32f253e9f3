package image

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const acceptAnything = `[{"type":"insecureAcceptAnything"}]`

func TestCheckPolicy(t *testing.T) {
	signed := `[{"type":"signedBy","keyType":"GPGKeys","keyPath":"/k"}]`
	docker := func(scopes string) string {
		return "{\"default\":" + acceptAnything + ",\n\"transports\":{\"docker\":{\n" + scopes + "}}}"
	}
	for _, test := range []struct{ name, policy, ref, want string }{
		{"accepts", `{"default":` + acceptAnything + `}`, "q.io/o/a:1", ""},
		{"rejects", "{\n\"default\":[{\"type\":\"reject\"}]}", "q.io/o/a:1",
			`:2: signature policy: scope "default" rejects the image`},
		{"other transport", `{"default":` + acceptAnything + `,"transports":{"oci":{"":[{"type":"reject"}]}}}`,
			"q.io/o/a:1", ""},
		{"registry", docker(`"q.io":` + signed), "q.io/o/a:1",
			`:3: signature policy: scope "q.io" requires signatures (signedBy)`},
		{"other registry", docker(`"r.io":` + signed), "q.io/o/a:1", ""},
		{"namespace before registry", docker(`"q.io":` + signed + `,"q.io/o":` + acceptAnything), "q.io/o/a:1", ""},
		{"reference", docker(`"q.io":` + acceptAnything + `,"q.io/o/a:1":` + signed), "q.io/o/a:1", `scope "q.io/o/a:1"`},
		{"digest", docker(`"q.io/o/a@` + someDigest + `":` + signed), "q.io/o/a@" + someDigest, `scope "q.io/o/a@sha256`},
		{"docker hub", docker(`"docker.io/library":` + signed), "docker.io/library/a:1", `scope "docker.io/library"`},
		{"wildcard", docker(`"*.q.io":` + signed), "x.y.q.io:5000/o/a:1", `scope "*.q.io"`},
		{"wildcard is not its domain", docker(`"*.q.io":` + signed), "q.io/o/a:1", ""},
		{"all of docker", `{"default":[{"type":"reject"}],"transports":{"docker":{"":` + acceptAnything + `}}}`,
			"q.io/o/a:1", ""},
		{"all must be met", docker(`"q.io":[{"type":"insecureAcceptAnything"},{"type":"sigstoreSigned"}]`), "q.io/o/a:1",
			"requires signatures (sigstoreSigned)"},
		{"no requirements", docker(`"q.io":[]`), "q.io/o/a:1", `:3: signature policy: scope "q.io": no requirements`},
		{"no default", `{}`, "q.io/o/a:1", `scope "default": no requirements`},
		{"unknown type", docker(`"q.io":[{"type":"sign"}]`), "q.io/o/a:1", `unknown type "sign"`},
		{"typing error", "{\"default\":" + acceptAnything + ",\n\"transport\":{}}", "q.io/o/a:1",
			":2: signature policy: "},
		{"twice", "{\"default\":" + acceptAnything + ",\n\"default\":" + acceptAnything + "}", "q.io/o/a:1",
			":2: signature policy: "},
		{"not JSON", "{\n\n]", "q.io/o/a:1", ":3: signature policy: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := writeFile(t, filepath.Join(t.TempDir(), "policy.json"), test.policy)
			t.Setenv("CONTAINERS_POLICY_JSON", file)
			err := checkHostPolicy(mustReference(t, test.ref))
			if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), file) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			ignoring := &Opener{opts: Options{IgnorePolicy: true}}
			if _, _, err := ignoring.remote(test.ref); err != nil {
				t.Errorf("ignored, but %v", err)
			}
		})
	}
}

func TestPolicyErrorFields(t *testing.T) {
	file := writeFile(t, filepath.Join(t.TempDir(), "policy.json"), `{"default":[{"type":"reject"}]}`)
	t.Setenv("CONTAINERS_POLICY_JSON", file)
	err := checkHostPolicy(mustReference(t, "q.io/o/a:1"))
	got, ok := errors.AsType[*policyError](err)
	if !ok || *got != (policyError{file, 1, "default", "reject"}) {
		t.Errorf("got %+v", got)
	}
}

func TestPolicyFiles(t *testing.T) {
	paths := func(env map[string]string) []string {
		setEnv(t, env)
		files, _ := policyFiles()
		return files
	}
	system := []string{"/etc/containers/policy.json", "/usr/share/containers/policy.json"}
	want := append([]string{"/h/.config/containers/policy.json"}, system...)
	if got := paths(map[string]string{"HOME": "/h"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got := paths(map[string]string{"HOME": "/h", "CONTAINERS_POLICY_JSON": "/p"})
	if want := []string{"/p"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNamedPolicyMustExist(t *testing.T) {
	t.Setenv("CONTAINERS_POLICY_JSON", filepath.Join(t.TempDir(), "gone"))
	err := checkHostPolicy(mustReference(t, "q.io/o/a:1"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func FuzzCheckPolicy(f *testing.F) {
	f.Add([]byte(`{"default":[{"type":"reject"}]}`))
	f.Add([]byte("{\"default\":" + acceptAnything + ",\"transports\":{\"docker\":{\"*.io\":[{\"type\":\"signedBy\"}]}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ref := mustReference(t, "q.io/o/a:1")
		err := checkPolicy(ref, "f", data)
		if err == nil && !strings.Contains(string(data), "insecureAcceptAnything") && !strings.Contains(string(data), `\`) {
			t.Error("accepted without a requirement that says so")
		}
	})
}
