package resolve

import (
	"slices"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
	"github.com/opm-toolchain/opm/pkg/graph"
)

// TestVersionRanges checks the meaning of a range in OLM v1, and whether a cluster accepts it.
func TestVersionRanges(t *testing.T) {
	for _, tt := range []struct {
		text      string
		in, out   string // versions; "" and "" if the library rejects the range
		forbidden bool   // the cluster rejects it
	}{
		{"1.12.0", "1.12.0 1.12.0+1", "1.12.1 1.12.0-rc1", false},
		{"=1.12.0", "1.12.0 1.12.0+2", "1.12.1", false},
		{"1.12", "1.12.0 1.12.9", "1.11.9 1.13.0 1.12.1-rc1", false},
		{"1.12.x", "1.12.0 1.12.9", "1.11.9 1.13.0", false},
		{"1.12.*", "1.12.0 1.12.9", "1.11.9 1.13.0", false},
		{"1", "1.0.0 1.99.0", "0.9.0 2.0.0", false},
		{"1.x", "1.0.0 1.99.0", "0.9.0 2.0.0", false},
		{"1.*", "1.0.0 1.99.0", "0.9.0 2.0.0", false},
		{"*", "0.0.0 99.0.0", "1.0.0-rc1", false},
		{"x", "0.0.0 99.0.0", "1.0.0-rc1", false},
		{">1.12", "1.13.0", "1.12.0 1.12.9", false},
		{">1", "2.0.0", "1.0.0 1.99.0", false},
		{"<=1.12", "1.12.9", "1.13.0", false},
		{"<=1.x", "1.99.0", "2.0.0", false},
		{"<1.12", "1.11.99", "1.12.0", false},
		{">=1.12.x", "1.12.0 2.0.0", "1.11.9", false},
		{"~1.11.0", "1.11.0 1.11.9", "1.10.0 1.12.0", false},
		{"~1.11", "1.11.0 1.11.9", "1.10.0 1.12.0", false},
		{"~1", "1.0.0 1.99.0", "2.0.0", false},
		{"~>1.11", "1.11.9", "1.12.0", false},
		{"~0.0.0", "0.0.0 0.1.0 7.0.0", "", false},
		{"^1.2.3", "1.2.3 1.99.0", "1.2.2 2.0.0", false},
		{"^1.2.x", "1.2.0 1.99.0", "1.1.9 2.0.0", false},
		{"^0.2.3", "0.2.3 0.2.9", "0.2.2 0.3.0", false},
		{"^0.0.3", "0.0.3", "0.0.2 0.0.4", false},
		{"^0.0", "0.0.0 0.0.9", "0.1.0", false},
		{"^0", "0.0.0 0.9.0", "1.0.0", false},
		{"!=1.x", "0.9.0 2.0.0", "1.0.0 1.9.0", false},
		{">=1.0.0 <2.0.0", "1.0.0 1.9.0", "2.0.0 1.5.0-rc1 2.0.0-rc1", false},
		{">=1, <2", "1.0.0 1.9.0", "2.0.0", false},
		{"<1.0.0 || >=2.0.0", "0.9.0 2.0.0", "1.0.0", false},
		{">=1.0.0-0", "1.0.0 1.5.0-rc1", "0.9.0", false},
		{"1.0 - 2.0", "1.0.0 2.0.0", "0.9.0", true},
		{"1.0.0 - 2.0.0", "1.0.0 2.0.0", "0.9.0 2.0.1", true},
		{"1.2.*", "1.2.0", "1.3.0", false},
		{"x.*", "1.2.0", "", false},
		{"1.x.3", "1.2.0", "2.0.0", false},
		{"=> 1", "1.0.0", "0.9.0", false},
		{"|.1", "", "", false},
		{"| ", "", "", false},
		{"1.*.*", "1.0.0", "2.0.0", true},
		{">=1.0.0 1.2.*", "1.2.0", "1.3.0", true},
		{"1.0.0 || *", "2.0.0", "", true},
		{"1.0.0 || x", "2.0.0", "", false},
		{"1.0.0 || 1.2.x", "1.2.5", "1.3.0", false},
		{"1.0.0 || 1.2.*", "1.2.5", "1.3.0", true},
		{"1.0.0 || 1.*", "1.2.5", "2.0.0", false},
		{"==1.2", "", "", true},
		{"1.2.3.4", "", "", true},
		{">=1 && <2", "", "", true},
		{">=1; <2", "", "", true},
		{"01.2.3", "1.2.3", "1.2.4", true},
		{strings.Repeat("1 || ", 12) + "1.10", "1.10.0", "2.0.0", false},
		{strings.Repeat("1 || ", 12) + "1.100", "1.100.0", "2.0.0", true},
	} {
		e := V1Request{Package: "p", Version: tt.text}
		if errs := e.Admit(); (len(errs) > 0) != tt.forbidden {
			t.Errorf("%q is refused: %v, want that: %t", tt.text, errs, tt.forbidden)
		}
		c, err := graph.ParseConstraint(tt.text)
		if (err != nil) != (tt.in+tt.out == "") {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		for v := range strings.FieldsSeq(tt.in + " " + tt.out) {
			version, err := declcfg.ParseVersion(v, "")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := c.Contains(version.Semver), slices.Contains(strings.Fields(tt.in), v); got != want {
				t.Errorf("%q contains %s: %t, want %t", tt.text, v, got, want)
			}
		}
	}
}

// TestAdmit checks that each error of a cluster is at its field.
func TestAdmit(t *testing.T) {
	long := strings.Repeat("a", 254)
	for _, tt := range []struct {
		e    V1Request
		want string
	}{
		{V1Request{Package: "a.b-c", Version: "1.x", Channels: []string{"stable-4.12", "a"}}, ""},
		{V1Request{Package: "A"}, `spec.source.catalog.packageName: Invalid value: "A": want lower-case letters`},
		{V1Request{Package: long}, `": 254 characters, want at most 253`},
		{V1Request{}, `spec.source.catalog.packageName: Invalid value: "": want`},
		{
			V1Request{Package: "p", Version: "1.0 - 2.0"},
			`spec.source.catalog.version: Invalid value: "1.0 - 2.0": invalid version expression`,
		},
		{
			V1Request{Package: "p", Version: strings.Repeat(" ", 64) + "1"},
			"spec.source.catalog.version: Too long: may not be more than 64",
		},
		{V1Request{Package: "p", Channels: []string{"a", "b_c"}}, `spec.source.catalog.channels[1]: Invalid value: "b_c": want`},
		{
			V1Request{Package: "p", Channels: slices.Repeat([]string{"a"}, 257)},
			`spec.source.catalog.channels: Too many: 257: must have at most 256 items`,
		},
	} {
		errs := tt.e.Admit()
		switch {
		case tt.want == "" && len(errs) > 0, tt.want != "" && len(errs) != 1:
			t.Errorf("%.50v: got %v, want %q", tt.e, errs, tt.want)
		case tt.want != "" && !strings.Contains(errs[0].Error(), tt.want):
			t.Errorf("got %v, want %s", errs[0], tt.want)
		}
	}
}
