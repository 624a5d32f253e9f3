package declcfg

import (
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for _, test := range []struct{ version, release, str, name string }{
		{"1.0.0", "", "1.0.0", "p-v1.0.0"},
		{"1.0.0", "1", "1.0.0-1", "p-v1.0.0-1"},
		{"1.0.0", "2.rc-1", "1.0.0-2.rc-1", "p-v1.0.0-2.rc-1"},
		{"1.1.0-alpha", "abcdefghijklmnopqrst", "1.1.0-alpha-abcdefghijklmnopqrst", "p-v1.1.0-alpha-abcdefghijklmnopqrst"},
		{"1.0.0+5", "0", "1.0.0+5-0", "p-v1.0.0+5-0"},
		{"1.0.0", "-", "1.0.0--", "p-v1.0.0--"},
		{"1.0.0", "0a.00-", "1.0.0-0a.00-", "p-v1.0.0-0a.00-"},
	} {
		v, err := ParseVersion(test.version, test.release)
		if err != nil || v.String() != test.str || v.CanonicalName("p") != test.name {
			t.Errorf("%s %s: got %s, %s, %v, want %s, %s",
				test.version, test.release, v, v.CanonicalName("p"), err, test.str, test.name)
		}
	}
}

func TestParseVersionErrors(t *testing.T) {
	for _, test := range []struct{ version, release, want string }{
		{"v1.0.0", "", `version "v1.0.0" is not a semantic version: want "1.0.0"`},
		{"1.0", "", `version "1.0" is not a semantic version: want "1.0.0"`},
		{"01.0.0", "", `version "01.0.0" is not a semantic version: want "1.0.0"`},
		{"banana", "", `version "banana" is not a semantic version: `},
		{"", "", `version "" is not a semantic version: `},
		{"1.0.0", "01", `release "01": Numeric PreRelease version must not contain leading zeroes "01"`},
		{"1.0.0", "a.00", `release "a.00": Numeric PreRelease version must not contain leading zeroes "00"`},
		{"1.0.0", "1..2", `release "1..2": Prerelease is empty`},
		{"1.0.0", ".", `release ".": Prerelease is empty`},
		{"1.0.0", "a_b", `release "a_b": Invalid character(s) found in prerelease "a_b"`},
		{"1.0.0", "é", `release "é": Invalid character(s) found in prerelease "é"`},
		{"1.0.0", "1+2", `release "1+2": invalid character '+'`},
		{"1.0.0", "1+", `release "1+": `},
		{"1.0.0", "+1", `release "+1": `},
		{"1.0.0", "abcdefghijklmnopqrstu",
			`release "abcdefghijklmnopqrstu" is 21 bytes long: at most 20 are allowed`},
		{"1.0.0", "99999999999999999999", `release "99999999999999999999": `},
	} {
		_, err := ParseVersion(test.version, test.release)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q %q: got %v, want %s", test.version, test.release, err, test.want)
		}
	}
}

func TestVersionCompare(t *testing.T) {
	ascending := []struct{ version, release string }{
		{"1.0.0-rc1", ""}, {"1.0.0-rc1", "9"}, {"1.0.0", ""}, {"1.0.0", "0"}, {"1.0.0", "0.0"}, {"1.0.0", "2"},
		{"1.0.0", "10"}, {"1.0.0", "10.a"}, {"1.0.0", "A"}, {"1.0.0", "a"}, {"1.0.1", ""},
	}
	for i, a := range ascending {
		for j, b := range ascending {
			v, errV := ParseVersion(a.version, a.release)
			w, errW := ParseVersion(b.version, b.release)
			if errV != nil || errW != nil {
				t.Fatal(errV, errW)
			}
			if got, want := v.Compare(w), min(1, max(-1, i-j)); got != want {
				t.Errorf("%s and %s: got %d, want %d", v, w, got, want)
			}
		}
	}
	v, _ := ParseVersion("1.0.0+1", "")
	if w, _ := ParseVersion("1.0.0+2", ""); v.Compare(w) != 0 {
		t.Error("build metadata counts")
	}
}

func FuzzParseRelease(f *testing.F) {
	for _, s := range []string{"", "1", "01", "a.b-c", "..", "99999999999999999999", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := ParseRelease(s); err == nil && r.String() != s {
			t.Errorf("%q became %q", s, r)
		}
	})
}
