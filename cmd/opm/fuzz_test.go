package main

import (
	"cmp"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// fuzzedCommands are command lines that read a catalog, in a directory with the catalog "c", the catalog "old", the
// state of a cluster and a bundle. PACKAGE, CHANNEL and BUNDLE are names that the catalog has, if it has any.
var fuzzedCommands = []string{
	"add bundle c --channel CHANNEL --alpha-image-ref-template example.com/{{.Name}}@sha256:" + digits,
	"bundle validate c",
	"build c --base-image scratch --oci-layout out",
	"check-updates c",
	"compose compose.yaml",
	"convert-template basic c -o yaml",
	"convert-template substitutes c",
	"default-channel c CHANNEL --package PACKAGE",
	"deprecate c bundle BUNDLE --message obsolete",
	"deprecate c channel CHANNEL --message obsolete --package PACKAGE",
	"diff old c", "diff c old -o json", "diff old c -o markdown",
	"filter c", "filter c --package PACKAGE --full -o yaml", "filter c --package PACKAGE:CHANNEL --with-dependencies -o images",
	"filter c --package PACKAGE@>=0.0.1 --summary summary.json",
	"fmt c --check", "fmt c",
	"generate dockerfile c",
	"generate manifests c --image example.com/c:v1 --kind deployment",
	"graph c", "graph c PACKAGE -o dot", "graph c PACKAGE -o svg", "graph c -o json", "graph c -o html",
	"list bundles c", "list channels c PACKAGE", "list packages c -o json", "list versions c PACKAGE",
	"list images c", "list images c PACKAGE --channel CHANNEL -o json",
	"matrix c old --channels -o json",
	"plan v4.18=c v4.19=old", "plan v4.18=old v4.19=c -o json",
	"migrate c out --migrate", "migrate c out -o json",
	"promote c BUNDLE --to CHANNEL",
	"check c --skip check-images --against old",
	"publish c --skip check-images,push --base-image scratch --against old",
	"remove c bundle BUNDLE", "remove c channel CHANNEL --package PACKAGE", "remove c bundle BUNDLE --reconnect", "remove c package PACKAGE",
	"render c", "render c -o yaml --migrate", "render c old",
	"render-graph c", "render-graph c --minimum-edge BUNDLE",
	"render-template c",
	"resolve c --all", "resolve c --package PACKAGE", "resolve c --package PACKAGE --channel CHANNEL --installed BUNDLE --path",
	"resolve --state state.yaml --catalog crafts=c", "resolve old c --package PACKAGE -o json",
	"search c PACKAGE", "search c e -o json",
	"serve c --cache-only --cache-dir cache",
	"diagnose state.yaml --catalog crafts=c", "simulate state.yaml --catalog crafts=c --approve", "permissions --catalog crafts=c",
	"updates c", "updates c BUNDLE --explain", "updates c BUNDLE PACKAGE.v9 --explain", "updates c --stranded", "updates c -o json", "updates c --differs",
	"validate c", "validate c -o json", "validate c -o sarif", "validate c -o github",
}

// unfuzzed are the commands that read no catalog, or only under another name.
var unfuzzed = map[string]string{
	"alpha": "the same commands as without it",

	"auth explain": "", "rules": "", "bundle build": "", "bundle extract": "", "bundle generate": "", "bundle manifests": "", "bundle unpack": "",
	"catalogsource resolve-image": "", "completion bash": "", "completion fish": "", "completion powershell": "",
	"completion zsh": "", "index": "", "init": "", "registry": "", "schema": "", "version": "",
	"list matrix":  "matrix under its former name",
	"mirror":       "asks registries for every image; the catalog is filtered as in filter",
	"check-images": "asks registries for every image; reading the references is in publish's diff and in filter -o images",
}

const digits = "0000000000000000000000000000000000000000000000000000000000000000"

// TestFuzzedCommands checks that FuzzCommands runs every command, unless there is a reason not to.
func TestFuzzedCommands(t *testing.T) {
	fuzzed := map[string]bool{}
	for _, line := range fuzzedCommands {
		cmd, _, err := rootCmd(nil, "").Find(strings.Fields(line))
		if err != nil {
			t.Fatal(err)
		}
		fuzzed[commandName(cmd)] = true
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		name := commandName(c)
		if _, ok := unfuzzed[name]; ok {
			return
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if !c.HasSubCommands() && !fuzzed[name] {
			t.Errorf("FuzzCommands does not run opm %s", name)
		}
	}
	walk(rootCmd(nil, ""))
}

func commandName(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "opm ") }

// fuzzedSeeds returns the number of seeds that a fuzz target tries when it does not fuzz: always the same ones, so that a
// commit does not fail for the mistakes of another one. make fuzz finds new ones.
func fuzzedSeeds() uint64 { return uint64(shared.Number(200, 2)) }

// FuzzCommands runs commands on nearly valid catalogs: a few packages of a real catalog, with some keys and values
// dropped, duplicated, emptied, renamed, or replaced by values of another type or from another place. It checks that no
// command panics, leaves temporary files, or prints something else the second time, and that a failing command whose
// output is a catalog prints nothing.
func FuzzCommands(f *testing.F) {
	for seed := range fuzzedSeeds() {
		f.Add(seed)
	}
	catalogs := fuzzedCatalogs(f)
	bundle, err := filepath.Abs("../../examples/bundle")
	if err != nil {
		f.Fatal(err)
	}
	state, err := os.ReadFile("../../examples/pottery.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		t.Parallel()
		random := rand.New(rand.NewPCG(seed, 1))
		objects := somePackages(catalogs[random.IntN(len(catalogs))], random)
		names := namesIn(objects, random)
		x := &fuzzedRun{tmp: t.TempDir(), bundle: bundle, state: state, old: encodeObjects(t, objects)}
		x.catalog = encodeObjects(t, mutateObjects(objects, random))
		for range 20 {
			again := random.IntN(4) == 0
			x.check(t, names.Replace(fuzzedCommands[random.IntN(len(fuzzedCommands))]), again)
		}
		if t.Failed() {
			t.Logf("the catalog is\n%s", x.catalog)
		}
	})
}

