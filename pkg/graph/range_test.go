package graph

import (
	"slices"
	"strings"
	"testing"

	"github.com/blang/semver/v4"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// rangeTexts are valid ranges in every notation of blang/semver, and invalid ones.
var rangeTexts = []string{
	">=1.0.0 <1.2.0", ">= 1.0.0  < 1.2.0", "<1.2.0 >=1.0.0", "1.1.0", "=1.1.0", "==1.1.0", "!1.1.0", "!=1.1.0", "! 1.1.0",
	">1.0.0 <2.0.0 !1.1.0 || >3.0.0", "<1.0.0 || >=2.0.0", "<1.0.0||>=2.0.0", ">1.0.0 <1.0.0", "1.0.0 1.0.0",
	"1.x", "1.2.x", "1.x.x", ">1.2.x", ">=1.2.x", "<1.2.x", "<=1.2.x", "!=1.2.x", "!1.x", ">1.x", "<=1.x", "~1.2.x",
	">=1.0.0-xyz", ">1.0.0-xyz", "1.0.0-rc.1", ">=1.0.0-0 <1.0.0", ">=1.0.0+build <=1.1.0+other", "<2.0.0-rc.1",
	"", " ", "||", ">1.0.0 ||", "|| <1.0.0", ">1.0.0 || || <0.5.0", "1", "1.0", "v1.0.0", ">=v1.0.0", "^1.0.0", "~1.0.0",
	">=1.0.0, <2.0.0", "x", "1.x.0", "99999999999999999999.x", ">=1.0.0 <=1.2.0 x", "1.0.0 - 2.0.0",
}

var versionTexts = []string{
	"0.0.0", "0.5.0", "1.0.0-0", "1.0.0-rc.1", "1.0.0-xyz", "1.0.0-xyzz", "1.0.0", "1.0.0+b", "1.0.1", "1.1.0-rc.1",
	"1.1.0", "1.2.0-rc.1", "1.2.0", "1.2.7", "1.3.0", "2.0.0-rc.1", "2.0.0", "3.0.0", "3.0.1", "99999.0.0",
}

func testVersions(t testing.TB) []semver.Version {
	t.Helper()
	var all []semver.Version
	for _, text := range versionTexts {
		all = append(all, semver.MustParse(text))
	}
	slices.SortFunc(all, semver.Version.Compare)
	return all
}

func TestRange(t *testing.T) {
	versions := testVersions(t)
	for _, text := range rangeTexts {
		sameAsBlang(t, text, versions)
	}
	r, err := ParseRange(">=1.0.0 <1.2.0 !1.1.0 || 3.x")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, j := range r.Indexes(len(versions), func(i int) *declcfg.Version { return &declcfg.Version{Semver: versions[i]} }) {
		got = append(got, versions[i].String()+".."+versions[j-1].String())
	}
	want := []string{"1.0.0..1.1.0-rc.1", "1.2.0-rc.1..1.2.0-rc.1", "3.0.0..3.0.1"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// sameAsBlang checks that Contains agrees with blang/semver for every version.
func sameAsBlang(t *testing.T, text string, versions []semver.Version) {
	t.Helper()
	theirs, wantErr := semver.ParseRange(text)
	ours, err := ParseRange(text)
	if err == errNoAlternative && wantErr == nil {
		return // blang/semver panics
	}
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Errorf("ParseRange(%q): error %v, want %v", text, err, wantErr)
	}
	if err != nil || wantErr != nil {
		return
	}
	inside := map[string]bool{}
	for i, j := range ours.Indexes(len(versions), func(i int) *declcfg.Version { return &declcfg.Version{Semver: versions[i]} }) {
		for _, v := range versions[i:j] {
			inside[v.String()] = true
		}
	}
	for _, v := range versions {
		if got, want := ours.Contains(v), theirs(v); got != want || inside[v.String()] != want {
			t.Errorf("%q contains %s: %t, and %t by intervals, want %t", text, v, got, inside[v.String()], want)
		}
	}
}

func FuzzRange(f *testing.F) {
	for _, text := range rangeTexts {
		f.Add(text, strings.Join(versionTexts, " "))
	}
	f.Fuzz(func(t *testing.T, text, versions string) {
		var all []semver.Version
		// Results change at the versions that occur in the range.
		for word := range strings.FieldsFuncSeq(versions+" "+text, func(r rune) bool { return strings.ContainsRune(" <>=!|", r) }) {
			if v, err := semver.Parse(word); err == nil {
				all = append(all, v)
			}
		}
		slices.SortFunc(all, semver.Version.Compare)
		sameAsBlang(t, text, all)
	})
}
