package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"sigs.k8s.io/yaml"
)

// A fuzzedFile is a file other than a catalog that commands read, in a directory with the examples and the files of
// otherFiles.
type fuzzedFile struct {
	name  string
	lines []string // which read it, and need no registry
}

var fuzzedFiles = []fuzzedFile{
	{"cluster.yaml", []string{
		"catalogsource resolve-image cluster.yaml --target kubernetes=1.33.2", "serve --state cluster.yaml --catalog crafts=catalog --cache-only",
		"resolve --state cluster.yaml --catalog crafts=catalog", "resolve --state cluster.yaml --catalog crafts=catalog -o json",
		"simulate cluster.yaml --catalog crafts=catalog --approve --diff", "simulate cluster.yaml --catalog crafts=catalog -o json",
		"diagnose cluster.yaml --catalog crafts=catalog --redact", "diagnose cluster.yaml -o json",
		"simulate cluster.yaml --catalog crafts=catalog --write out", "simulate cluster.yaml --who-can-what --catalog crafts=catalog",
	}},
	{"pottery.yaml", []string{
		"resolve --state pottery.yaml --catalog crafts=catalog", "simulate pottery.yaml --catalog crafts=catalog -o markdown",
		"simulate pottery.yaml --check-operatorgroup operatorgroup.yaml",
	}},
	{"operatorgroup.yaml", []string{"simulate cluster.yaml --check-operatorgroup operatorgroup.yaml"}},
	{"catalogsource.yaml", []string{"catalogsource resolve-image catalogsource.yaml --target kubernetes=1.33.2 -o json"}},
	{"opm.yaml", []string{
		"add bundle catalog --channel stable --alpha-image-ref-template example.com/{{.Name}}:v1", "promote catalog kiln.v1.1.1 --to candidate",
		"bundle validate bundle --config opm.yaml", "resolve catalog --all --config opm.yaml",
		"plan v4.18=catalog/loom v4.19=catalog --config opm.yaml", "validate catalog --config opm.yaml",
		"validate catalog --config opm.yaml -o json",
	}},
	{"rules.cue", []string{"validate catalog --schema rules.cue"}},
	{"basic.yaml", []string{
		"render-template basic.yaml", "render-template basic.yaml --preview", "fmt basic.yaml",
		"deprecate basic.yaml channel stable --package kiln --message m",
		"render-template basic.yaml --targets templates/targets.yaml --output-dir out",
	}},
	{"templates/semver.yaml", []string{"fmt templates/semver.yaml", "convert-template basic templates/semver.yaml"}},
	{"templates/targets.yaml", []string{"render-template basic.yaml --targets templates/targets.yaml --output-dir out"}},
	{"substitutes.yaml", []string{"render-template substitutes substitutes.yaml -o yaml", "validate substitutes.yaml"}},
	{"composite.yaml", []string{"render-template composite -f catalogs.yaml -c composite.yaml"}},
	{"catalogs.yaml", []string{"render-template composite -f catalogs.yaml -c composite.yaml"}},
	{"compose.yaml", []string{"compose compose.yaml", "compose compose.yaml --dry-run"}},
	{"imageset.yaml", []string{"filter catalog --config imageset.yaml", "filter catalog --config imageset.yaml -o images"}},
	{"record.json", []string{"mirror prune --record record.json", "mirror prune --record record.json -o json"}},
	{"lock.json", []string{"render catalog --lock lock.json", "render bundle --lock lock.json --alpha-image-ref-template example.com/x:v1"}},
	{"known.json", []string{
		"validate catalog --baseline known.json", "validate catalog --baseline known.json --write-baseline",
		"resolve catalog --all --baseline known.json",
	}},
	{"mirrors.yaml", []string{"list packages catalog --image-mirrors mirrors.yaml"}},
	{"auth.json", []string{"auth explain registry.example/kiln:v1 --authfile auth.json"}},
	{"bundle/manifests/kiln.clusterserviceversion.yaml", bundleLines},
	{"bundle/manifests/firings.crd.yaml", bundleLines},
	{"bundle/metadata/annotations.yaml", bundleLines},
	{"bundle/metadata/dependencies.yaml", bundleLines},
}

