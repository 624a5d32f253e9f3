package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/opm-toolchain/opm/internal/testing/shared"
)

// textCommands are command lines with text output, in addition to the command lines of FuzzCommands.
var textCommands = []string{
	"bundle validate bundle", "bundle validate bundle -o github", "bundle validate bundle -o markdown",
	"catalogsource resolve-image state.yaml --target kubernetes=1.33.2", "check-updates c -o markdown", "check-updates c -o github",
	"default-channel c CHANNEL --package PACKAGE --dry-run", "fmt c --diff",
	"list bundles c -o wide", "list channels c -o wide", "list packages c -o wide", "list packages c -o name",
	"render bundle", "render-graph c --draw-v0-semantics", "render-template c -o mermaid", "render-template c --preview",
	"resolve c --package PACKAGE -o dot",
	"diagnose state.yaml --catalog crafts=c -o markdown",
	"simulate state.yaml --catalog crafts=c -o markdown", "simulate state.yaml --catalog crafts=c -o prometheus",
	"permissions state.yaml --check-operatorgroup group.yaml", "permissions state.yaml --check-operatorgroup group.yaml -o markdown",
	"permissions --catalog crafts=c -o markdown",
	"updates c --all --simulate", "updates c --package PACKAGE --explain BUNDLE PACKAGE.v9",
	"validate c --info", "validate c -o markdown",
}

// commandsOfKeys are the commands for text under one key: each reads something that the others do not.
var commandsOfKeys = []string{
	"bundle validate bundle", "check-updates c", "diff old c", "list packages c", "render bundle", "resolve c --all",
	"resolve --state state.yaml --catalog crafts=c", "simulate state.yaml --catalog crafts=c", "validate c -o github",
}

// checkedKeys are the keys whose values many commands need.
var checkedKeys = []string{
	"schema", "type", "version", "apiVersion", "kind", "skipRange", "minKubeVersion", "base64data", "mediatype",
	"supported", "sourceType", "strategy", "state", "status", "installPlanApproval", "versionRange", "rule",
}

// freeKeys are keys whose values may be any text, and freeName matches names that may be any text in a catalog.
var freeKeys = []string{"displayName", "description", "message", "categories", "keywords", "capabilities", "maturity"}

var freeName = regexp.MustCompile(`^(stable|candidate|legacy|(kiln|p)\.v[0-9].*)$`)

// hostile steers terminals, reorders text, and breaks the line before commands of continuous integration.
const hostile = "x\r\n::error::y\x1b]0;t\a\u009b31m\u202e\u2066\u2028##[error]\u0085::stop-commands::z"

// TestHostileText checks that no text in a catalog, in a bundle or in the objects of a cluster controls the terminal or
// file that a command writes to: first names in a catalog that stays valid, then the values of all keys at once, except
// all keys that commands need, and then of every key alone.
func TestHostileText(t *testing.T) {
	examples, err := filepath.Abs("../../examples") // since commands are run elsewhere
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	valid := readHostile(t, examples, func(key, value string) bool {
		keys[key] = true
		return slices.Contains(freeKeys, key) || freeName.MatchString(value)
	})
	invalid := readHostile(t, examples, func(key, _ string) bool { return !slices.Contains(checkedKeys, key) })
	for _, line := range slices.Concat(fuzzedCommands, textCommands) {
		valid.test(t, "names", line)
		invalid.test(t, "values", line)
	}
	if got := valid.run(t, "validate c"); got.code != 0 {
		t.Errorf("the catalog is not valid: %s", got.stderr)
	}
	for _, key := range shared.Sample(slices.Sorted(maps.Keys(keys)), 2) {
		x := readHostile(t, examples, func(k, _ string) bool { return k == key })
		for _, line := range commandsOfKeys {
			x.test(t, key, line)
		}
	}
}

// A hostileRun is the input of the commands.
type hostileRun struct {
	fuzzedRun
	names *strings.Replacer // of PACKAGE, CHANNEL and BUNDLE
}

