package store_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/opm-toolchain/opm/internal/serve/store"
	"github.com/opm-toolchain/opm/internal/testing/shared"
	"github.com/opm-toolchain/opm/pkg/api"
)

// dumps have every response of upstream's registry, printed by ../shared/tools/regdump.
const dumps = "../../../../shared/conformance/registry"

// TestDumps compares every response of a store with the response of upstream's registry.
func TestDumps(t *testing.T) {
	shared.OneGoroutine(t)
	for _, dir := range shared.Sample(shared.Glob(t, "data/catalogs/*"), 1) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want := readDump(t, filepath.Base(dir))
			d := dumper{t: t, store: publishedStore(t, dir)}
			d.run()
			compareDumps(t, d.lines, want)
		})
	}
}

func compareDumps(t *testing.T, got, want []string) {
	t.Helper()
	wrong := 0
	for i := range max(len(got), len(want)) {
		g, w := at(got, i), at(want, i)
		if g == w {
			continue
		}
		if wrong++; wrong <= 3 {
			t.Errorf("line %d is\n%.3000s\nwant\n%.3000s", i+1, g, w)
		}
	}
	if wrong > 0 || len(want) < 100 {
		t.Errorf("%d of %d lines differ", wrong, len(want))
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func readDump(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join(dumps, name+".jsonl.gz"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	s := bufio.NewScanner(z)
	s.Buffer(nil, 64<<20)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return lines
}

// A dumper makes the requests of regdump to a store, and prints the responses in the same form.
type dumper struct {
	t     *testing.T
	store *store.Store
	lines []string
}

// request is a request in JSON.
type request map[string]any

// answer is a message in JSON.
type answer map[string]any

func (a answer) str(key string) string {
	s, _ := a[key].(string)
	return s
}

func (d *dumper) run() {
	for _, name := range d.ask("ListPackages", request{}, d.packageNames(), nil) {
		pkg, err := d.store.Package(name.str("name"))
		d.ask("GetPackage", request{"name": name.str("name")}, d.decode(&api.Package{}, pkg, err), err)
	}
	listed, err := d.stream(&api.Bundle{}, d.store.Bundles())
	bundles := d.ask("ListBundles", request{}, listed, err)
	slices.SortFunc(bundles, func(a, b answer) int { return cmp.Compare(bundleKey(a), bundleKey(b)) })
	d.askBundles(bundles)
	d.askKinds(bundles)
	d.askUnknown()
}

func bundleKey(b answer) string {
	return b.str("packageName") + "/" + b.str("channelName") + "/" + b.str("csvName")
}

func (d *dumper) packageNames() []answer {
	var all []answer
	for _, name := range d.store.PackageNames() {
		all = append(all, answer{"name": name})
	}
	return all
}

func (d *dumper) askBundles(bundles []answer) {
	channels, replaced := map[string]bool{}, map[string]map[string][]string{}
	for _, b := range bundles {
		pkg, channel, name := b.str("packageName"), b.str("channelName"), b.str("csvName")
		at := pkg + "/" + channel
		req := request{"pkgName": pkg, "channelName": channel, "csvName": name}
		answers, err := d.bundle(pkg, channel, name)
		d.ask("GetBundle", req, answers, err)
		if !channels[at] {
			channels[at] = true
			d.askHead(pkg, channel)
		}
		if replaced[name] == nil {
			replaced[name] = map[string][]string{}
			answers, err := d.stream(&api.ChannelEntry{}, d.store.EntriesThatReplace(name))
			for _, e := range d.ask("GetChannelEntriesThatReplace", request{"csvName": name}, answers, err) {
				at := e.str("packageName") + "/" + e.str("channelName")
				replaced[name][at] = append(replaced[name][at], e.str("bundleName"))
			}
		}
		d.askReplacement(req, replaced[name][at])
	}
}

func (d *dumper) askHead(pkg, channel string) {
	head, err := d.store.ChannelHead(pkg, channel)
	var answers []answer
	if err == nil {
		answers, err = d.bundle(pkg, channel, head)
	}
	d.ask("GetBundleForChannel", request{"pkgName": pkg, "channelName": channel}, answers, err)
}

func (d *dumper) askReplacement(req request, among []string) {
	pkg, channel, name := req["pkgName"].(string), req["channelName"].(string), req["csvName"].(string)
	replacement, err := d.store.Replacement(name, pkg, channel)
	if len(among) > 1 {
		d.note(map[string]any{
			"method": "GetBundleThatReplaces", "request": req, "code": code(err),
			"oneOf": slices.Contains(among, replacement),
		})
		return
	}
	var answers []answer
	if err == nil {
		answers, err = d.bundle(pkg, channel, replacement)
	}
	d.ask("GetBundleThatReplaces", req, answers, err)
}

func (d *dumper) askKinds(bundles []answer) {
	type gvk struct{ group, version, kind string }
	kinds := map[gvk]bool{}
	for _, b := range bundles {
		list, _ := b["providedApis"].([]any)
		for _, k := range list {
			if k, ok := k.(map[string]any); ok {
				kinds[gvk{answer(k).str("group"), answer(k).str("version"), answer(k).str("kind")}] = true
			}
		}
	}
	var sorted []gvk
	for k := range kinds {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(a, b gvk) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	for _, k := range sorted {
		req := request{"group": k.group, "version": k.version, "kind": k.kind}
		answers, err := d.stream(&api.ChannelEntry{}, d.store.EntriesThatProvide(k.group, k.version, k.kind, false))
		d.ask("GetChannelEntriesThatProvide", req, answers, err)
		answers, err = d.stream(&api.ChannelEntry{}, d.store.EntriesThatProvide(k.group, k.version, k.kind, true))
		d.ask("GetLatestChannelEntriesThatProvide", req, answers, err)
		pkg, channel, name, err := d.store.DefaultProvider(k.group, k.version, k.kind)
		answers = nil
		if err == nil {
			answers, err = d.bundle(pkg, channel, name)
		}
		d.ask("GetDefaultBundleThatProvides", req, answers, err)
	}
}

func (d *dumper) askUnknown() {
	_, err := d.store.Package("no-such-package")
	d.ask("GetPackage", request{"name": "no-such-package"}, nil, err)
	_, err = d.bundle("no-such-package", "x", "y")
	d.ask("GetBundle", request{"pkgName": "no-such-package", "channelName": "x", "csvName": "y"}, nil, err)
	_, err = d.stream(&api.ChannelEntry{}, d.store.EntriesThatReplace("no-such-bundle"))
	d.ask("GetChannelEntriesThatReplace", request{"csvName": "no-such-bundle"}, nil, err)
	_, err = d.stream(&api.ChannelEntry{}, d.store.EntriesThatProvide("no", "v1", "Such", false))
	d.ask("GetChannelEntriesThatProvide", request{"group": "no", "version": "v1", "kind": "Such"}, nil, err)
}

func (d *dumper) bundle(pkg, channel, name string) ([]answer, error) {
	data, err := d.store.BundleMessage(pkg, channel, name)
	return d.decode(&api.Bundle{}, data, err), err
}

// stream decodes the messages of an iterator.
func (d *dumper) stream(m proto.Message, all iter.Seq2[[]byte, error]) ([]answer, error) {
	var answers []answer
	for data, err := range all {
		if err != nil {
			return answers, err
		}
		answers = append(answers, d.decode(m, data, nil)...)
	}
	return answers, nil
}

// decode decodes a message with the generated code of the protocol.
func (d *dumper) decode(m proto.Message, data []byte, err error) []answer {
	d.t.Helper()
	if err != nil {
		return nil
	}
	if err := proto.Unmarshal(data, m); err != nil {
		d.t.Fatal(err)
	}
	if len(m.ProtoReflect().GetUnknown()) > 0 {
		d.t.Errorf("unknown fields in %v", m)
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		d.t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		d.t.Fatal(err)
	}
	return []answer{a}
}

func code(err error) string {
	switch {
	case err == nil:
		return "OK"
	case errors.Is(err, store.ErrNotFound):
		return "NotFound"
	default:
		return err.Error()
	}
}

func (d *dumper) ask(method string, req request, answers []answer, err error) []answer {
	lines := make([]json.RawMessage, 0, len(answers))
	for _, a := range answers {
		lines = append(lines, canonical(a))
	}
	slices.SortFunc(lines, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	d.note(map[string]any{"method": method, "request": req, "code": code(err), "answers": lines})
	return answers
}

func (d *dumper) note(row map[string]any) {
	text, err := json.Marshal(row)
	if err != nil {
		d.t.Fatal(err)
	}
	d.lines = append(d.lines, strings.TrimSpace(string(text)))
}

// canonical prints a message with each body replaced by a hash of its value, and with sorted lists.
func canonical(a answer) json.RawMessage {
	if csv, ok := a["csvJson"].(string); ok {
		a["csvJson"] = hash(csv)
	}
	objects, _ := a["object"].([]any)
	for i, o := range objects {
		objects[i] = hash(o.(string))
	}
	for _, key := range []string{"providedApis", "requiredApis", "properties", "dependencies", "channels"} {
		list, _ := a[key].([]any)
		slices.SortFunc(list, func(x, y any) int {
			a, _ := json.Marshal(x)
			b, _ := json.Marshal(y)
			return bytes.Compare(a, b)
		})
	}
	text, _ := json.Marshal(a)
	return text
}

// hashes caches the results of hash, since every bundle is in many responses.
var hashes sync.Map

func hash(text string) string {
	if h, ok := hashes.Load(text); ok {
		return h.(string)
	}
	h := hashOf(text)
	hashes.Store(text, h)
	return h
}

func hashOf(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		sorted, _ := json.Marshal(v)
		text = string(sorted)
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}
