package image

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	someDigest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	byDigest   = "q.io/o/a@" + someDigest
)

// loadMirrors loads a registries.conf and, if not empty, a file with Kubernetes objects.
func loadMirrors(t testing.TB, conf, objects string) (*Mirrors, error) {
	t.Helper()
	dir := t.TempDir()
	o := MirrorOptions{RegistriesConf: writeFile(t, filepath.Join(dir, "registries.conf"), conf)}
	if objects != "" {
		o.Files = []string{writeFile(t, filepath.Join(dir, "mirrors.yaml"), objects)}
	}
	return LoadMirrors(o)
}

// describe returns candidates in short form: + marks a mirror, ! an insecure one.
func describe(candidates []candidate) []string {
	var all []string
	for _, c := range candidates {
		s := strings.Replace(c.Ref.Name(), someDigest, "D", 1)
		if c.Mirror {
			s = "+" + s
		}
		if c.Insecure {
			s = "!" + s
		}
		all = append(all, s)
	}
	return all
}

func digestSet(entries string) string {
	return "apiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nspec:\n  imageDigestMirrors:\n" + entries
}

func tagSet(entries string) string {
	return "apiVersion: config.openshift.io/v1\nkind: ImageTagMirrorSet\nspec:\n  imageTagMirrors:\n" + entries
}

