package validate_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// TestMessages checks the text of problems: the position, the path, the message with a hint or the other position, the
// fix, the rule.
func TestMessages(t *testing.T) {
	tests := []struct {
		edit edit
		want string
	}{
		{edit{pkgFile, "defaultChannel: stable", "defaultChannel: stabel"}, `c/oak/package.yaml:5:17: error: ` +
			`invalid package "oak": defaultChannel: default channel "stabel" not found in channels list ` +
			`(did you mean "stable"?); set defaultChannel to a channel of the package [default-channel]`},
		{edit{pkgFile, "defaultChannel: stable\n", ""}, `c/oak/package.yaml:3:1: error: invalid package "oak": defaultChannel: ` +
			`default channel must be set; set defaultChannel to a channel of the package [default-channel]`},
		{edit{channelFile, "- name: oak.v1.0.0\n", "- name: oak.v1.0.0\n- name: oak.v3.0.0\n  replaces: oak.v2.0.0\n"},
			`c/oak/channels.yaml:6:9: error: invalid package "oak": invalid channel "candidate": entries[1].name: ` +
				`no olm.bundle blobs found in package "oak" for olm.channel entries [oak.v3.0.0] ` +
				`(did you mean "oak.v1.0.0"?); add the olm.bundle, or remove the entry [entry-bundle]`},
		{edit{"z.yaml", "", bundle("package: oak\nname: oak.v1.0.0\nimage: x", "oak", "1.0.0")},
			`c/z.yaml:3:7: error: invalid package "oak": invalid bundle "oak.v1.0.0": name: ` +
				`package "oak" has duplicate bundle "oak.v1.0.0": it is already defined at c/oak/bundles.yaml:1:1; remove one of the definitions [duplicate-bundle]`},
		{edit{bundleFile, "packageName: oak, version: 1.1.0", "packageName: oak, version: 1.0.0"},
			`c/oak/bundles.yaml:22:1: error: invalid package "oak": invalid bundle "oak.v1.1.0": properties: ` +
				`duplicate versions found in bundles: [{1.0.0: [oak.v1.0.0, oak.v1.1.0]}]; the first is at c/oak/bundles.yaml:1:1; ` +
				`give one of them another version or a release [duplicate-version]`},
		{edit{deprFile, "", "- {reference: {schema: olm.package}, message: again}\n"},
			`c/oak/deprecations.yaml:14:15: error: invalid package "oak": deprecations: entries[3].reference: ` +
				`duplicate deprecation entry: the package is already deprecated; merge the messages [duplicate-deprecation]`},
		{edit{jsonFile, `"schema": "other.example.com", "package": "no-such-package"`,
			`"schema": "olm.chanel", "name": "a\u001b[1mb"`},
			`c/pine.json:18:12: warning: olm.chanel "a\x1b[1mb": schema: unknown schema "olm.chanel" ` +
				`(did you mean "olm.channel"?); use a schema of the format, or one with a prefix of your own [unknown-schema]`},
		{edit{"a.yaml", "", "schema: olm.gvk\n\"key\\n\\e[1m\": 1\nproperties: 1\n"},
			`c/a.yaml:1:9: warning: olm.gvk "": schema: unknown schema "olm.gvk"; ` +
				`use a schema of the format, or one with a prefix of your own [unknown-schema]`},
		{edit{"a\nb.yaml", "", "-"}, `c/a\nb.yaml:1:1: error: want an object, found a list [read]`},
	}
	for _, tt := range tests {
		files := maps.Clone(valid)
		tt.edit.apply(t, files)
		rules := named([]string{tt.want})
		if got := only(check(t, validate.Options{}, files), rules...); len(got) != 1 || got[0].String() != tt.want {
			t.Errorf("got\n%swant\n\t%s", listing(got), tt.want)
		}
	}
}

