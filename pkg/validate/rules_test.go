package validate_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// An edit replaces a text that occurs once in a file; with old == "" it appends.
type edit struct{ file, old, new string }

func (e edit) apply(t *testing.T, files map[string]string) {
	t.Helper()
	text := files[e.file]
	if e.old == "" {
		files[e.file] = text + e.new
		return
	}
	if strings.Count(text, e.old) != 1 {
		t.Fatalf("%q stands %d times in %s", e.old, strings.Count(text, e.old), e.file)
	}
	files[e.file] = strings.Replace(text, e.old, e.new, 1)
}

const (
	pkgFile     = "oak/package.yaml"
	channelFile = "oak/channels.yaml"
	bundleFile  = "oak/bundles.yaml"
	deprFile    = "oak/deprecations.yaml"
	jsonFile    = "pine.json"
)

// breaks lists edits of the valid catalog, and the problems they cause as "file:line:col rule".
var breaks = []struct {
	name  string
	edits []edit
	want  []string
}{
	{"nothing", nil, nil},

	// read
	{"tab", []edit{{pkgFile, "  mediatype", "\tmediatype"}}, []string{"oak/package.yaml:9:1 read"}},
	{"truncated JSON", []edit{{jsonFile, "[null]}\n", "[null]\n"}}, []string{"pine.json:18:81 read"}},
	{"list", []edit{{"a.yaml", "", "- 1\n"}}, []string{"a.yaml:1:1 read"}},
	{"text", []edit{{"README.md", "", "\nSay hello\n"}}, []string{"README.md:2:1 read"}},
	{"no schema", []edit{{"a.yaml", "", "--- # first\n\nname: x\n---\npackage: z\n"}},
		[]string{"a.yaml:3:1 read", "a.yaml:5:1 read"}},
	{"schema is a number", []edit{{"a.json", "", "{\"name\": \"x\",\n \"schema\": 5}\n"}}, []string{"a.json:2:12 read"}},
	{"bad in the middle", []edit{{"a.yaml", "", "schema: x\n---\nschema: [\n---\nschema: olm.x\n"}},
		[]string{"a.yaml:4:1 read", "a.yaml:5:9 unknown-schema"}},

	// type
	{"default channel is a number", []edit{{pkgFile, "defaultChannel: stable", "defaultChannel: 1"}},
		[]string{"oak/package.yaml:5:17 type"}},
	{"icon is not base64", []edit{{pkgFile, "iVBORw0KGgo=", "'?'"}}, []string{"oak/package.yaml:8:15 type"}},
	{"two wrong types", []edit{
		{pkgFile, "defaultChannel: stable", "defaultChannel: [stable]"}, {pkgFile, "iVBORw0KGgo=", "'?'"},
	}, []string{"oak/package.yaml:5:17 type", "oak/package.yaml:8:15 type"}},
	{"entries are an object", []edit{{jsonFile, `[{"name": "pine.v1"}]`, `{"name": "pine.v1"}`}},
		[]string{"pine.json:10:14 type"}},
	{"wrong types in several entries", []edit{
		{channelFile, "- name: oak.v1.1.0\n", "- name: 1\n"}, {channelFile, "skips: [oak.v1.1.0]", "skips: [oak.v1.1.0, {}]"},
	}, []string{"oak/channels.yaml:6:9 type", "oak/channels.yaml:10:23 type"}},
	{"related images are text",
		[]edit{{jsonFile, `[{"name": "pine", "image": "registry.example/pine@` + digest + `"}]`, `"x"`}},
		[]string{"pine.json:17:19 type"}},
	{"message is an object", []edit{{deprFile, "message: gone", "message: {}"}},
		[]string{"oak/deprecations.yaml:13:12 type"}},

	// portable
	{"comment before the first document", []edit{{deprFile, "schema: olm.deprecations", "# c\n---\nschema: olm.deprecations"}},
		[]string{"oak/deprecations.yaml:1:1 portable"}},
	{"blank line before the first document", []edit{{"a.yaml", "", "\n---\nschema: x\n"}}, []string{"a.yaml:1:1 portable"}},
	{"comment at the end", []edit{{deprFile, "", "---\n# end\n"}}, []string{"oak/deprecations.yaml:14:1 portable"}},
	{"empty documents", []edit{{pkgFile, "---\n", "---\n---\n"}, {"a.yaml", "", "schema: x\n---\n \n---\nschema: z\n"}},
		[]string{"a.yaml:2:1 portable", "oak/package.yaml:1:1 portable"}},
	{"two separators between documents", []edit{{"a.yaml", "", "---\nschema: x\n---\n---\nschema: z\n---\n"}}, nil},
	{"schema with a slash", []edit{{"a.yaml", "", "schema: example.com/x\n"}}, []string{"a.yaml:1:9 portable"}},
	{"package of a custom schema", []edit{{"a.yaml", "", "schema: x\npackage: -p\n"}}, []string{"a.yaml:2:10 portable"}},

	// duplicate-key, utf-8
	{"equal keys in YAML", []edit{{pkgFile, "description: A tree.\n", "description: A tree.\nname: oak\n"}},
		[]string{"oak/package.yaml:7:1 duplicate-key"}},
	{"equal keys in flow style", []edit{{channelFile, "{name: oak.v1.0.0}", "{name: a, name: oak.v1.0.0}"}},
		[]string{"oak/channels.yaml:14:22 duplicate-key"}},
	{"equal keys in JSON", []edit{{jsonFile, `"anything": [null]`, `"anything": [{"a": 1, "b": {}, "a": 2}]`}},
		[]string{"pine.json:18:94 duplicate-key"}},
	{"Latin 1 in JSON", []edit{{jsonFile, `[null]`, "[\"äöü\", \"\xe4\"]"}}, []string{"pine.json:18:84 utf-8"}},
	{"Latin 1 in YAML", []edit{{pkgFile, "A tree", "A tr\xe9"}}, []string{"oak/package.yaml:6:18 read"}},

	// misspelled-key, unknown-key
	{"typos", []edit{
		{channelFile, "- name: oak.v1.0.0\n", "- name: oak.v1.0.0\n  skip: [oak.v0.1.0]\n  skiprange: '<1.0.0'\n"},
		{pkgFile, "  mediatype:", "  mediatyp: x\n  mediatype:"},
		{jsonFile, `"relatedImages"`, `"relatedImage": [], "relatedImages"`},
		{deprFile, "message: gone", "mesage: gone\n  message: gone"},
	}, []string{
		"oak/channels.yaml:6:9 misspelled-key", "oak/channels.yaml:7:14 misspelled-key",
		"oak/deprecations.yaml:13:11 misspelled-key", "oak/package.yaml:9:13 misspelled-key",
		"pine.json:17:18 misspelled-key",
	}},
	{"other keys", []edit{
		{pkgFile, "description: A tree.\n", "package: oak\nproperties: []\nmaturity: stable\n"},
		{channelFile, "package: oak\nname: candidate", "package: oak\nskips: []\nname: candidate"},
		{jsonFile, `"anything": [null]`, `"anything": [null], "skip": 1`},
	}, []string{"oak/channels.yaml:3:8 unknown-key", "oak/package.yaml:8:11 unknown-key"}},

	// unknown-schema, schema
	{"near schema", []edit{{"a.yaml", "", "# ...\nschema: olm.bundel\n"}}, []string{"a.yaml:2:9 unknown-schema"}},
	{"reserved schema", []edit{{jsonFile, "other.example.com", "olm.something"}},
		[]string{"pine.json:18:12 unknown-schema"}},
	{"shard", []edit{{"a.yaml", "", "schema: x\n---\nschema: opm.shard\nindex: 0\ncount: 1\n"}},
		[]string{"a.yaml:3:9 unmerged-shard"}},
	{"empty package of another schema", []edit{{"a.yaml", "", "schema: x\npackage: \"\"\n"}},
		[]string{"a.yaml:2:10 schema"}},
	{"replaces is empty", []edit{{channelFile, "- name: oak.v1.0.0\n", "- name: oak.v1.0.0\n  replaces: ''\n"}},
		[]string{"oak/channels.yaml:6:13 schema"}},
	{"incomplete API", []edit{{jsonFile, `"olm.csv.metadata", "value": {}}`,
		`"olm.csv.metadata", "value": {}}, {"type": "olm.gvk", "value": {"group": "g", "kind": ""}}`}},
		[]string{"pine.json:15:75 schema", "pine.json:15:98 schema"}},
	{"manifests without an image", []edit{{bundleFile, "localhost:5000/oak:2@" + digest, "''"}},
		[]string{"oak/bundles.yaml:28:8 schema"}},
	{"property of a package without a type", []edit{{pkgFile, "", "properties:\n- value: 1\n"}},
		[]string{"oak/package.yaml:11:3 schema"}},

	// packages
	{"no name", []edit{{"a.yaml", "", "schema: olm.package\ndefaultChannel: c\n"}}, []string{"a.yaml:1:1 package-name"}},
	{"name with a dot", []edit{{"a.yaml", "", "schema: olm.package\nname: a.b\ndefaultChannel: c\n"}},
		[]string{"a.yaml:2:7 package-channels", "a.yaml:2:7 package-name"}},
	{"package twice", []edit{{"z.json", "", `{"schema": "olm.package", "name": "oak", "defaultChannel": "stable"}`}},
		[]string{"z.json:1:35 duplicate-package"}},
	{"no channels", []edit{{"a.json", "", `{"schema": "olm.package", "name": "elm", "defaultChannel": "c"}`}},
		[]string{"a.json:1:35 package-channels"}},
	{"default channel is missing", []edit{{pkgFile, "defaultChannel: stable\n", ""}},
		[]string{"oak/package.yaml:3:1 default-channel"}},
	{"default channel is empty", []edit{{jsonFile, `"defaultChannel": "stable"`, `"defaultChannel": ""`}},
		[]string{"pine.json:4:21 default-channel"}},
	{"default channel is unknown", []edit{{pkgFile, "defaultChannel: stable", "defaultChannel: stabel"}},
		[]string{"oak/package.yaml:5:17 default-channel"}},
	{"icon without data", []edit{{pkgFile, "  base64data: iVBORw0KGgo=\n", ""}},
		[]string{"oak/package.yaml:8:3 icon-data"}},
	{"icon with other data", []edit{{pkgFile, "iVBORw0KGgo=", "aGk="}}, []string{"oak/package.yaml:8:15 icon-data"}},
	{"icon without a type", []edit{{pkgFile, "  mediatype: image/png\n", ""}}, []string{"oak/package.yaml:8:3 icon-type"}},
	{"icon of another type", []edit{{pkgFile, "image/png", "image/jpeg"}}, []string{"oak/package.yaml:9:14 icon-type"}},

	// channels
	{"channel of an unknown package",
		[]edit{{"z.yaml", "", "schema: olm.channel\npackage: oka\nname: c\nentries: [{name: oak.v1.0.0}]\n"}},
		[]string{"z.yaml:2:10 channel-package"}},
	{"channel without a package", []edit{{"z.yaml", "", "schema: olm.channel\nname: c\nentries: [{name: oak.v1.0.0}]\n"}},
		[]string{"z.yaml:1:1 channel-package"}},
	{"channel without a name",
		[]edit{{"z.yaml", "", "schema: olm.channel\npackage: oak\nentries: [{name: oak.v1.0.0}]\n"}},
		[]string{"z.yaml:1:1 channel-name"}},
	{"channel twice",
		[]edit{{jsonFile, "", `{"schema": "olm.channel", "package": "pine", "name": "stable", ` +
			`"entries": [{"name": "pine.v1"}]}`}},
		[]string{"pine.json:19:54 duplicate-channel"}},
	{"no entries", []edit{{"z.yaml", "", "schema: olm.channel\npackage: oak\nname: c\n"}},
		[]string{"z.yaml:1:1 channel-entries"}},
	{"empty entries", []edit{{"z.yaml", "", "schema: olm.channel\npackage: oak\nname: c\nentries: []\n"}},
		[]string{"z.yaml:4:10 channel-entries"}},
	{"entry without a name", []edit{{channelFile, "- name: oak.v1.0.0\n", "- {}\n- name: oak.v1.0.0\n"}},
		[]string{"oak/channels.yaml:5:3 entry-name"}},
	{"entry with an empty name", []edit{{jsonFile, `[{"name": "pine.v1"}]`, `[{"name": "pine.v1"}, {"name": ""}]`}},
		[]string{"pine.json:10:45 entry-name"}},
	{"entry twice", []edit{{jsonFile, `[{"name": "pine.v1"}]`, `[{"name": "pine.v1"}, {"name": "pine.v1"}]`}},
		[]string{"pine.json:10:45 duplicate-entry"}},
	{"no bundle in the first channel",
		[]edit{{channelFile, "- name: oak.v1.0.0\n", "- name: oak.v1.0.0\n  replaces: oak.v0\n- name: oak.v0\n"}},
		[]string{"oak/channels.yaml:7:9 entry-bundle"}},
	{"no bundle in the last channel",
		[]edit{{channelFile, "[{name: oak.v1.0.0}", "[{name: oak.v1.0.0, replaces: oak.v0}, {name: oak.v0}"}},
		[]string{"oak/channels.yaml:14:57 entry-bundle"}},
	{"replaces a name that is nearly that of the other head", []edit{
		{channelFile, "{name: oak.v1.1.0, replaces: oak.v1.0.0}", "{name: oak.v1.1.0, replaces: oak.v1.0.1}"},
	}, []string{"oak/channels.yaml:14:61 channel-head"}},
	{"replaces a higher version that is not there", []edit{
		{channelFile, "{name: oak.v1.0.0}, {name: oak.v1.1.0, replaces: oak.v1.0.0}", "{name: oak.v1.0.0, replaces: oak.v1.1.1}, {name: oak.v1.1.0}"},
	}, []string{"oak/channels.yaml:14:12 channel-head"}},
	{"two heads", []edit{{channelFile, "{name: oak.v1.1.0, replaces: oak.v1.0.0}", "{name: oak.v1.1.0}"}},
		[]string{"oak/channels.yaml:14:12 channel-head"}},
	{"no head", []edit{{jsonFile, `{"name": "pine.v1"}`, `{"name": "pine.v1", "replaces": "pine.v1"}`}},
		[]string{"pine.json:10:47 channel-head"}},
	{"no head by skips", []edit{{jsonFile, `{"name": "pine.v1"}`, `{"name": "pine.v1", "skips": ["pine.v1"]}`}},
		[]string{"pine.json:10:45 channel-head"}},
	{"circle below the head", []edit{
		{channelFile, "- name: oak.v1.0.0\n", "- name: oak.v1.0.0\n  replaces: oak.v1.1.0\n"},
		{channelFile, "  skips: [oak.v1.1.0]\n", ""},
	}, []string{"oak/channels.yaml:6:13 channel-cycle"}},
	{"stranded", []edit{{channelFile, "  replaces: oak.v1.0.0\n  skips", "  skips"}},
		[]string{"oak/channels.yaml:5:3 channel-stranded"}},
	{"empty skip", []edit{{channelFile, "skips: [oak.v1.1.0]", "skips: [oak.v1.1.0, '']"}},
		[]string{"oak/channels.yaml:10:23 empty-skip"}},
	{"skipRange with a v", []edit{{channelFile, ">=1.0.0 <2.0.0", ">=v1.0.0"}},
		[]string{"oak/channels.yaml:11:14 skip-range"}},
	{"skipRange of itself", []edit{{channelFile, ">=1.0.0 <2.0.0", ">=1.0.0"}},
		[]string{"oak/channels.yaml:11:14 skip-range-self"}},

	// bundles
	{"bundle of an unknown package",
		[]edit{{"z.yaml", "", bundle("package: ook\nname: ook.v1\nimage: x", "ook", "1.0.0")}},
		[]string{"z.yaml:2:10 bundle-package"}},
	{"bundle without a package", []edit{{"z.yaml", "", bundle("name: ook.v1\nimage: x", "ook", "1.0.0")}},
		[]string{"z.yaml:1:1 bundle-package"}},
	{"bundle without a name", []edit{{"z.yaml", "", bundle("package: oak\nimage: x", "oak", "3.0.0")}},
		[]string{"z.yaml:1:1 bundle-name"}},
	{"name in capitals", []edit{
		{jsonFile, `[{"name": "pine.v1"}]`, `[{"name": "Pine.v1"}]`},
		{jsonFile, `"name": "pine.v1", "image"`, `"name": "Pine.v1", "image"`},
	}, []string{"pine.json:12:53 bundle-name-dns"}},
	{"white space in a bundle name", []edit{
		{jsonFile, `[{"name": "pine.v1"}]`, `[{"name": "pine.v1\u200b"}]`},
		{jsonFile, `"name": "pine.v1", "image"`, `"name": "pine.v1\u200b", "image"`},
	}, []string{"pine.json:12:53 bundle-name-dns"}},
	{"white space in an entry", []edit{{jsonFile, `[{"name": "pine.v1"}]`, `[{"name": "pine.v1 "}]`}},
		[]string{"pine.json:10:24 entry-bundle", "pine.json:12:53 bundle-channel"}},
	{"bundle twice", []edit{{"z.yaml", "", bundle("package: oak\nname: oak.v1.0.0\nimage: x", "oak", "1.0.0")}},
		[]string{"z.yaml:3:7 duplicate-bundle"}},
	{"bundle in no channel", []edit{{"z.yaml", "", bundle("package: oak\nname: oak.v3\nimage: x", "oak", "3.0.0")}},
		[]string{"z.yaml:3:7 bundle-channel"}},
	{"no properties", []edit{{"z.yaml", "", "schema: olm.bundle\npackage: oak\nname: oak.v1.0.0\nimage: x\n"}},
		[]string{"z.yaml:1:1 package-property", "z.yaml:1:1 metadata-form", "z.yaml:3:7 duplicate-bundle"}},
	{"no version", []edit{{bundleFile, "- {type: olm.package, value: {packageName: oak, version: 1.1.0}}\n", ""}},
		[]string{"oak/bundles.yaml:22:1 package-property"}},
	{"two versions", []edit{{bundleFile, "- {type: olm.package, value: {packageName: oak, version: 1.1.0}}\n",
		"- {type: olm.package, value: {packageName: oak, version: 1.1.0}}\n" +
			"- {type: olm.package, value: {packageName: oak, version: 1.2.0}}\n"}},
		[]string{"oak/bundles.yaml:22:1 package-property"}},
	{"property names another package", []edit{{bundleFile, "    packageName: oak\n", "    packageName: pine\n"}},
		[]string{"oak/bundles.yaml:8:18 package-property-name"}},
	{"property names no package", []edit{{bundleFile, "    packageName: oak\n", ""}},
		[]string{"oak/bundles.yaml:8:5 package-property-name"}},
	{"version with a v", []edit{{bundleFile, "    version: 1.0.0\n", "    version: v1.0.0\n"}},
		[]string{"oak/bundles.yaml:9:14 bundle-version"}},
	{"property without a version", []edit{{jsonFile, `, "version": "1.0.0"`, ``}},
		[]string{"pine.json:14:36 bundle-version"}},
	{"version is a number", []edit{{bundleFile, "    version: 1.0.0\n", "    version: 1.0\n"}},
		[]string{"oak/bundles.yaml:9:14 property-value"}},
	{"equal versions", []edit{{bundleFile, "packageName: oak, version: 1.1.0", "packageName: oak, version: 1.0.0"}},
		[]string{"oak/bundles.yaml:22:1 duplicate-version"}},
	{"release and version make an equal version", []edit{
		{bundleFile, "    version: 1.0.0\n", "    version: 2.0.0\n    release: '1'\n"},
		{bundleFile, "oak, version: 2.0.0", "oak, version: 2.0.0-1"},
	}, []string{
		"oak/bundles.yaml:3:7 bundle-release", "oak/bundles.yaml:31:1 duplicate-version",
		"oak/channels.yaml:11:14 skip-range-self",
	}},
	{"release with a space", []edit{{bundleFile, "    version: 1.0.0\n", "    version: 1.0.0\n    release: a b\n"}},
		[]string{"oak/bundles.yaml:10:14 bundle-release"}},
	{"release is too long",
		[]edit{{bundleFile, "    version: 1.0.0\n", "    version: 1.0.0\n    release: abcdefghijklmnopqrstu\n"}},
		[]string{"oak/bundles.yaml:10:14 bundle-release"}},
	{"release and build", []edit{{bundleFile, "    version: 1.0.0\n", "    version: 1.0.0+a\n    release: b\n"}},
		[]string{"oak/bundles.yaml:9:14 bundle-release"}},
	{"neither image nor manifests", []edit{{jsonFile, `"image": "registry.example/pine",`, ``}},
		[]string{"pine.json:12:1 bundle-image"}},
	{"image with a scheme", []edit{{jsonFile, `"registry.example/pine",`, `"docker://registry.example/pine",`}},
		[]string{"pine.json:12:73 image-reference"}},
	{"related image in capitals",
		[]edit{{bundleFile, "  image: registry.example/oak@" + digest, "  image: registry.example/Oak"}},
		[]string{"oak/bundles.yaml:15:10 image-reference"}},
	{"related image is empty", []edit{{bundleFile, "  image: registry.example/oak@" + digest, "  image: ''"}},
		[]string{"oak/bundles.yaml:15:10 related-image-empty"}},
	{"related image is missing", []edit{{bundleFile, "  image: registry.example/oak@" + digest + "\n", ""}},
		[]string{"oak/bundles.yaml:14:3 related-image-empty"}},
	{"related images by tag",
		[]edit{{jsonFile, `[{"name": "pine", `,
			`[{"name": "a", "image": "a:1"}, {"name": "b", "image": "b"}, {"name": "pine", `}},
		[]string{"pine.json:17:43 related-image-tag"}},

	// properties
	{"no value", []edit{property("{type: x}")}, []string{"oak/bundles.yaml:24:3 property-value"}},
	{"wrong shape", []edit{property("{type: olm.gvk, value: g/v1/K}")}, []string{"oak/bundles.yaml:24:26 property-value"}},
	{"two wrong values", []edit{property("{type: olm.gvk, value: {group: 1, version: v1, kind: [K]}}")},
		[]string{"oak/bundles.yaml:24:34 property-value", "oak/bundles.yaml:24:56 property-value"}},
	{"deep in the metadata",
		[]edit{{bundleFile, "    displayName: Oak\n", "    displayName: Oak\n    links:\n    - url: x\n    - name: 5\n"}},
		[]string{"oak/bundles.yaml:15:13 property-value"}},
	{"null", []edit{property("{type: x, value: null}")}, []string{"oak/bundles.yaml:24:20 schema"}},
	{"no type", []edit{property("{value: 1}")}, []string{"oak/bundles.yaml:24:3 property-type"}},
	{"empty type", []edit{property("{value: 1, type: ''}")}, []string{"oak/bundles.yaml:24:20 property-type"}},
	{"manifest is not base64", []edit{{bundleFile, "{data: e30=}", "{data: '{}'}"}},
		[]string{"oak/bundles.yaml:31:43 bundle-object"}},
	{"manifest is not YAML", []edit{{bundleFile, "{data: e30=}", "{data: e30}"}},
		[]string{"oak/bundles.yaml:31:43 bundle-object"}},
	{"manifest is a number", []edit{{bundleFile, "{data: e30=}", "{data: 5}"}},
		[]string{"oak/bundles.yaml:31:43 bundle-object"}},
	{"manifest is a tab", []edit{{bundleFile, "{data: e30=}", "{data: CQ==}"}},
		[]string{"oak/bundles.yaml:31:43 bundle-object"}},
	{"manifest is a bracket", []edit{{bundleFile, "{data: e30=}", "{data: ew==}"}},
		[]string{"oak/bundles.yaml:31:43 broken-manifest"}},
	{"bad range of a dependency",
		[]edit{property("{type: olm.package.required, value: {packageName: p, versionRange: ^1.0}}")},
		[]string{"oak/bundles.yaml:24:10 v1-dependency", "oak/bundles.yaml:24:70 required-range"}},
	{"no range of a dependency", []edit{property("{type: olm.package.required, value: {packageName: p}}")},
		[]string{"oak/bundles.yaml:24:10 v1-dependency", "oak/bundles.yaml:24:39 required-range"}},
	{"required API", []edit{property("{type: olm.gvk.required, value: {group: g, version: v1, kind: K}}")},
		[]string{"oak/bundles.yaml:24:10 v1-dependency"}},
	{"kind twice", []edit{property("{type: olm.gvk, value: {group: g, version: v1, kind: K}}\n" +
		"- {type: olm.gvk, value: {kind: K, version: v1, group: g}}")},
		[]string{"oak/bundles.yaml:25:26 duplicate-gvk"}},
	{"kind twice, in an unusual way", []edit{property("{type: olm.gvk, value: {group: g, version: v1, kind: 'a\\b'}}\n" +
		"- {type: olm.gvk, value: {kind: 'a\\b', version: v1, group: g, x: y}}")},
		[]string{"oak/bundles.yaml:25:26 duplicate-gvk"}},
	{"kinds of the same letters", []edit{property("{type: olm.gvk, value: {group: g, version: v1, kind: AB}}\n" +
		"- {type: olm.gvk, value: {group: g, version: v1, kind: BA}}\n- {type: olm.gvk, value: {group: g, version: v2, kind: AB}}")},
		nil},
	{"range without versions", []edit{{channelFile, `">=1.0.0 <2.0.0"`, `">=1.2.0 <1.1.0"`}},
		[]string{"oak/channels.yaml:11:14 empty-range"}},
	{"required range without versions",
		[]edit{property("{type: olm.package.required, value: {packageName: p, versionRange: '>2.0.0 <1.0.0'}}")},
		[]string{"oak/bundles.yaml:24:10 v1-dependency", "oak/bundles.yaml:24:70 empty-range"}},
	{"unknown property type", []edit{property("{type: olm.gvks, value: 1}")}, []string{"oak/bundles.yaml:24:10 unknown-property"}},
	{"unknown property type of a package", []edit{{pkgFile, "", "properties:\n- {type: olm.labels, value: x}\n"}},
		[]string{"oak/package.yaml:11:10 unknown-property"}},
	{"OpenShift with a v", []edit{property("{type: olm.maxOpenShiftVersion, value: v4.20}")},
		[]string{"oak/bundles.yaml:24:42 max-openshift-version"}},
	{"OpenShift with a patch", []edit{property("{type: olm.maxOpenShiftVersion, value: 4.20.1}")},
		[]string{"oak/bundles.yaml:24:42 max-openshift-version"}},
	{"OpenShift in an object", []edit{property("{type: olm.maxOpenShiftVersion, value: {v: '4.20'}}")},
		[]string{"oak/bundles.yaml:24:42 max-openshift-version"}},
	{"OpenShift twice",
		[]edit{property("{type: olm.maxOpenShiftVersion, value: '4.20'}\n- {type: olm.maxOpenShiftVersion, value: '4.21'}")},
		[]string{"oak/bundles.yaml:22:1 max-openshift-version"}},
	{"OpenShift loses a digit", []edit{{jsonFile, `{"type": "olm.csv.metadata", "value": {}}`,
		`{"type": "olm.csv.metadata", "value": {}}, {"type": "olm.maxOpenShiftVersion", "value": 4.20}`}},
		[]string{"pine.json:15:91 max-openshift-version"}},
	{"olm.deprecated", []edit{property("{type: olm.deprecated, value: {}}")},
		[]string{"oak/bundles.yaml:24:10 deprecated-property"}},
	{"no metadata", []edit{{bundleFile, "- {type: olm.csv.metadata, value: {}}\n", ""}},
		[]string{"oak/bundles.yaml:22:1 metadata-form"}},
	{"both kinds of metadata", []edit{property("{type: olm.bundle.object, value: {data: e30=}}")},
		[]string{"oak/bundles.yaml:22:1 metadata-form"}},
	{"metadata twice", []edit{property("{type: olm.csv.metadata, value: {}}")},
		[]string{"oak/bundles.yaml:22:1 csv-metadata-count"}},

	// deprecations
	{"deprecations of an unknown package", []edit{{deprFile, "package: oak", "package: oakk"}},
		[]string{"oak/deprecations.yaml:2:10 deprecations-package"}},
	{"deprecations without a package", []edit{{deprFile, "package: oak\n", ""}},
		[]string{"oak/deprecations.yaml:1:1 deprecations-package"}},
	{"deprecations twice", []edit{{deprFile, "", "---\nschema: olm.deprecations\npackage: oak\nentries: []\n"}},
		[]string{"oak/deprecations.yaml:16:10 duplicate-deprecations"}},
	{"unknown bundle is deprecated", []edit{{deprFile, "oak.v1.0.0", "oak.v1.0.9"}},
		[]string{"oak/deprecations.yaml:6:11 deprecation-reference"}},
	{"unknown channel is deprecated", []edit{{deprFile, "candidate", "candidat"}},
		[]string{"oak/deprecations.yaml:10:11 deprecation-reference"}},
	{"reference without a name", []edit{{deprFile, "    name: candidate\n", ""}},
		[]string{"oak/deprecations.yaml:9:5 deprecation-reference"}},
	{"reference with an empty name", []edit{{deprFile, "name: candidate", "name: ''"}},
		[]string{"oak/deprecations.yaml:10:11 deprecation-reference"}},
	{"reference to the package with a name",
		[]edit{{deprFile, "{schema: olm.package}", "{schema: olm.package, name: oak}"}},
		[]string{"oak/deprecations.yaml:12:42 deprecation-reference"}},
	{"reference without a schema", []edit{{deprFile, "    schema: olm.channel\n", ""}},
		[]string{"oak/deprecations.yaml:9:5 deprecation-reference"}},
	{"reference to another schema", []edit{{deprFile, "schema: olm.channel", "schema: olm.chanel"}},
		[]string{"oak/deprecations.yaml:9:13 deprecation-reference"}},
	{"no reference", []edit{{deprFile, "- reference: {schema: olm.package}\n  message: gone", "- message: gone"}},
		[]string{"oak/deprecations.yaml:12:3 deprecation-reference"}},
	{"deprecated twice", []edit{{deprFile, "", "- {reference: {schema: olm.package}, message: again}\n"}},
		[]string{"oak/deprecations.yaml:14:15 duplicate-deprecation"}},
	{"empty message", []edit{{deprFile, "message: unstable", "message: ''"}},
		[]string{"oak/deprecations.yaml:11:12 deprecation-message"}},
	{"no message", []edit{{deprFile, "  message: unstable\n", ""}},
		[]string{"oak/deprecations.yaml:8:3 deprecation-message"}},
}