var candidateTests = []struct {
	name, conf, objects string
	ref                 string
	want                []string // nil: blocked
}{
	{"none", "", "", "q.io/o/a:1", []string{"q.io/o/a:1"}},
	{"docker hub", "", "", "docker.io/library/a:1", []string{"index.docker.io/library/a:1"}},
	{"conf", `
[[registry]]
location = "q.io/o"
[[registry.mirror]]
location = "m1.io/x"
insecure = true
[[registry.mirror]]
location = "m2.io"`, "", "q.io/o/a:1", []string{"!+m1.io/x/a:1", "+m2.io/a:1", "q.io/o/a:1"}},
	{"conf of docker hub", `
[[registry]]
prefix = "docker.io/library"
location = "docker.io/library"
[[registry.mirror]]
location = "m.io/hub"`, "", "docker.io/library/a:1", []string{"+m.io/hub/a:1", "index.docker.io/library/a:1"}},
	{"rewritten", `
[[registry]]
prefix = "old.io/o"
location = "new.io/p"
insecure = true`, "", "old.io/o/a:1", []string{"!new.io/p/a:1"}},
	{"digest only, by tag", `
[[registry]]
location = "q.io"
mirror-by-digest-only = true
[[registry.mirror]]
location = "m.io"`, "", "q.io/o/a:1", []string{"q.io/o/a:1"}},
	{"digest only, by digest", `
[[registry]]
location = "q.io"
mirror-by-digest-only = true
[[registry.mirror]]
location = "m.io"`, "", byDigest, []string{"+m.io/o/a@D", "q.io/o/a@D"}},
	{"pull-from-mirror", `
[[registry]]
location = "q.io"
[[registry.mirror]]
location = "tags.io"
pull-from-mirror = "tag-only"
[[registry.mirror]]
location = "digests.io"
pull-from-mirror = "digest-only"`, "", "q.io/o/a:1", []string{"+tags.io/o/a:1", "q.io/o/a:1"}},
	{"blocked", `
[[registry]]
location = "q.io"
blocked = true`, "", "q.io/o/a:1", nil},
	{"blocked with a mirror", `
[[registry]]
location = "q.io"
blocked = true
[[registry.mirror]]
location = "m.io"`, "", "q.io/o/a:1", []string{"+m.io/o/a:1"}},
	{"blocked mirror", `
[[registry]]
location = "q.io"
[[registry.mirror]]
location = "m.io"
[[registry]]
location = "m.io"
blocked = true`, "", "q.io/o/a:1", []string{"q.io/o/a:1"}},
	{"wildcard", `
[[registry]]
prefix = "*.q.io"
[[registry.mirror]]
location = "m.io"`, "", "x.q.io/o/a:1", []string{"+m.io/o/a:1", "x.q.io/o/a:1"}},
	{"digest set by digest", "", digestSet("  - source: q.io/o\n    mirrors: [m.io/x, n.io]\n"), byDigest,
		[]string{"+m.io/x/a@D", "+n.io/a@D", "q.io/o/a@D"}},
	{"digest set by tag", "", digestSet("  - {source: q.io/o, mirrors: [m.io/x]}\n"), "q.io/o/a:1",
		[]string{"q.io/o/a:1"}},
	{"tag set by tag", "", tagSet("  - source: q.io/o\n    mirrors: [m.io/x]\n"), "q.io/o/a:1",
		[]string{"+m.io/x/a:1", "q.io/o/a:1"}},
	{"tag set by digest", "", tagSet("  - source: q.io/o\n    mirrors: [m.io/x]\n"), byDigest,
		[]string{"q.io/o/a@D"}},
	{"content source policy", "", "apiVersion: operator.openshift.io/v1alpha1\nkind: ImageContentSourcePolicy\n" +
		"metadata: {name: x}\nspec:\n  repositoryDigestMirrors:\n  - source: q.io\n    mirrors: [m.io]\n",
		byDigest, []string{"+m.io/o/a@D", "q.io/o/a@D"}},
	{"both kinds", "", digestSet("  - {source: q.io, mirrors: [d.io]}\n") + "---\n" +
		tagSet("  - {source: q.io, mirrors: [t.io]}\n"), "q.io/o/a:1", []string{"+t.io/o/a:1", "q.io/o/a:1"}},
	{"list", "", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: config.openshift.io/v1\n  kind: ImageTagMirrorSet\n" +
		"  spec: {imageTagMirrors: [{source: q.io, mirrors: [m.io]}]}\n", "q.io/o/a:1",
		[]string{"+m.io/o/a:1", "q.io/o/a:1"}},
	{"never", "", digestSet("  - {source: q.io, mirrors: [m.io], mirrorSourcePolicy: NeverContactSource}\n"),
		byDigest, []string{"+m.io/o/a@D"}},
	{"never, by tag", "", digestSet("  - {source: q.io, mirrors: [m.io], mirrorSourcePolicy: NeverContactSource}\n"),
		"q.io/o/a:1", nil},
	{"allow", "", digestSet("  - {source: q.io, mirrors: [m.io], mirrorSourcePolicy: AllowContactingSource}\n"),
		byDigest, []string{"+m.io/o/a@D", "q.io/o/a@D"}},
	{"most specific", "", tagSet("  - {source: q.io, mirrors: [m.io]}\n  - {source: q.io/o, mirrors: [n.io]}\n"),
		"q.io/o/a:1", []string{"+n.io/a:1", "q.io/o/a:1"}},
	{"source is no prefix of a word", "", tagSet("  - {source: q.io/o, mirrors: [m.io]}\n"), "q.io/org/a:1",
		[]string{"q.io/org/a:1"}},
	{"source without the port", "", tagSet("  - {source: q.io, mirrors: [m.io]}\n"), "q.io:5000/o/a:1",
		[]string{"q.io:5000/o/a:1"}},
	{"repository", "", tagSet("  - {source: q.io/o/a, mirrors: [m.io/b]}\n"), "q.io/o/a:1",
		[]string{"+m.io/b:1", "q.io/o/a:1"}},
	{"wildcard source", "", tagSet("  - {source: '*.q.io', mirrors: [m.io]}\n"), "x.y.q.io/o/a:1",
		[]string{"+m.io/o/a:1", "x.y.q.io/o/a:1"}},
	{"wildcard is not its domain", "", tagSet("  - {source: '*.q.io', mirrors: [m.io]}\n"), "q.io/o/a:1",
		[]string{"q.io/o/a:1"}},
	{"host before wildcard", "",
		tagSet("  - {source: '*.q.io', mirrors: [m.io]}\n  - {source: a.q.io, mirrors: [n.io]}\n"),
		"a.q.io/o/a:1", []string{"+n.io/o/a:1", "a.q.io/o/a:1"}},
	{"merged", "",
		tagSet("  - {source: q.io, mirrors: [c.io, d.io]}\n  - {source: q.io, mirrors: [a.io, c.io]}\n"), "q.io/o/a:1",
		[]string{"+a.io/o/a:1", "+c.io/o/a:1", "+d.io/o/a:1", "q.io/o/a:1"}},
	{"objects before conf", "[[registry]]\nlocation = \"q.io\"\n[[registry.mirror]]\nlocation = \"c.io\"\n" +
		"[[registry]]\nlocation = \"m.io\"\ninsecure = true",
		tagSet("  - {source: q.io, mirrors: [m.io, c.io]}\n"), "q.io/o/a:1",
		[]string{"!+m.io/o/a:1", "+c.io/o/a:1", "q.io/o/a:1"}},
}