func TestConstraints(t *testing.T) {
	const oneKind = "want one of the keys all, any, cel, gvk, not or package"
	tests := []struct{ value, at, message string }{
		{`{gvk: {group: g, version: v1, kind: K}}`, "", ""},
		{`{failureMessage: m, package: {packageName: p, versionRange: ">=1.0.0"}}`, "", ""},
		{`{all: {constraints: [{any: {constraints: [{cel: {rule: 'true'}}]}}]}}`, "", ""},
		{`{not: {constraints: [{cel: {rule: 'false'}}]}}`, "", ""},
		{`{cel: {rule: "properties.exists(p, p.type == 'x' && semver_compare(p.value, '1.0.0') >= 0)"}}`, "", ""},
		{`{}`, "value", oneKind},
		{`{none: {constraints: [{cel: {rule: 'true'}}]}}`, "value.none", "is now called not"},
		{`{package: {packageName: p, versionRange: ^1}}`, "value.package.versionRange",
			`"^1" is not a valid version range: cannot parse the comparator "^" in "^1"`},
		{`{package: {packageName: p, versionRange: ""}}`, "value.package.versionRange", "must not be empty"},
		{`{package: {packageName: p}}`, "value.package.versionRange", "is required"},
		{`{cel: {}}`, "value.cel.rule", "is required"},
		{`{cel: {rule: " "}}`, "value.cel.rule", "the rule is empty"},
		{`{failureMessage: m}`, "value", oneKind},
		{`{failureMessage: m, packages: {}}`, "value.packages", "unknown key"},
		{`{package: {packageName: p, versionRange: ">1.0.0", name: n}}`, "value.package.name", "unknown key"},
		{`{gvk: {group: g, version: 1, kind: K}}`, "value.gvk.version", "want string, found 1"},
		{`[]`, "value", "want object, found list"},
		{`{cel: {rule: '1 +'}}`, "value.cel.rule",
			"the rule does not compile: 1:4: Syntax error: mismatched input '<EOF>' expecting"},
		{`{cel: {rule: '1 + 1'}}`, "value.cel.rule", "the rule returns int, want bool"},
		{`{cel: {rule: 'bundles == 1'}}`, "value.cel.rule",
			"the rule does not compile: 1:1: undeclared reference to 'bundles'"},
		{`{any: {constraints: [{cel: {rule: 'true'}}, {cel: {rule: '"text"'}}]}}`, "value.any.constraints[1].cel.rule",
			"the rule returns string, want bool"},
		{`{not: {constraints: [{}]}}`, "value.not.constraints[0]", oneKind},
	}
	for _, tt := range tests {
		files := maps.Clone(valid)
		property("{type: olm.constraint, value: "+tt.value+"}").apply(t, files)
		problems := only(check(t, validate.Options{}, files), "constraint")
		if tt.at == "" {
			expect(t, problems)
			continue
		}
		path := `package "oak": bundle "oak.v1.1.0": properties[2].` + tt.at
		if len(problems) != 1 || problems[0].Rule != "constraint" || problems[0].Path != path ||
			!strings.HasPrefix(problems[0].Message, tt.message) {
			t.Errorf("%s: got\n%swant %s: %s", tt.value, listing(problems), path, tt.message)
		}
	}
}

// TestConstraintSize checks that constraints may have up to 131,072 bytes, as in OLM.
func TestConstraintSize(t *testing.T) {
	const around = len(`{"failureMessage":"","cel":{"rule":"true"}}`)
	for size, want := range map[int][]string{131_072: {"v1-dependency"}, 131_073: {"constraint", "v1-dependency"}} {
		files := maps.Clone(valid)
		value := `{failureMessage: "` + strings.Repeat("x", size-around) + `", cel: {rule: 'true'}}`
		property("{type: olm.constraint, value: "+value+"}").apply(t, files)
		got := rulesOf(only(check(t, validate.Options{}, files), "constraint", "v1-dependency"))
		if !slices.Equal(got, want) {
			t.Errorf("a constraint of %d bytes breaks %q, want %q", size, got, want)
		}
	}
}

func TestObjectSize(t *testing.T) {
	shared.OneGoroutine(t)
	const mebibyte = 1 << 20
	for size, want := range map[int][]string{mebibyte: nil, mebibyte + 1: {"oak/bundles.yaml:31:36 object-size"}} {
		files := maps.Clone(valid)
		edit{bundleFile, "e30=", manifest("", size)}.apply(t, files)
		if got := briefs(only(check(t, validate.Options{}, files), "object-size")); !slices.Equal(got, want) {
			t.Errorf("a manifest of %d bytes breaks %q, want %q", size, got, want)
		}
	}
}

// manifest returns a manifest of the kind with a size in bytes, encoded as base64.
func manifest(kind string, size int) string {
	head := `{"kind":"` + kind + `","text":"`
	return base64.StdEncoding.EncodeToString([]byte(head + strings.Repeat("x", size-len(head)-2) + `"}`))
}