var bundleLines = []string{
	"add bundle catalog --channel stable --alpha-image-ref-template example.com/{{.Name}}:v1", "bundle manifests bundle --namespace n",
	"bundle manifests bundle --namespace n -o json", "bundle validate bundle -o github", "bundle validate bundle --optional-validators operatorhub",
	"render bundle --alpha-image-ref-template example.com/{{.Name}}:v1",
}

// entries are the entries of a template.
const entries = `- {schema: olm.package, name: kiln, defaultChannel: stable}
- schema: olm.channel
  package: kiln
  name: stable
  entries: [{name: kiln.v2, replaces: kiln.v1}, {name: kiln.v1}]
`

const bundleEntries = `- schema: olm.bundle
  package: kiln
  name: kiln.v2
  image: registry.example/kiln:v2
  properties: [{type: olm.package, value: {packageName: kiln, version: 2.0.0}}]
- schema: olm.bundle
  package: kiln
  name: kiln.v1
  image: registry.example/kiln:v1
  properties: [{type: olm.package, value: {packageName: kiln, version: 1.0.0}}]
`

// otherFiles are the files of fuzzedFiles that the examples do not have.
var otherFiles = map[string]string{
	"opm.yaml": `rules: {policy-default-channel: warning, icon-type: error}
packages: {kiln: {rules: {icon-type: info}}}
schemas: [rules.cue]
baseline: known.json
target: ocp=4.18
targets: {v4.19: ocp=4.19}
policy: {registries: [registry.example], channelNames: "^[a-z]+$", defaultChannel: stable}
`,
	"rules.cue":        "#Bundle: {schema: \"olm.bundle\", name: =~\"^[a-z]\", ...}\n#Package: {schema: \"olm.package\", ...}\n",
	"substitutes.yaml": "schema: olm.template.substitutes\nentries:\n" + entries + bundleEntries + "substitutions: []\n",
	"basic.yaml":       "schema: olm.template.basic\nentries:\n" + entries,
	"composite.yaml": `schema: olm.composite
components:
- name: first
  destination: {path: loom}
  strategy: {name: raw, template: {schema: olm.builder.raw, config: {input: catalog/loom/catalog.json, output: loom.json}}}
`,
	"catalogs.yaml": "schema: olm.composite.catalogs\ncatalogs:\n- {name: first, destination: {workingDir: out}, builders: [olm.builder.raw]}\n",
	"compose.yaml":  "name: c\nrepo: example.com/c\ntag: v1\nreferences:\n- {name: kiln, image: catalog/kiln}\n- {name: loom, image: catalog/loom}\n",
	"record.json": `{"format": 1, "target": "example.com/m", "images": [{"source": "registry.example/a:v1", "repository": "a", "digest": "sha256:` + digits + `",
 "manifests": [{"digest": "sha256:` + digits + `", "size": 10, "layers": [{"digest": "sha256:` + digits + `", "size": 5}]}]}],
 "obsolete": [{"source": "registry.example/b:v1", "repository": "b", "digest": "sha256:1` + digits[1:] + `", "manifests": [{"digest": "sha256:1` + digits[1:] + `", "size": 3}]}]}
`,
	"lock.json": `{"references": [{"reference": "registry.example/a:v1", "digest": "sha256:` + digits + `"}]}` + "\n",
	"known.json": `{"problems": [{"rule": "unknown-field", "package": "kiln", "path": "/x", "names": ["a"]}, {"rule": "icon-type", "file": "b.yaml"}]}
`,
	"mirrors.yaml": mirrorSet,
	"auth.json":    `{"auths": {"registry.example": {"auth": "dTpw"}, "registry.example/kiln": {"username": "u", "password": "p"}}}` + "\n",
}

// FuzzFiles runs commands on nearly valid files that are no catalogs: states of clusters, configurations, templates,
// records and bundles, with values changed as by FuzzCommands or with text cut off, doubled or replaced. It checks that no
// command panics, prints raw control characters, leaves temporary files, changes a file if it fails, or takes more than a
// bound of processor time that only endless work reaches.
func FuzzFiles(f *testing.F) {
	for seed := range fuzzedSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		t.Parallel()
		random := rand.New(rand.NewPCG(seed, 2))
		for range 4 {
			file := fuzzedFiles[random.IntN(len(fuzzedFiles))]
			checkFile(t, file, file.lines[random.IntN(len(file.lines))], random)
		}
	})
}