func TestCandidates(t *testing.T) {
	for _, test := range candidateTests {
		t.Run(test.name, func(t *testing.T) {
			m, err := loadMirrors(t, test.conf, test.objects)
			if err != nil {
				t.Fatal(err)
			}
			candidates, err := m.candidates(mustReference(t, test.ref))
			if (test.want == nil) != errors.Is(err, ErrBlocked) {
				t.Fatalf("got error %v", err)
			}
			if got := describe(candidates); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestNoMirrors(t *testing.T) {
	var m *Mirrors
	ref := mustReference(t, "q.io/o/a:1")
	got, err := m.candidates(ref)
	if err != nil || len(got) != 1 || got[0] != (candidate{Ref: ref}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestInsecureCandidates(t *testing.T) {
	o := MirrorOptions{RegistriesConf: writeFile(t, filepath.Join(t.TempDir(), "r.conf"), ""), Insecure: true}
	m, err := LoadMirrors(o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.candidates(mustReference(t, "q.io/o/a:1"))
	if err != nil || !got[0].Insecure || got[0].Ref.Context().Scheme() != "http" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestBlockedErrorHasPolicyPosition(t *testing.T) {
	m, err := loadMirrors(t, "", digestSet("  - source: q.io\n    mirrorSourcePolicy: NeverContactSource\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.candidates(mustReference(t, "q.io/o/a:1"))
	if err == nil || !strings.Contains(err.Error(), "mirrors.yaml:5: NeverContactSource for q.io") {
		t.Errorf("got %v", err)
	}
}

func TestMirrorErrors(t *testing.T) {
	for _, test := range []struct{ name, conf, objects, want string }{
		{"format 1", "[registries.search]\nregistries = ['q.io']", "", "must be in v2 format but is in v1"},
		{"not TOML", "[[registry]\n", "", "registries.conf"},
		{"not YAML", "", "a: b\n---\nkind: [\n", "mirrors.yaml:4:1: "},
		{"other kind", "", "# mine\nkind: CatalogSource\napiVersion: v1\n",
			`mirrors.yaml:2:1: "CatalogSource" of "v1" has no mirrors`},
		{"other version", "", strings.Replace(digestSet(""), "/v1", "/v2", 1), "mirrors.yaml:1:1: "},
		{"field of spec", "", strings.Replace(digestSet(""), "imageDigest", "imageTag", 1),
			"mirrors.yaml:4:3: unknown field spec.imageTagMirrors"},
		{"field of entry", "", digestSet("  - source: q.io\n    mirror: m.io\n"),
			`mirrors.yaml:6:5: spec.imageDigestMirrors[0]: unknown key "mirror" (did you mean "mirrors"?)`},
		{"no list", "", digestSet("    a: b\n"), "mirrors.yaml:5:5: spec.imageDigestMirrors: want a list, found an object"},
		{"no source", "", digestSet("  - mirrors: [m.io]\n"),
			"mirrors.yaml:5:5: an entry of imageDigestMirrors without source"},
		{"scheme", "", digestSet("  - source: https://q.io\n"), "mirrors.yaml:5:13: "},
		{"tag", "", digestSet("  - source: q.io/o/a:1\n"), "mirrors.yaml:5:13: "},
		{"wildcard with path", "", digestSet("  - source: '*.q.io/o'\n"), "mirrors.yaml:5:13: "},
		{"wildcard mirror", "", digestSet("  - source: q.io\n    mirrors: ['*.m.io']\n"), "mirrors.yaml:6:15: "},
		{"policy", "", digestSet("  - source: q.io\n    mirrorSourcePolicy: Maybe\n"),
			`mirrors.yaml:6:25: mirrorSourcePolicy "Maybe"`},
		{"policy of the old kind", "", "kind: ImageContentSourcePolicy\napiVersion: operator.openshift.io/v1alpha1\n" +
			"spec: {repositoryDigestMirrors: [{source: q.io, mirrorSourcePolicy: NeverContactSource}]}",
			`mirrors.yaml:3:49: unknown field "mirrorSourcePolicy"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := loadMirrors(t, test.conf, test.objects)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestAllMirrorErrors(t *testing.T) {
	_, err := loadMirrors(t, "", digestSet("  - source: a b\n  - source: q.io\n    x: y\n"))
	if err == nil || strings.Count(err.Error(), "mirrors.yaml:") != 2 {
		t.Errorf("got %v, want two errors", err)
	}
}

// TestMirrorObjects checks that objects have the effect of files, after those, and that their errors have their names.
func TestMirrorObjects(t *testing.T) {
	first := digestSet("  - source: q.io/o\n    mirrors: [first.example/o]\n")
	object := MirrorObject{
		Name: "ImageDigestMirrorSet second", Text: []byte(digestSet("  - source: q.io/o\n    mirrors: [second.example/o]\n")),
	}
	dir := t.TempDir()
	m, err := LoadMirrors(MirrorOptions{
		RegistriesConf: writeFile(t, filepath.Join(dir, "registries.conf"), ""),
		Files:          []string{writeFile(t, filepath.Join(dir, "mirrors.yaml"), first)}, Objects: []MirrorObject{object},
	})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := parseReference(byDigest, false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.candidates(ref)
	want := []string{"+first.example/o/a@D", "+second.example/o/a@D", "q.io/o/a@D"}
	if !slices.Equal(describe(got), want) || err != nil {
		t.Errorf("got %q, %v, want %q", describe(got), err, want)
	}
}

// TestInvalidMirrorObjects checks that unknown keys of objects are ignored, and that an invalid object, whose error has
// no line, does not affect the others.
func TestInvalidMirrorObjects(t *testing.T) {
	good := digestSet("  - {source: q.io/o, mirrors: [second.example/o], new: 1, mirrorSourcePolicy: NeverContactSource}\n" +
		"  more: [true]\nmore: {}\n")
	conf := writeFile(t, filepath.Join(t.TempDir(), "registries.conf"), "")
	o := MirrorOptions{RegistriesConf: conf, Objects: []MirrorObject{
		{Name: "ImageDigestMirrorSet a", Text: []byte(digestSet("  - source: 'q.io/o:v1'\n"))},
		{Name: "ImageDigestMirrorSet b", Text: []byte(digestSet("    x: y\n"))},
		{Name: "ImageDigestMirrorSet c", Text: []byte(good)},
	}}
	want := "ImageDigestMirrorSet a: \"q.io/o:v1\" is not a registry or repository, such as quay.io or quay.io/org/app\n" +
		"ImageDigestMirrorSet b: spec.imageDigestMirrors: want a list, found an object"
	if _, err := LoadMirrors(o); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	var errs []error
	o.Invalid = func(err error) { errs = append(errs, err) }
	m, err := LoadMirrors(o)
	if err != nil || errors.Join(errs...).Error() != want {
		t.Fatalf("got %v, %v, want %s", err, errs, want)
	}
	got, err := m.candidates(mustReference(t, byDigest))
	if want := []string{"+second.example/o/a@D"}; !slices.Equal(describe(got), want) || err != nil {
		t.Errorf("got %q, %v, want %q", describe(got), err, want)
	}
	_, err = m.candidates(mustReference(t, "q.io/o/a:1"))
	if err == nil || !strings.Contains(err.Error(), " ImageDigestMirrorSet c: NeverContactSource") {
		t.Errorf("got error %v", err)
	}
}

func TestMergeOrders(t *testing.T) {
	for _, test := range []struct {
		lists [][]string
		want  string
	}{
		{nil, "[]"},
		{[][]string{{"a", "b", "c"}, {"c", "d", "e"}}, "[a b c d e]"},
		{[][]string{{"c", "d", "e"}, {"a", "b", "c"}}, "[a b c d e]"},
		{[][]string{{"a", "b"}, {"b", "a"}}, "[a b]"},
		{[][]string{{"a"}, {"b"}, {"a"}}, "[a b]"},
		{[][]string{{"a", "b", "a"}}, "[a b]"},
	} {
		if got := fmt.Sprint(mergeOrders(test.lists)); got != test.want {
			t.Errorf("%v: got %s, want %s", test.lists, got, test.want)
		}
	}
}

func FuzzMirrorObjects(f *testing.F) {
	for _, test := range candidateTests {
		f.Add([]byte(test.objects))
	}
	f.Add([]byte("kind: List\nitems: &x [*x, {kind: List, items: *x}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sets := &mirrorSets{}
		_ = sets.parse("f", data)
		m := &Mirrors{sets: sets.registries(), blockers: sets.blockers}
		for _, ref := range []string{"q.io/o/a:1", "x.q.io/o/a@" + someDigest} {
			_, err := m.candidates(mustReference(t, ref))
			if err != nil && !errors.Is(err, ErrBlocked) {
				t.Errorf("accepted, but %v", err)
			}
		}
	})
}

func BenchmarkCandidates(b *testing.B) {
	m, err := loadMirrors(b, "[[registry]]\nlocation = \"q.io\"\n[[registry.mirror]]\nlocation = \"c.io\"",
		digestSet("  - {source: q.io/o, mirrors: [m.io]}\n"))
	if err != nil {
		b.Fatal(err)
	}
	ref := mustReference(b, byDigest)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.candidates(ref); err != nil {
			b.Fatal(err)
		}
	}
}