// TestMessageSize checks the size limit of a gRPC message. A registry sends all manifests of a bundle, and its
// ClusterServiceVersion a second time.
func TestMessageSize(t *testing.T) {
	if !shared.Full() {
		t.Skip("it reads megabytes")
	}
	const csv = "ClusterServiceVersion"
	tests := []struct {
		name  string
		sizes map[string]int // in KiB, by kind
		want  []string
	}{
		{"small", map[string]int{csv: 900, "A": 900}, nil},
		{"with the CSV twice", map[string]int{csv: 1000, "A": 1000, "B": 1000}, nil},
		{"beyond with the CSV twice", map[string]int{csv: 1000, "A": 1000, "B": 1000, "C": 1000}, []string{"message-size"}},
		{"below without", map[string]int{"A": 1000, "B": 1000, "C": 1000, "D": 1000}, nil},
		{"beyond without", map[string]int{"A": 1000, "B": 1000, "C": 1000, "D": 1000, "E": 1000}, []string{"message-size"}},
	}
	for _, tt := range tests {
		var objects string
		for _, kind := range slices.Sorted(maps.Keys(tt.sizes)) {
			objects += "- {type: olm.bundle.object, value: {data: " + manifest(kind, tt.sizes[kind]<<10) + "}}\n"
		}
		files := maps.Clone(valid)
		edit{bundleFile, "- {type: olm.bundle.object, value: {data: e30=}}\n", objects}.apply(t, files)
		if got := rulesOf(only(check(t, validate.Options{}, files), "message-size")); !slices.Equal(got, tt.want) {
			t.Errorf("%s: breaks %q, want %q", tt.name, got, tt.want)
		}
	}
	files := maps.Clone(valid)
	property(`{type: olm.csv.metadata, value: {description: "`+strings.Repeat("x", 2100<<10)+`"}}`).apply(t, files)
	got := only(check(t, validate.Options{}, files), "message-size")
	expect(t, got, "oak/bundles.yaml:17:1 message-size")
	if text := problem.Lines(got); strings.Contains(text, "migrate") {
		t.Errorf("a bundle without manifests: %s", text)
	}
}

func TestUserSchemas(t *testing.T) {
	const own = `
#Tier: {schema!: "tier", level!: "gold" | "silver", ...}
#Ours: #Bundle & {schema: "olm.bundle", image: =~"^registry.example/", ...}
`
	files := maps.Clone(valid)
	files["a.yaml"] = "schema: tier\nlevel: bronze\n"
	files["b.json"] = `{"schema": "tier"}`
	problems := only(check(t, validate.Options{Schemas: userSchema(own)}, files), "user-schema")
	expect(t, problems, "a.yaml:2:8 user-schema", "b.json:1:1 user-schema", "oak/bundles.yaml:28:8 user-schema")
	for _, p := range problems {
		if p.Severity != problem.Error {
			t.Errorf("%s is no error", p)
		}
	}
	fs := declcfg.Source{FS: mapFS(valid)}
	if _, err := validate.Catalog(t.Context(), validate.Options{Schemas: userSchema("#Tier: {")}, fs); err == nil {
		t.Error("a schema that does not compile is accepted")
	}
}

// broken returns the valid catalog with errors and warnings added in several files.
func broken(t *testing.T) map[string]string {
	t.Helper()
	files := maps.Clone(valid)
	for _, e := range []edit{
		{pkgFile, "defaultChannel: stable", "defaultChannel: stabel"},
		{pkgFile, "image/png", "image/jpeg"},
		{bundleFile, "    version: 1.0.0\n", "    version: v1.0.0\n"},
		{bundleFile, "  image: registry.example/oak@" + digest, "  image: ''"},
		property("{value: 1}"),
		{jsonFile, "[null]}\n", "[null]\n"},
		{channelFile, ">=1.0.0 <2.0.0", ">=1.0.0"},
		{"more/README.md", "", "Read me\n"},
	} {
		e.apply(t, files)
	}
	return files
}

// brokenWant lists the problems of broken. The unreadable README mentions no package, and the unreadable part of
// pine.json names another package.
var brokenWant = []string{
	"more/README.md:1:1 read",
	"oak/bundles.yaml:9:14 bundle-version",
	"oak/bundles.yaml:15:10 related-image-empty",
	"oak/bundles.yaml:24:3 property-type",
	"oak/channels.yaml:11:14 skip-range-self",
	"oak/package.yaml:5:17 default-channel",
	"oak/package.yaml:9:14 icon-type",
	"pine.json:18:81 read",
}

// checkBroken returns the problems of the rules in brokenWant.
func checkBroken(t *testing.T, opts validate.Options) []*problem.Problem {
	t.Helper()
	return only(check(t, opts, broken(t)), named(brokenWant)...)
}

func TestBroken(t *testing.T) { expect(t, checkBroken(t, validate.Options{}), brokenWant...) }