// A fuzzedRun is the input of the commands.
type fuzzedRun struct {
	tmp          string // the value of TMPDIR
	bundle       string // a directory
	state, group []byte
	catalog, old []byte
}

// printsCatalog are the commands whose output is a catalog, or a part of one.
var printsCatalog = []string{"render", "render-template", "convert-template", "filter"}

// check runs a command line, and a second time if again is set.
func (x *fuzzedRun) check(t *testing.T, line string, again bool) {
	got := x.run(t, line)
	if again {
		if second := x.run(t, line); second != got {
			t.Errorf("opm %s: the second time\n%+v\nnot\n%+v", line, second, got)
		}
	}
	name, _, _ := strings.Cut(line, " ")
	if got.code != 0 && got.stdout != "" && slices.Contains(printsCatalog, name) {
		t.Errorf("opm %s: an error, and output:\n%s\n%s", line, got.stderr, got.stdout)
	}
	if strings.Contains(got.stderr, "internal error") {
		t.Errorf("opm %s: %s", line, got.stderr)
	}
	if left, _ := os.ReadDir(x.tmp); len(left) > 0 {
		t.Fatalf("opm %s left %s", line, left[0].Name())
	}
}

var longAgo = time.Now().Add(-time.Hour)

// run runs a command line, split at spaces, in a new directory.
func (x *fuzzedRun) run(t *testing.T, line string) result { return x.runArgs(t, strings.Fields(line)) }

