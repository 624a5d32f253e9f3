package yamljson_test

import (
	"errors"
	"testing"

	"github.com/opm-toolchain/opm/internal/yamljson"
)

func TestFirst(t *testing.T) {
	for text, want := range map[string]string{
		"kind: A\nb: 1\n":                 `{"kind":"A","b":1}`,
		"kind: ConfigMap\n---\n":          `{"kind":"ConfigMap"}`,
		"kind: A\n---\n[[[":               `{"kind":"A"}`,
		"kind: A\n...\nkind: B\n":         `{"kind":"A"}`,
		`{"kind":"A"}{"kind":"B"}`:        `{"kind":"A"}`,
		"%YAML 1.1\n---\nkind: A\n":       `{"kind":"A"}`,
		"a: b\n---\tx":                    `{"a":"b"}`,
		"b: 9007199254740993\na: \n--- 1": `{"a":null,"b":9007199254740993}`,
	} {
		if got, err := yamljson.First([]byte(text)); err != nil || string(got) != want {
			t.Errorf("First(%q) = %s, %v, want %s", text, got, err, want)
		}
	}
	if _, err := yamljson.First([]byte("# nothing\n")); !errors.Is(err, yamljson.ErrEmpty) {
		t.Errorf("a comment: error %v", err)
	}
	if got, err := yamljson.First([]byte("a: |\n b")); err != nil || string(got) != `{"a":"b"}` {
		t.Errorf("a text without a last line break: %s, %v", got, err)
	}
	for text, want := range map[string]string{
		"\n\t\n": "2:1: a tab, where YAML 1.1 takes only spaces", "\n\n...": "2:1: did not find expected node content",
	} {
		if got, err := yamljson.First([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
	if got, err := yamljson.First([]byte("a: [\n---\nb: c\n")); err == nil {
		t.Errorf("a broken first document gives %s", got)
	}
}
