package bundle

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// upstreamManifest reads the first document of a file and prints it as opm does. It returns "" if the document is not a
// manifest.
func upstreamManifest(t testing.TB, text []byte) string {
	object := new(unstructured.Unstructured)
	err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 30).Decode(object)
	if err != nil || object.Object == nil {
		return ""
	}
	printed, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}

// ourManifest is upstreamManifest by this package.
func ourManifest(text []byte) string {
	doc, err := readDocument("f", text, nil)
	if err != nil {
		return ""
	}
	printed := new(parser).printManifest(doc.json)
	if _, kind := typeOf(printed); kind == "" {
		return ""
	}
	return string(printed)
}

// manifestTexts are files for which this package and upstream are compared.
var manifestTexts = []string{
	"", " ", "---", "---\n", "# c\n", "kind: A", "kind: A\n---\nkind: B\n", "---\nkind: A\n", "--- # c\nkind: A\n",
	"---\n---\nkind: A\n", "# c\n---\nkind: A\n", "--- c\nkind: A\n", "kind: A\n--- c\n", "kind: A\n...\nkind: B\n",
	"kind: A\n... # c\nb: 1\n", "kind: A\n---", "kind: A\n--- #", "kind: A\n-----\n", "\ufeffkind: A\n", "kind: A\r\nb: 1\r\n---\r\n",
	`{"kind":"A"}`, `{"kind":"A"} {"kind":"B"}`, "{\"kind\":\"A\"}\n---\nb", `{"kind":"A",}`, `{kind: A}`, `{"kind":"A"`,
	`{"kind":"A"} x`, `{"kind":1}`, `{"Kind":"A"}`, `{"kind":""}`, `{"kind":null}`, `{"kind":"A","kind":"B"}`, `[{"kind":"A"}]`,
	`{"kind":"A","apiVersion":"a/b"}`, `{"kind":"A","apiVersion":"a/b/c"}`, `{"kind":"A","apiVersion":"/"}`,
	`{"kind":"A","apiVersion":1}`, "kind: List\nitems:\n- {kind: A}\n", "kind: A\nitems: 1\n",
	"kind: A\nn: [0, -0, 0x10, 017, 1_000, 1.50, 1e3, 9007199254740993, 9223372036854775807, -9223372036854775808]\n",
	`{"kind":"A","n":[0,-0,1.0,1e3,-1.5,9007199254740993,9223372036854775807],"m":-0,"o":{"p":-0,"q":[-0,1]}}`,
	`{"kind":"A","s":"\"-0,","t":"\\","u":-0,"v":":-0,","w":"a\\\"b:-0,"}`, "kind: A\nz: -0.0\n", "kind: A\ns: -0x0\n",
	"kind: A\ns: \"<>&\\u2028\\u2029\\u0001\\x7f\\\\\\\"/\\b\\f\\n\\r\\t\"\n<k>: 1\n", `{"kind":"A","s":"\/\u003c\ud800\ud83d\ude00"}`,
	"{\"kind\":\"A\",\"s\":\"\xff\xfe\"}", "kind: A\nyes: y\n3: 4\n1.5: 6\n", "kind: A\nd: 2024-01-01\nt: 12:30:45\n",
	"kind: A\na: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n", "\tkind: A\n", "kind: A\nb: c: d\n", "a: 1\n", "- kind: A\n", "A\n", "null\n",
	strings.Repeat(" ", 40) + `{"kind":"A"}`, "\n\n {\n\"kind\" : \"A\" }\n", "kind: A\nb: |\n  x\n  ---\n  y\n", "%YAML 1.2\n---\nkind: A\n",
	"kind: A\nb: |\n  x", "kind: A\nb: |\n  x\n---", "kind: A\nb: |+\n  x\n\n", "kind: |\n 0",
}

func TestManifestsAsUpstream(t *testing.T) {
	for _, text := range manifestTexts {
		if got, want := ourManifest([]byte(text)), upstreamManifest(t, []byte(text)); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestRealManifestsAsUpstream(t *testing.T) {
	for _, dir := range realBundles(t) {
		files, err := filepath.Glob(dir + "/manifests/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if ourManifest(text) != upstreamManifest(t, text) {
				t.Errorf("%s differs", file)
			}
		}
	}
}

// beyond matches numbers that upstream rounds and this package does not, and some others.
var beyond = regexp.MustCompile(`[0-9_]{16}|[0-9][eE]|\.[eE0-9]*[0-9]{15}|-0\.|[xX][0-9a-fA-F_]{13}|-0[eE]`)

func FuzzManifest(f *testing.F) {
	for _, text := range manifestTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if beyond.Match(text) || len(text) > 4<<10 {
			t.Skip()
		}
		got, want := ourManifest(text), upstreamManifest(t, text)
		if got == "" || want == "" && bytes.Contains(text, []byte("\n...")) {
			return // package yamljson refuses more, and upstream may refuse text after the end of a document
		}
		if got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	})
}