// checkFile changes a file and runs a command line in a new directory.
func checkFile(t *testing.T, file fuzzedFile, line string, random *rand.Rand) {
	dir, tmp := t.TempDir(), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
		t.Fatal(err)
	}
	for name, text := range otherFiles {
		writeText(t, filepath.Join(dir, name), text)
	}
	changed := filepath.Join(dir, filepath.FromSlash(file.name))
	text, err := os.ReadFile(changed)
	if err != nil {
		t.Fatal(err)
	}
	text = mutateFile(file.name, text, random)
	writeText(t, changed, string(text))
	before := contents(t, dir)
	env := append(os.Environ(), "TMPDIR="+tmp)
	r, err := callOPM(workerCall{Args: strings.Fields(line), Env: env, Dir: dir, Limit: 20 * time.Second})
	bad := func(what string) {
		t.Errorf("opm %s: %s\n%s%s\n%s is\n%s", line, what, r.stdout, r.stderr, file.name, text)
	}
	after := contents(t, dir)
	isTemporary := func(name string) bool { return strings.Contains(name, "/.opm-") }
	left, _ := os.ReadDir(tmp)
	printed := r.stderr
	if !isData.MatchString(line) {
		printed += r.stdout
	}
	isRaw := func(line string) bool { return hasEscaped(ours.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")) }
	switch {
	case err != nil:
		bad(err.Error())
	case strings.Contains(r.stderr, "internal error"):
		bad("it panics")
	case len(left) > 0 || slices.ContainsFunc(slices.Collect(maps.Keys(after)), isTemporary):
		bad("it leaves temporary files")
	case r.code != 0 && !maps.Equal(before, after) && !strings.Contains(line, " --write "): // which writes what it reached
		bad("it fails, and files have changed")
	case slices.ContainsFunc(slices.Collect(strings.Lines(printed)), isRaw):
		bad("it prints control characters")
	}
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// mutateFile changes values of a file in JSON or YAML, or its text.
func mutateFile(name string, text []byte, random *rand.Rand) []byte {
	isText := strings.HasSuffix(name, ".cue") || random.IntN(4) == 0
	var objects []any
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var object any
		if isText = isText || yaml.Unmarshal(document, &object) != nil; !isText {
			objects = append(objects, object)
		}
	}
	if isText {
		return mutateText(text, random)
	}
	var all [][]byte
	for _, object := range mutateObjects(objects, random) {
		document, err := json.Marshal(object, json.Deterministic(true))
		if err != nil {
			return mutateText(text, random)
		}
		all = append(all, document)
	}
	return append(bytes.Join(all, []byte("\n---\n")), '\n')
}

// mutateText cuts a part out of a text, repeats it, or replaces it.
func mutateText(text []byte, random *rand.Rand) []byte {
	i := random.IntN(len(text) + 1)
	j := min(len(text), i+random.IntN(40))
	part := text[i:j]
	switch random.IntN(4) {
	case 0:
		part = nil
	case 1:
		part = bytes.Repeat(part, 2+random.IntN(100))
	case 2:
		parts := []string{"\x1b[2J", "\x00", "\xff", "\u202e", "\r", "\t", "{", "[", "]", "'", "\"", "&a ", "*a", "!!x ", "|\n", "? ", ": ", "- ", "---\n", "1e400", "null"}
		part = []byte(parts[random.IntN(len(parts))])
	case 3:
		return slices.Clone(text[:i])
	}
	return slices.Concat(text[:i], part, text[j:])
}

// TestFuzzedFiles checks that FuzzFiles starts from files without mistakes.
func TestFuzzedFiles(t *testing.T) {
	for _, file := range fuzzedFiles {
		for _, line := range file.lines {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(examples)); err != nil {
				t.Fatal(err)
			}
			for name, text := range otherFiles {
				writeText(t, filepath.Join(dir, name), text)
			}
			// for an approval
			waits := strings.HasPrefix(line, "simulate") || strings.HasPrefix(line, "diagnose")
			isEmpty := strings.Contains(line, " --targets ")       // the template has no bundles
			depends := strings.HasPrefix(line, "bundle manifests") // OLM v1 does not install it
			if r := opm(t, dir, line); r.code != 0 && !waits && !isEmpty && !depends {
				t.Errorf("opm %s: %s%s", line, r.stdout, r.stderr)
			}
		}
	}
}