// bundle returns an olm.bundle that begins with head, with an olm.package property and empty metadata.
func bundle(head, pkg, version string) string {
	return "schema: olm.bundle\n" + head + "\nproperties:\n- {type: olm.package, value: {packageName: " + pkg +
		", version: " + version + "}}\n- {type: olm.csv.metadata, value: {}}\n"
}

// property returns the edit that adds a property to oak.v1.1.0, at line 24 of the file.
func property(text string) edit {
	const last = "- {type: olm.csv.metadata, value: {}}\n"
	return edit{bundleFile, last, last + "- " + text + "\n"}
}

func TestRules(t *testing.T) {
	shared.OneGoroutine(t)
	rules := brokenRules()
	for _, tt := range breaks {
		t.Run(tt.name, func(t *testing.T) {
			files := maps.Clone(valid)
			for _, e := range tt.edits {
				e.apply(t, files)
			}
			expect(t, only(check(t, validate.Options{}, files), rules...), tt.want...)
		})
	}
}

// brokenRules returns the names of the rules that TestRules is about. Other rules have their examples and tests of
// their own.
func brokenRules() []string {
	var lists [][]string
	for _, row := range breaks {
		lists = append(lists, row.want)
	}
	return named(lists...)
}

// policyRules are errors because the user asks for them. Their examples test them.
var policyRules = []string{"policy-default-channel", "policy-channel-name", "policy-skip", "policy-registry"}

