package validate_test

import (
	"maps"
	"regexp"
	"strconv"
	"testing"

	"github.com/opm-toolchain/opm/internal/memo"
	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/problem"
	"github.com/opm-toolchain/opm/pkg/validate"
)

// TestSeveral checks which directories are reported to hold several catalogs.
func TestSeveral(t *testing.T) {
	under := func(dirs ...string) map[string]string {
		files := map[string]string{}
		for _, dir := range dirs {
			for name, text := range valid {
				files[dir+"/"+name] = text
			}
		}
		return files
	}
	run := func(files map[string]string) *validate.Report {
		source := declcfg.Source{Name: "catalogs", FS: mapFS(files)}
		report, err := validate.Catalog(t.Context(), validate.Options{ErrorsOnly: true}, source)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	report := run(under("v1", "v2", "v3", "v4"))
	const want = `catalogs/v2/oak/package.yaml:4:7: error: invalid package "oak": name: duplicate package "oak": ` +
		`it is already defined at catalogs/v1/oak/package.yaml:3:1; catalogs/ looks like 4 catalogs (v1 to v4); ` +
		`check them one by one with --each catalogs/, or remove one of the definitions [duplicate-package]`
	if got := problem.Lines(report.Problems); got != want {
		t.Errorf("four catalogs:\n%s\nwant:\n%s", got, want)
	}
	if held := report.Withheld(); !held.HasAll(report.Index) {
		t.Errorf("of four catalogs only %q are withheld", held.Names())
	}
	const ash = "{schema: olm.package, name: ash, defaultChannel: a}"
	for _, other := range []string{"v3/ash.yaml", "ash.yaml"} {
		files := under("v1", "v2")
		files[other] = ash
		if n := len(run(files).Problems); n < 3 {
			t.Errorf("with %s: %d problems, want one for each duplicate", other, n)
		}
	}
}

// TestMemo checks that catalogs that share files have the same problems whether they are validated with a memo or
// alone, also if their options differ.
func TestMemo(t *testing.T) {
	changed := maps.Clone(broken(t))
	changed["new.yaml"] = "{schema: olm.package, name: ash, defaultChannel: a}"
	names := func(pattern string) validate.Policy {
		return validate.Policy{ChannelNames: &validate.Pattern{Regexp: regexp.MustCompile(pattern)}}
	}
	ctx := new(memo.Memo).With(t.Context())
	for i, tt := range []struct {
		files map[string]string
		opts  validate.Options
	}{
		{broken(t), validate.Options{Target: parseTarget(t, "ocp=4.18")}},
		{changed, validate.Options{Target: parseTarget(t, "ocp=4.19")}},
		{broken(t), validate.Options{Target: parseTarget(t, "ocp=4.20")}},
		{broken(t), validate.Options{}},
		{broken(t), validate.Options{ErrorsOnly: true}},
		{broken(t), validate.Options{Levels: problem.Disabled("bundle-image", "icon-data")}},
		{broken(t), validate.Options{Policy: names("^never$")}},
		{broken(t), validate.Options{Policy: names(".")}},
		{broken(t), validate.Options{Policy: validate.Policy{Registries: []string{"registry.example/none"}}}},
		{broken(t), validate.Options{Policy: validate.Policy{LargestSkip: &validate.Skip{Minor: 1}}}},
	} {
		source, opts := declcfg.Source{Name: "v" + strconv.Itoa(i), FS: mapFS(tt.files)}, tt.opts
		want, err := validate.Catalog(t.Context(), opts, source)
		if err != nil {
			t.Fatal(err)
		}
		got, err := validate.Catalog(ctx, opts, source)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := problem.Lines(got.Problems), problem.Lines(want.Problems); got != want {
			t.Errorf("with a memo:\n%s\nalone:\n%s", got, want)
		}
	}
}