// readHostile makes the text of some keys in the examples hostile.
func readHostile(t *testing.T, examples string, isHostile func(key, value string) bool) *hostileRun {
	t.Helper()
	read := func(names ...string) (objects []any) {
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(examples, name))
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, documents(t, text)...)
		}
		return objects
	}
	spoil := func(objects []any) []any { return spoiled(objects, "", isHostile).([]any) }
	catalog := append(documents(t, []byte(tangledCatalog)), read("catalog/kiln/package.yaml", "catalog/kiln/channels.yaml",
		"catalog/kiln/bundles.yaml", "catalog/kiln/deprecations.yaml")...)
	x := &hostileRun{}
	x.tmp = t.TempDir()
	x.old, x.catalog = encodeObjects(t, catalog[1:]), encodeObjects(t, spoil(catalog))
	x.state = encodeDocuments(t, spoil(read("pottery.yaml", "cluster.yaml")))
	x.group = encodeDocuments(t, spoil(read("operatorgroup.yaml")))
	x.bundle = t.TempDir()
	for _, name := range []string{
		"manifests/firings.crd.yaml", "manifests/kiln.clusterserviceversion.yaml", "metadata/annotations.yaml",
		"metadata/dependencies.yaml",
	} {
		file := filepath.Join(x.bundle, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777),
			os.WriteFile(file, encodeDocuments(t, spoil(read("bundle/"+name))), 0o666))
		if err != nil {
			t.Fatal(err)
		}
	}
	name := func(name string) string { return spoiled(name, "name", isHostile).(string) }
	x.names = strings.NewReplacer("PACKAGE", name("kiln"), "CHANNEL", name("stable"), "BUNDLE", name("kiln.v1.1.0"))
	return x
}

// documents decodes the documents of a YAML file.
func documents(t *testing.T, text []byte) (all []any) {
	t.Helper()
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var object any
		if err := yaml.Unmarshal(document, &object); err != nil {
			t.Fatal(err)
		}
		if object != nil {
			all = append(all, object)
		}
	}
	return all
}

func encodeDocuments(t *testing.T, objects []any) []byte {
	t.Helper()
	text := strings.ReplaceAll(string(encodeObjects(t, objects)), "\n", "\n---\n")
	return []byte(strings.NewReplacer("\u009b", `\u009b`, "\u0085", `\u0085`, "\u2028", `\u2028`).Replace(text))
}

// spoiled returns a value with hostile text after all texts of some keys.
func spoiled(v any, key string, isHostile func(key, value string) bool) any {
	switch v := v.(type) {
	case string:
		if isHostile(key, v) {
			return v + hostile
		}
	case []any:
		for i := range v {
			v[i] = spoiled(v[i], key, isHostile)
		}
	case map[string]any:
		for k := range v {
			v[k] = spoiled(v[k], k, isHostile)
		}
	}
	return v
}

// isData matches command lines whose output is data. Diffs are for patch.
var isData = regexp.MustCompile(`-o (json|yaml|html|svg|sarif)|^filter |^(render|render-template|convert-template .*|` +
	`bundle manifests|generate manifests) [^-]*$|^fmt .*--diff|--dry-run$`)

// test runs a command line, and checks everything that it prints as text.
func (x *hostileRun) test(t *testing.T, key, line string) {
	t.Helper()
	args := strings.Fields(line)
	for i := range args {
		args[i] = x.names.Replace(args[i])
	}
	got := x.runArgs(t, args)
	if strings.Contains(got.stderr, "\nusage: ") && slices.Contains(textCommands, line) {
		t.Errorf("opm %s: %s", line, got.stderr)
	}
	text := got.stderr
	if !isData.MatchString(line) {
		text += got.stdout
	}
	for line := range strings.Lines(text) {
		line = ours.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		if hasEscaped(line) {
			t.Errorf("opm %q with hostile %s: %q", args, key, line)
			return
		}
	}
}

// ours matches the commands of a GitHub workflow that are meant to be printed: nothing after them is another one.
var ours = regexp.MustCompile(`^::(error|warning|notice) file=.*`)

// hasEscaped reports whether a line of text has forbidden characters, or begins with a part of hostile text that
// follows a line break there.
func hasEscaped(line string) bool {
	begin := strings.TrimSpace(line)
	return strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl) }) ||
		strings.HasPrefix(begin, `\x3a`) || strings.Contains(line, "##[") || strings.HasPrefix(begin, "::")
}
