//nolint:dupword // Mermaid repeats "end"
package draw

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// readCatalog reads a catalog from YAML. A line such as
//
//	bundle a.v1 1.0.0
//
// is short for the bundle with this name and version, in the package that is the prefix of the name.
func readCatalog(t testing.TB, text string) *declcfg.Index {
	t.Helper()
	var yaml strings.Builder
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "bundle" {
			yaml.WriteString(line)
			continue
		}
		pkg, _, _ := strings.Cut(words[1], ".")
		value := "packageName: " + pkg + ", version: " + words[2]
		if len(words) > 3 {
			value += ", release: " + words[3]
		}
		yaml.WriteString("---\n{schema: olm.bundle, package: " + pkg + ", name: " + words[1] +
			", properties: [{type: olm.package, value: {" + value + "}}]}\n---\n")
	}
	fsys := fstest.MapFS{"c.yaml": {Data: []byte(yaml.String())}}
	x, err := declcfg.ReadIndex(t.Context(), declcfg.Source{Name: "catalog", FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

const upstreamHead = `graph LR
  classDef deprecated fill:#E8960F
  classDef skipped stroke:#FF0000,stroke-width:4px
  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px
`

// TestWriteUpstreamMermaid checks odd behaviour of upstream that the conformance scripts do not cover.
func TestWriteUpstreamMermaid(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options UpstreamOptions
		catalog string
		want    string // after the header
	}{
		{
			name: "nothing",
		}, {
			name: "equal versions, in the order of their names",
			catalog: `{schema: olm.channel, package: a, name: c, entries: [{name: a.z}, {name: a.y}, {name: a.x}]}
				bundle a.z 1.0.0
				bundle a.y 1.0.0`,
			want: `  %% package "a"
  subgraph "a"
    %% channel "c"
    subgraph a-c["c"]
      a-c-a.y["a.y"]
      a-c-a.z["a.z"]
      a-c-a.x["a.x"]
    end
  end
`,
		}, {
			name:    "entries without bundles, as in templates, in their order",
			catalog: `{schema: olm.channel, package: a, name: c, entries: [{name: a.y, skips: [a.z]}, {name: a.z}, {name: a.x}]}`,
			options: UpstreamOptions{V0: true},
			want: `  %% package "a"
  subgraph "a"
    %% channel "c"
    subgraph a-c["c"]
      a-c-a.y["a.y"]
      a-c-a.z["a.z"]-- skip --> a-c-a.y["a.y"]
      a-c-a.z["a.z"]
      a-c-a.x["a.x"]
    end
  end
class a-c-a.z skipped
`,
		}, {
			name: "releases, the highest first", // no release is the lowest
			catalog: `{schema: olm.channel, package: a, name: c, entries: [{name: a.v1}, {name: a.v1-1}, {name: a.v1-2}]}
				bundle a.v1 1.0.0
				bundle a.v1-2 1.0.0 "2"
				bundle a.v1-1 1.0.0 "1"`,
			want: `  %% package "a"
  subgraph "a"
    %% channel "c"
    subgraph a-c["c"]
      a-c-a.v1-2["a.v1-2"]
      a-c-a.v1-1["a.v1-1"]
      a-c-a.v1["a.v1"]
    end
  end
`,
		}, {
			name: "a range, in the order of the author", // with unknown versions, which are 0.0.0, and the entry itself
			catalog: `{schema: olm.channel, package: a, name: c, entries: [{name: a.b}, {name: a.v2, skipRange: "<=2.0.0"}, {name: a.v1}]}
				bundle a.v2 2.0.0
				bundle a.v1 1.0.0`,
			want: `  %% package "a"
  subgraph "a"
    %% channel "c"
    subgraph a-c["c"]
      a-c-a.v2["a.v2"]
      a-c-a.b["a.b"]-- "skipRange(<=2.0.0)" --> a-c-a.v2["a.v2"]
      a-c-a.v2["a.v2"]-- "skipRange(<=2.0.0)" --> a-c-a.v2["a.v2"]
      a-c-a.v1["a.v1"]-- "skipRange(<=2.0.0)" --> a-c-a.v2["a.v2"]
      a-c-a.v1["a.v1"]
      a-c-a.b["a.b"]
    end
  end
`,
		}, {
			name: "a range that cannot be read",
			catalog: `{schema: olm.channel, package: a, name: c, entries: [{name: a.v2, skipRange: ^1}, {name: a.v1}]}
				bundle a.v2 2.0.0
				bundle a.v1 1.0.0`,
			want: `  %% package "a"
  subgraph "a"
    %% channel "c"
    subgraph a-c["c"]
      a-c-a.v2["a.v2"]
      a-c-a.v1["a.v1"]
    end
  end
`,
		}, {
			// The links of b, whose channel name sorts first, are counted first and drawn last. Its second and third
			// links, numbers 1 and 2, are dead; but Mermaid counts from the link of a, and marks the first and second
			// of all links.
			name:    "numbers of links, which cross packages",
			options: UpstreamOptions{V0: true},
			catalog: `{schema: olm.channel, package: a, name: z, entries: [{name: a.v2, replaces: a.v1}, {name: a.v1}]}
				---
				{schema: olm.channel, package: b, name: m, entries: [{name: b.v3, skips: [b.v2, b.v2]}, {name: b.v2, replaces: b.v1}]}
				bundle a.v1 1.0.0
				bundle a.v2 2.0.0
				bundle b.v2 2.0.0
				bundle b.v3 3.0.0`,
			want: `  %% package "a"
  subgraph "a"
    %% channel "z"
    subgraph a-z["z"]
      a-z-a.v2["a.v2"]
      a-z-a.v1["a.v1"]-- replace --> a-z-a.v2["a.v2"]
      a-z-a.v1["a.v1"]
    end
  end
  %% package "b"
  subgraph "b"
    %% channel "m"
    subgraph b-m["m"]
      b-m-b.v3["b.v3"]
      b-m-b.v2["b.v2"]-- skip --> b-m-b.v3["b.v3"]
      b-m-b.v2["b.v2"]-- skip --> b-m-b.v3["b.v3"]
      b-m-b.v2["b.v2"]
      b-m-b.v1["b.v1"]-- replace --> b-m-b.v2["b.v2"]
    end
  end
class b-m-b.v2 skipped
linkStyle 1,2 stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;
`,
		}, {
			// The channel c is deprecated in a only; the packages a and b are both deprecated.
			name: "deprecations, which cross packages",
			catalog: `{schema: olm.channel, package: a, name: c, entries: [{name: x}]}
				---
				{schema: olm.channel, package: b, name: c, entries: [{name: x}]}
				---
				schema: olm.deprecations
				package: a
				entries: [{reference: {schema: olm.channel, name: c}}, {reference: {schema: olm.package}}, {reference: {schema: olm.bundle, name: x}}]
				---
				{schema: olm.deprecations, package: b, entries: [{reference: {schema: olm.package}}]}`,
			want: `  %% package "a"
  subgraph "a"
    %% channel "c"
    subgraph a-c["c"]
      a-c-x["x"]
    end
  end
  %% package "b"
  subgraph "b"
    %% channel "c"
    subgraph b-c["c"]
      b-c-x["x"]
    end
  end
style b fill:#989695
style a-c fill:#DCD0FF
style b-c fill:#DCD0FF
class a-c-x,b-c-x deprecated
`,
		}, {
			name:    "a minimum edge, in the first package that has it",
			options: UpstreamOptions{MinimumEdge: "a.v2"},
			catalog: `{schema: olm.channel, package: b, name: m, entries: [{name: a.v2, replaces: a.v1}, {name: b.v1}]}
				---
				{schema: olm.channel, package: a, name: o, entries: [{name: a.v2}]}
				bundle a.v2 2.0.0`,
			want: `  %% package "b"
  subgraph "b"
    %% channel "m"
    subgraph b-m["m"]
      b-m-a.v2["a.v2"]
    end
  end
`,
		}, {
			// v3 replaces a bundle below the minimum and skips one above it; v4 loses all edges; v5 and v1 never had
			// any.
			name:    "edges below the minimum",
			options: UpstreamOptions{MinimumEdge: "a.v2"},
			catalog: `schema: olm.channel
				package: a
				name: c
				entries:
				- {name: a.v1}
				- {name: a.v2, replaces: a.v1}
				- {name: a.v3, replaces: a.v1, skips: [a.v2, a.v1]}
				- {name: a.v4, skipRange: "<2.0.0"}
				- {name: a.v5}
				bundle a.v1 1.0.0
				bundle a.v2 2.0.0
				bundle a.v3 3.0.0
				bundle a.v4 4.0.0
				bundle a.v5 5.0.0`,
			want: `  %% package "a"
  subgraph "a"
    %% channel "c"
    subgraph a-c["c"]
      a-c-a.v5["a.v5"]
      a-c-a.v3["a.v3"]
      a-c-a.v2["a.v2"]-- skip --> a-c-a.v3["a.v3"]
      a-c-a.v2["a.v2"]
    end
  end
`,
		}, {
			name:    "a package and the minimum edge of another",
			options: UpstreamOptions{Package: "b", MinimumEdge: "a.v2"},
			catalog: `{schema: olm.channel, package: a, name: c, entries: [{name: a.v2}]}
				---
				{schema: olm.channel, package: b, name: c, entries: [{name: b.v3}]}
				bundle a.v2 2.0.0
				bundle b.v3 3.0.0`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := readCatalog(t, strings.ReplaceAll(tt.catalog, "\n\t\t\t\t", "\n"))
			var got strings.Builder
			if err := UpstreamMermaid(&got, x, tt.options); err != nil {
				t.Fatal(err)
			}
			if want := upstreamHead + tt.want; got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
}

func TestWriteUpstreamMermaidErrors(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options UpstreamOptions
		catalog string
		want    []string
	}{
		{
			"every bundle without a version", UpstreamOptions{Package: "b"},
			"{schema: olm.bundle, package: a, name: a.v1}\n---\nbundle a.v2 two\nbundle a.v3 3.0.0\n",
			[]string{
				`catalog/c.yaml:1:1: bundle "a.v1": want exactly one property of type olm.package, found 0`,
				`catalog/c.yaml:4:1: bundle "a.v2": version "two" is not a semantic version`,
			},
		}, {
			"a minimum edge that is no bundle", UpstreamOptions{MinimumEdge: "a.v2"},
			"{schema: olm.channel, package: a, name: c, entries: [{name: a.v2}]}\n",
			[]string{`no bundle "a.v2"`},
		},
	} {
		var got strings.Builder
		err := UpstreamMermaid(&got, readCatalog(t, tt.catalog), tt.options)
		if err == nil || got.Len() > 0 {
			t.Errorf("%s: got the error %v and %q", tt.name, err, got.String())
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		for i, want := range tt.want {
			if len(lines) != len(tt.want) || !strings.HasPrefix(lines[i], want) {
				t.Errorf("%s: got\n%v\nwant\n%s", tt.name, err, strings.Join(tt.want, "\n"))
				break
			}
		}
	}
	if err := UpstreamMermaid(failing{}, readCatalog(t, ""), UpstreamOptions{}); err == nil {
		t.Error("it says nothing about a failing writer")
	}
}

// TestCheckUpstream checks that objects that upstream refuses are found while the index is read, in bundles only.
func TestCheckUpstream(t *testing.T) {
	fsys := fstest.MapFS{"c.yaml": {Data: []byte(`{schema: olm.package, name: a, properties: [{type: olm.gvk, value: 5}]}
---
{schema: olm.bundle, package: a, name: a.v1, properties: [{type: olm.package, value: {version: 1.0.0}}, {type: x, value: 5}]}
---
{schema: olm.bundle, package: a, name: a.v2, properties: [{type: olm.package, value: {version: 1.0.0}}, {type: olm.gvk, value: 5}]}
---
{schema: olm.bundle, package: a, name: a.v3, properties: []}
`)}}
	_, err := ReadUpstream(t.Context(), declcfg.Source{Name: "catalog", FS: fsys})
	want := `catalog/c.yaml:5:128: bundle "a.v2": properties[1]: olm.gvk: want an object, found a number
catalog/c.yaml:7:1: bundle "a.v3": want exactly one property of type olm.package, found 0`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