func (x *fuzzedRun) runArgs(t *testing.T, args []string) result {
	dir := filepath.Join(t.TempDir(), "d")
	for name, text := range map[string][]byte{
		"c/catalog.json": x.catalog, "old/catalog.json": x.old, "state.yaml": x.state, "group.yaml": x.group,
		"compose.yaml": []byte("name: c\nrepo: example.com/c\ntag: v1\nreferences:\n- {name: c, image: c}\n"),
	} {
		name = filepath.Join(dir, name)
		err := errors.Join(
			os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, text, 0o666),
			os.Chtimes(name, longAgo, longAgo), // commands wait for files that may still be written
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(x.bundle, filepath.Join(dir, "bundle")); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r, err := callOPM(workerCall{Args: args, Env: append(os.Environ(), "TMPDIR="+x.tmp), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	clean := func(text string) string { return logTime.ReplaceAllString(text, "") }
	return result{clean(r.stdout), clean(r.stderr), r.code}
}

// logTime matches times and durations in the log of a server.
var logTime = regexp.MustCompile(`(?m)^time=\S+| took=\S+`)

// fuzzedCatalogs returns the objects of the example catalog and, if they are there, of small random ones with
// dependencies of every kind and of a published package.
func fuzzedCatalogs(f *testing.F) [][]any {
	dirs := []string{"../../examples/catalog"}
	if _, err := os.Stat("../../../shared/data"); err == nil {
		dirs = append(dirs, "../../../shared/data/catalogs/v4.12/odf-node-recovery-operator")
		random, err := filepath.Glob("../../../shared/data/resolver/catalogs/*")
		if err != nil {
			f.Fatal(err)
		}
		dirs = append(dirs, random...)
	}
	tangled := f.TempDir()
	if err := os.WriteFile(filepath.Join(tangled, "catalog.yaml"), []byte(tangledCatalog), 0o666); err != nil {
		f.Fatal(err)
	}
	dirs = append(dirs, slices.Repeat([]string{tangled}, len(dirs))...)
	var catalogs [][]any
	for _, dir := range dirs {
		var objects []any
		decode := func(o *declcfg.Object) (object any, err error) { return object, json.Unmarshal(o.JSON(), &object) }
		for object, err := range declcfg.Map(f.Context(), decode, declcfg.Source{FS: os.DirFS(dir)}) {
			if err != nil {
				f.Fatal(err)
			}
			objects = append(objects, object)
		}
		catalogs = append(catalogs, objects)
	}
	return catalogs
}

// tangledCatalog has every kind of edge, constraint and deprecation in a few objects, so that a change often meets one.
const tangledCatalog = `
schema: olm.package
name: p
defaultChannel: stable
---
schema: olm.channel
package: p
name: stable
entries:
- name: p.v2
  replaces: p.v1
  skips: [p.v0]
  skipRange: ">=0.1.0 <2.0.0"
- name: p.v1
---
schema: olm.bundle
package: p
name: p.v1
image: example.com/p@sha256:` + digits + `
properties:
- {type: olm.package, value: {packageName: p, version: 1.0.0}}
- {type: olm.gvk, value: {group: x.io, version: v1, kind: P}}
---
schema: olm.bundle
package: p
name: p.v2
image: example.com/p@sha256:` + digits + `
properties:
- {type: olm.package, value: {packageName: p, version: 2.0.0}}
- type: olm.constraint
  value: {failureMessage: m, any: {constraints: [{gvk: {group: x.io, version: v1, kind: Q}}]}}
- type: olm.constraint
  value: {failureMessage: m, all: {constraints: [{package: {packageName: q, versionRange: ">=1.0.0"}}, {not: {constraints: [{cel: {rule: "false"}}]}}]}}
---
schema: olm.deprecations
package: p
entries:
- {reference: {schema: olm.bundle, name: p.v1}, message: old}
`

// somePackages returns the objects of up to three packages of a catalog, which may depend on others.
func somePackages(catalog []any, random *rand.Rand) []any {
	all := map[string]bool{}
	for _, o := range catalog {
		all[packageOf(o)] = true
	}
	names := slices.Sorted(maps.Keys(all))
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:min(len(names), 1+random.IntN(3))]
	var some []any
	for _, o := range catalog {
		if slices.Contains(names, packageOf(o)) {
			some = append(some, o)
		}
	}
	return some
}

func textOf(object any, key string) string {
	text, _ := object.(map[string]any)[key].(string)
	return text
}

func packageOf(object any) string { return cmp.Or(textOf(object, "package"), textOf(object, "name")) }

// namesIn returns a replacer of PACKAGE, CHANNEL and BUNDLE by names of objects.
func namesIn(objects []any, random *rand.Rand) *strings.Replacer {
	names := map[string]string{declcfg.SchemaPackage: "none", declcfg.SchemaChannel: "none", declcfg.SchemaBundle: "none"}
	for _, i := range random.Perm(len(objects)) {
		names[textOf(objects[i], "schema")] = textOf(objects[i], "name")
	}
	return strings.NewReplacer("PACKAGE", names[declcfg.SchemaPackage], "CHANNEL", names[declcfg.SchemaChannel],
		"BUNDLE", names[declcfg.SchemaBundle])
}

func encodeObjects(t *testing.T, objects []any) []byte {
	var text []byte
	for _, o := range objects {
		object, err := json.Marshal(o, json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, object...), '\n')
	}
	return text
}

// A fuzzedPlace is a value in an object, with functions to change it.
type fuzzedPlace struct {
	value any
	set   func(any)
	drop  func()
	again func() // adds the value a second time
}

// places appends a value and all values in it.
func places(all []fuzzedPlace, at fuzzedPlace) []fuzzedPlace {
	all = append(all, at)
	switch v := at.value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = places(all, fuzzedPlace{
				v[key], func(to any) { v[key] = to }, func() { delete(v, key) }, func() { v[strings.ToUpper(key)] = v[key] },
			})
		}
	case []any:
		for i := range v {
			all = places(all, fuzzedPlace{
				v[i], func(to any) { v[i] = to }, func() { at.set(slices.Delete(slices.Clone(v), i, i+1)) },
				func() { at.set(append(slices.Clone(v), v[i])) },
			})
		}
	}
	return all
}