// targetRules need a target.
var targetRules = []string{
	"target-form", "target-api", "target-min-kubernetes", "target-max-openshift", "target-releases", "target-ignored",
}

// TestSeverities checks that problems upstream accepts are warnings or, for style and advice, info, and that all others
// that a test is about are errors.
func TestSeverities(t *testing.T) {
	accepted := []string{
		"portable", // only this opm accepts it
		"no-objects", "empty-range", "unknown-property",
		"duplicate-key", "utf-8", "white-space", "unknown-schema", "schema", // reported for any object
		"icon-data", "icon-type", // upstream checks neither
		"skip-range-self", "bundle-name-dns", "related-image-empty",
		"property-type", "required-range", "constraint", "max-openshift-version", "deprecated-property", "metadata-form",
		"csv-metadata-count", "v1-dependency", "duplicate-gvk", "object-size", "message-size", "misspelled-key", "unknown-key",
		"broken-manifest",
	}
	accepted = append(slices.Concat(accepted, updateRules), targetRules...)
	advice := []string{
		"related-image-tag", "metadata-form", "replaces-and-skips", "skips-only", "updates-differ", "v1-dependency",
		"unknown-key", "target-ignored",
	}
	for _, name := range slices.Concat(brokenRules(), accepted, policyRules, []string{"user-schema"}) {
		want := problem.Error
		if slices.Contains(accepted, name) {
			want = problem.Warning
		}
		if slices.Contains(advice, name) {
			want = problem.Info
		}
		if got := validate.Rules().Of(name).Severity; got != want {
			t.Errorf("rule %s is of severity %s, want %s", name, got, want)
		}
	}
}