func TestDisable(t *testing.T) {
	for _, name := range named(brokenWant) {
		want := slices.DeleteFunc(slices.Clone(brokenWant), func(s string) bool { return strings.HasSuffix(s, " "+name) })
		expect(t, checkBroken(t, validate.Options{Levels: problem.Disabled(name)}), want...)
	}
}

// TestUnplaced checks that problems at level info have the position of their object, and other problems keep their
// position.
func TestUnplaced(t *testing.T) {
	opts := validate.Options{Info: validate.InfoUnplaced, Levels: problem.Levels{Rules: map[string]problem.Severity{
		"related-image-empty": problem.Info, "default-channel": problem.Info,
	}}}
	expect(t, checkBroken(t, opts),
		"more/README.md:1:1 read",
		"oak/bundles.yaml:1:1 related-image-empty",
		"oak/bundles.yaml:9:14 bundle-version",
		"oak/bundles.yaml:24:3 property-type",
		"oak/channels.yaml:11:14 skip-range-self",
		"oak/package.yaml:3:1 default-channel",
		"oak/package.yaml:9:14 icon-type",
		"pine.json:18:81 read",
	)
}

// TestCounted checks that counted problems are behind all others, as many as without, and that problems of one
// rule in one file are one Problem.
func TestCounted(t *testing.T) {
	files := maps.Clone(valid)
	files["keys.yaml"] = "{schema: olm.channel, package: oak, name: more, a1: 1, b1: 2, c1: 3}"
	var names [2][]string
	for i, detail := range []validate.InfoDetail{validate.InfoUnplaced, validate.InfoCounted} {
		problems := check(t, validate.Options{Info: detail}, files)
		for _, p := range problems {
			names[i] = append(names[i], p.Rule)
		}
		n := len(problems)
		if detail == validate.InfoCounted && (n < 4 || problems[n-3] != problems[n-1] || problems[n-4].Rule == "unknown-key") {
			t.Errorf("got %v", problems)
		}
		slices.Sort(names[i])
	}
	if !slices.Equal(names[0], names[1]) {
		t.Errorf("got %v, want %v", names[1], names[0])
	}
}

// TestErrorsOnly checks that ErrorsOnly reports the same errors as a full run.
func TestErrorsOnly(t *testing.T) {
	if !shared.Full() {
		t.Skip("it runs all of TestRules twice")
	}
	for _, tt := range breaks {
		files := maps.Clone(valid)
		for _, e := range tt.edits {
			e.apply(t, files)
		}
		var want []string
		for _, p := range check(t, validate.Options{}, files) {
			if p.Severity == problem.Error {
				want = append(want, brief(p))
			}
		}
		expect(t, check(t, validate.Options{ErrorsOnly: true}, files), want...)
	}
}

func TestSameReportEachTime(t *testing.T) {
	files := broken(t)
	for i := range 40 {
		name := fmt.Sprintf("elm-%d", i)
		files[name+".yaml"] = "schema: olm.package\nname: " + name + "\ndefaultChannel: c\n---\n" +
			bundle("package: "+name+"x\nname: b.v1\nimage: ''", name, "1")
	}
	first := listing(check(t, validate.Options{}, files))
	for range 20 {
		if again := listing(check(t, validate.Options{}, files)); again != first {
			t.Fatalf("got\n%sand then\n%s", first, again)
		}
	}
}

// TestUnreadableFiles checks that objects are not reported as missing if they may be in an unreadable file, and that
// unrelated problems are still reported.
func TestUnreadableFiles(t *testing.T) {
	tests := []struct {
		name string
		file string
		text string
		want []string
	}{
		{"the package", pkgFile, "schema: olm.package\nname: oak\ndefaultChannel: [\n",
			[]string{"oak/package.yaml:4:1 read"}},
		{"the channels", channelFile, "schema: olm.channel\npackage: oak\n\tname: x\n",
			[]string{"oak/channels.yaml:3:1 read"}},
		{"the bundles", bundleFile, "schema: olm.bundle\npackage: oak\nname: 'x\n", []string{"oak/bundles.yaml:3:7 read"}},
		{"a file of another package", "pine.json", `{"schema": "olm.package", "name": "pine"`,
			[]string{"pine.json:1:41 read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := maps.Clone(valid)
			files[tt.file] = tt.text
			files["elm.yaml"] = "schema: olm.package\nname: elm\ndefaultChannel: c\n"
			want := append([]string{"elm.yaml:2:7 package-channels"}, tt.want...)
			expect(t, only(check(t, validate.Options{}, files), brokenRules()...), want...)
		})
	}
}