// mutateObjects returns a copy of objects with up to three changes.
func mutateObjects(objects []any, random *rand.Rand) []any {
	for range 1 + random.IntN(3) {
		objects = clone(objects).([]any)
		root := fuzzedPlace{value: objects, set: func(to any) { objects = to.([]any) }}
		all := places(nil, root)[1:]
		if len(all) == 0 {
			return objects
		}
		containers := slices.DeleteFunc(slices.Clone(all), func(p fuzzedPlace) bool {
			switch p.value.(type) {
			case map[string]any, []any:
				return false
			}
			return true
		})
		if len(containers) > 0 && random.IntN(2) == 0 { // most values are not
			all = containers
		}
		at := all[random.IntN(len(all))]
		switch random.IntN(5) {
		case 0:
			at.drop()
		case 1:
			at.again()
		case 2:
			at.set(clone(all[random.IntN(len(all))].value))
		case 3:
			at.set(emptied(at.value))
		case 4:
			values := []any{nil, true, "", "x\x1b[2J\n::error::y", "1.0.0", 0.0, -1e300, []any{}, []any{nil}, map[string]any{}, map[string]any{"": nil}}
			at.set(values[random.IntN(len(values))])
		}
	}
	return objects
}

func emptied(v any) any {
	switch v.(type) {
	case map[string]any:
		return map[string]any{}
	case []any:
		return []any{}
	case string:
		return ""
	}
	return nil
}

// clone copies a value, so that a change at one place does not affect another place.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for key, value := range v {
			c[key] = clone(value)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = clone(v[i])
		}
		return c
	}
	return v
}
