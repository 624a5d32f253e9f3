package dockerfile

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
)

// instructions returns the Dockerfile of c without comments and empty lines.
func instructions(t *testing.T, c Catalog) string {
	t.Helper()
	var b strings.Builder
	n, err := c.WriteTo(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Errorf("WriteTo = %d, wrote %d bytes", n, b.Len())
	}
	if strings.Contains(b.String(), "\n\n\n") || strings.HasSuffix(b.String(), "\n\n") {
		t.Errorf("empty lines in a row or at the end:\n%s", b.String())
	}
	var kept strings.Builder
	for line := range strings.Lines(b.String()) {
		if line != "\n" && !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

func TestWriteTo(t *testing.T) {
	tests := []struct {
		name    string
		catalog Catalog
		want    string
	}{
		{
			"served by opm", Catalog{Dir: "catalog", BaseImage: "serve:1", BuilderImage: "build:1"},
			`FROM build:1 as builder
ADD catalog /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]
FROM serve:1
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache
LABEL operators.operatorframework.io.index.configs.v1=/configs
`,
		},
		{
			"from scratch, with labels",
			Catalog{
				Dir: "my dir", BaseImage: "scratch", BuilderImage: "build:1",
				Labels: map[string]string{"zebra": "2", "alpha": "two words", "empty": "", "equals": "a=b"},
			},
			`FROM build:1 as builder
ADD ["my dir", "/configs"]
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]
FROM scratch
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache
LABEL operators.operatorframework.io.index.configs.v1=/configs
LABEL "alpha"="two words"
LABEL "empty"=""
LABEL "equals"="a=b"
LABEL "zebra"="2"
`,
		},
		{
			"this opm, over HTTP too",
			Catalog{Dir: "catalog", BaseImage: "serve:1", BuilderImage: "build:1", ThisOpm: true, HTTPAddr: ":8080"},
			`FROM build:1 as builder
ADD catalog /configs
RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only", "--with-http"]
FROM serve:1
ENTRYPOINT ["/bin/opm"]
CMD ["serve", "/configs", "--cache-dir=/tmp/cache", "--cache-enforce-integrity", "--http-addr=:8080"]
COPY --from=builder /configs /configs
COPY --from=builder /tmp/cache /tmp/cache
LABEL operators.operatorframework.io.index.configs.v1=/configs
`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := instructions(t, tt.catalog); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

// TestAdd checks names against their form as the BuildKit parser reads it back (or a pattern for it).
func TestAdd(t *testing.T) {
	for name, want := range map[string]string{
		"plain-1.0_x": `plain-1.0_x /configs`,
		".":           `. /configs`,
		"ünï":         `ünï /configs`,
		"my dir":      `["my dir", "/configs"]`,
		`a"b`:         `["a\\\"b", "/configs"]`,
		`a\b`:         `["a\\\\b", "/configs"]`,
		`it's`:        `["it\\'s", "/configs"]`,
		`$HOME`:       `["\\$HOME", "/configs"]`,
		"tab\there":   `["tab\there", "/configs"]`,
		"new\nline":   `["new\nline", "/configs"]`,
		"-x":          `["-x", "/configs"]`,
		"#x":          `["#x", "/configs"]`,
		"a&b":         `["a&b", "/configs"]`,
		"<<EOF":       `["./<<EOF", "/configs"]`,
		"git@foo:bar": `["./git@foo:bar", "/configs"]`,
		"a*b[1]?":     `["a[*]b[[]1][?]", "/configs"]`,
		`a\*`:         `["a\\\\\\\\[*]", "/configs"]`,
	} {
		if got := add(name); got != "ADD "+want {
			t.Errorf("add(%q) = %s, want ADD %s", name, got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for value, want := range map[string]string{
		"":        `""`,
		`q"q`:     `"q\"q"`,
		`$A ${B}`: `"\$A \${B}"`,
		`b\`:      `"b\\"`,
		"it's":    `"it's"`,
	} {
		if got := quote(value); got != want {
			t.Errorf("quote(%q) = %s, want %s", value, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := Catalog{Dir: "d", BaseImage: "a", BuilderImage: "b"}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(c *Catalog)
		want   string
	}{
		{"no directory", func(c *Catalog) { c.Dir = "" }, "catalog directory has no name"},
		{"a path", func(c *Catalog) { c.Dir = "a/b" }, `catalog directory "a/b"`},
		{"not UTF-8", func(c *Catalog) { c.Dir = "a\xff" }, `catalog directory "a\xff"`},
		{"no base", func(c *Catalog) { c.BaseImage = "" }, "base image is unset"},
		{"space in base", func(c *Catalog) { c.BaseImage = "a b" }, `base image "a b" contains white space`},
		{"line in builder", func(c *Catalog) { c.BuilderImage = "a\nRUN x" }, `builder image "a\nRUN x" contains white space`},
		{"builder from scratch", func(c *Catalog) { c.BuilderImage = "scratch" }, `invalid builder image: "scratch"`},
		{"label with two keys", func(c *Catalog) { c.Labels = map[string]string{"a=b": ""} }, `label "a=b"`},
		{"label of two lines", func(c *Catalog) { c.Labels = map[string]string{"k": "a\nb"} }, `label "k" contains a line`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := good
			tt.change(&c)
			var b strings.Builder
			n, err := c.WriteTo(&b)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if n != 0 || b.Len() != 0 {
				t.Errorf("%d bytes were written", b.Len())
			}
		})
	}
	err := Catalog{}.check()
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("Check of nothing = %v, want two reasons", err)
	}
}

func TestWriteError(t *testing.T) {
	full := errors.New("full")
	_, err := Catalog{Dir: "d", BaseImage: "a", BuilderImage: "b"}.WriteTo(failingWriter{full})
	if !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestParseLabels(t *testing.T) {
	got, err := ParseLabels([]string{"zebra=1", "alpha=two words", "empty=", "equals=a=b", "zebra=2", "=no key"})
	want := map[string]string{"zebra": "2", "alpha": "two words", "empty": "", "equals": "a=b", "": "no key"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("ParseLabels = %v, %v; want %v", got, err, want)
	}
	for _, item := range []string{"no-equals-sign", ""} {
		if _, err := ParseLabels([]string{"a=b", item}); err == nil || !strings.Contains(err.Error(), `"`+item+`"`) {
			t.Errorf("ParseLabels(%q) = %v, want an error with it", item, err)
		}
	}
}

// FuzzWriteTo checks that no name or label adds or removes an instruction, and that names in JSON stay valid JSON.
func FuzzWriteTo(f *testing.F) {
	f.Add("my dir", "key", "value")
	f.Add("a\nRUN x", `k"`, `v\`)
	f.Add(`["x"]`, "$k", "${v}")
	f.Fuzz(func(t *testing.T, dir, key, value string) {
		c := Catalog{Dir: dir, BaseImage: "a", BuilderImage: "b", Labels: map[string]string{key: value}}
		if c.check() != nil {
			return
		}
		lines := strings.Split(strings.TrimSuffix(instructions(t, c), "\n"), "\n")
		if len(lines) != 10 || !strings.HasPrefix(lines[9], `LABEL "`) || !strings.HasSuffix(lines[9], `"`) {
			t.Fatalf("%d instructions, the last is %q", len(lines), lines[len(lines)-1])
		}
		var list []string
		source := strings.TrimPrefix(lines[1], "ADD ")
		if strings.HasPrefix(source, "[") && (json.Unmarshal([]byte(source), &list) != nil || len(list) != 2) {
			t.Errorf("ADD is not a list of two: %s", source)
		}
	})
}