// TestUnknownFiles checks that a file that cannot be opened may contain objects of any package in its directory.
func TestUnknownFiles(t *testing.T) {
	oakWithoutChannels := func(fsys fstest.MapFS) { delete(fsys, channelFile) }
	tests := []struct {
		name   string
		broken string
		want   []string
	}{
		{"beside the package", "oak/more.yaml", []string{"elm.yaml:2:7 package-channels", "oak/more.yaml read"}},
		{"beside another package", "more.yaml", []string{
			"more.yaml read", "oak/bundles.yaml:3:7 bundle-channel", "oak/bundles.yaml:19:7 bundle-channel",
			"oak/bundles.yaml:27:7 bundle-channel", "oak/deprecations.yaml:10:11 deprecation-reference",
			"oak/package.yaml:4:7 package-channels",
		}},
		{"beside nothing", "more/more.yaml", []string{"more/more.yaml read"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := mapFS(valid)
			fsys["elm.yaml"] = &fstest.MapFile{Data: []byte("schema: olm.package\nname: elm\ndefaultChannel: c\n")}
			oakWithoutChannels(fsys)
			fsys[tt.broken] = &fstest.MapFile{Data: []byte("no-such-file"), Mode: os.ModeSymlink}
			report, err := validate.Catalog(t.Context(), validate.Options{}, declcfg.Source{Name: "c", FS: fsys})
			if err != nil {
				t.Fatal(err)
			}
			expect(t, only(report.Problems, brokenRules()...), tt.want...)
		})
	}
}

// TestManyProblems checks that 10,000 problems are all reported, whether they are in one object or in many. With
// quadratic time this test would not finish.
func TestManyProblems(t *testing.T) {
	n := shared.Number(10_000, 100)
	var entries, bundles, objects, deprecations, unknown strings.Builder
	entries.WriteString("schema: olm.channel\npackage: oak\nname: many\nentries:\n")
	deprecations.WriteString("schema: olm.deprecations\npackage: pine\nentries:\n")
	for i := range n {
		fmt.Fprintf(&entries, "- {name: oak.v9.0.%d, skipRange: x}\n", i)
		fmt.Fprintf(&bundles, "---\nschema: olm.bundle\npackage: oak\nname: oak.v8.%d.0\nimage: ''\n", i)
		fmt.Fprintf(&objects, "{\"schema\": \"olm.some\", \"package\": \"\"}\n")
		fmt.Fprintf(&deprecations, "- {reference: {schema: olm.bundle, name: oak.v7.%d.0}}\n", i)
		fmt.Fprintf(&unknown, "---\nschema: olm.channel\npackage: p%d\nname: oak.v8.%d.0\nentries: [{name: x}]\n", i, i)
	}
	tests := map[string]struct {
		text string
		want int
	}{
		"entries":      {entries.String(), 2*n + 1},
		"bundles":      {bundles.String(), 4 * n},
		"objects":      {objects.String(), 2 * n},
		"deprecations": {deprecations.String(), 2 * n},
		"packages":     {unknown.String(), n},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(valid)
			files["many.yaml"] = tt.text
			problems := only(check(t, validate.Options{}, files), brokenRules()...)
			if len(problems) != tt.want {
				t.Errorf("%d problems, want %d; the first: %v", len(problems), tt.want, problems[:min(3, len(problems))])
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := validate.Catalog(ctx, validate.Options{}, declcfg.Source{FS: mapFS(valid)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestReport(t *testing.T) {
	report, err := validate.Catalog(t.Context(), validate.Options{}, declcfg.Source{Name: "c", FS: mapFS(broken(t))})
	if err != nil {
		t.Fatal(err)
	}
	problems := only(report.Problems, named(brokenWant)...)
	if e, w := problem.Count(problems, problem.Error), problem.Count(problems, problem.Warning); e != 4 || w != 4 {
		t.Errorf("%d errors and %d warnings, want 4 and 4", e, w)
	}
	if p := report.Index.Package("oak"); p == nil || len(p.Bundles) != 3 {
		t.Errorf("the index holds %+v of package oak, want 3 bundles", p)
	}
}

// TestPublishedCatalogs checks that published catalogs, which upstream accepted, have no errors.
func TestPublishedCatalogs(t *testing.T) {
	if !shared.Full() {
		t.Skip("it reads megabytes")
	}
	for _, dir := range shared.Catalogs(t) {
		report, err := validate.Catalog(t.Context(), validate.Options{}, declcfg.Source{Name: dir, FS: os.DirFS(dir)})
		if err != nil {
			t.Fatal(err)
		}
		if problem.Count(report.Problems, problem.Error) > 0 {
			t.Errorf("%s", listing(report.Problems))
		}
	}
}
