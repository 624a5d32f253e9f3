package graph

import "testing"

func TestExplain(t *testing.T) {
	p := packageOf(t, `channel c
		v4 replaces v3 range >=2.0.0 <3.0.0
		v3 replaces v1 skips v2 ; v2 replaces v1 ; v1
		channel d
		v2 range >=1.0.0, <2.0.0
		bundle v0 0.1.0
		deprecated v4`)
	c := p.Channel("c")
	ofRefused := packageOf(t, "channel c ; v3 replaces v2 skips v1 ; v2 replaces v1 ; v1 ; prohibited v2 ; requires v3 olm.constraint")
	constraint, err := ParseConstraint("<3")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		explanation *Explanation
		want        string
	}{
		{p.ExplainClassic(c, p.Bundle("v1"), p.Bundle("v3")), `classic, in channel c: v1 is updated to v3 next
  yes  exists       v3 is in the catalog
  yes  in channel   the channel has an entry for it
  yes  edge         in channel c, v3 replaces v1
  yes  not skipped  no entry skips it
  yes  in chain     following replaces from the head leads to it
  yes  deprecation  it is not deprecated
  yes  preferred    of all bundles that may update v1 it is nearest the head
  updates reach v3: v1 -> v3 -> v4
`},
		{p.ExplainClassic(c, p.Bundle("v1"), p.Bundle("v2")), `classic, in channel c: v1 is not updated to v2 next
  yes  exists       v2 is in the catalog
  yes  in channel   the channel has an entry for it
  yes  edge         in channel c, v2 replaces v1
  no   not skipped  it is skipped by v3
  yes  deprecation  it is not deprecated
  updates never reach v2: v1 -> v3 -> v4
`},
		{p.ExplainClassic(c, p.Bundle("v2"), p.Bundle("v3")), `classic, in channel c: v2 is not updated to v3 next
  yes  exists       v3 is in the catalog
  yes  in channel   the channel has an entry for it
  yes  edge         in channel c, v3 skips v2
  yes  not skipped  no entry skips it
  yes  in chain     following replaces from the head leads to it
  yes  deprecation  it is not deprecated
  no   preferred    v4 is nearest the head, and has 2.0.0 in its skipRange ">=2.0.0 <3.0.0"
  updates never reach v3: v2 -> v4
`},
		{p.ExplainClassic(c, p.Bundle("v0"), p.Bundle("v4")), `classic, in channel c: v0 is not updated to v4 next
  yes  exists       v4 is in the catalog
  yes  in channel   the channel has an entry for it
  no   edge         in channel c, v4 neither replaces nor skips v0, and 0.1.0 is not in its skipRange ">=2.0.0 <3.0.0"
  yes  not skipped  no entry skips it
  yes  in chain     following replaces from the head leads to it
  yes  deprecation  it is deprecated: OLM Classic ignores it
  v0 stays
`},
		{p.ExplainV1(V1Options{}, p.Bundle("v2"), p.Bundle("v4")), `v1, in any channel: v2 is not updated to v4 next
  yes  exists       v4 is in the catalog
  yes  edge         in channel c, v4 has 2.0.0 in its skipRange ">=2.0.0 <3.0.0"
  yes  deprecation  it is deprecated: all other candidates are preferred
  no   preferred    v3 comes first, by its version and deprecated ones last, and skips v2
  updates never reach v4: v2 -> v3
`},
		{
			p.ExplainV1(V1Options{Channels: p.Channels[1:], Version: constraint}, p.Bundle("v1"), p.Bundle("v3")),
			`v1, in channel d: v1 is not updated to v3 next
  yes  exists       v3 is in the catalog
  no   in channel   the channel has no entry for it
  no   version      its version is not in "<3"
  no   edge         it is in no channel
  yes  deprecation  it is not deprecated
  OLM reports: error upgrading from currently installed version "1.0.0": no bundles found for package "p" matching version "<3" in channels [d]
`,
		},
		{
			p.ExplainV1(V1Options{Channels: p.Channels[1:]}, p.Bundle("v1"), p.Bundle("v2")),
			`v1, in channel d: v1 is not updated to v2 next
  yes  exists       v2 is in the catalog
  yes  in channel   the channel has an entry for it
  no   edge         in channel d, v2 neither replaces nor skips v1, and its skipRange ">=1.0.0, <2.0.0" is invalid
  yes  deprecation  it is not deprecated
  OLM reports: error upgrading from currently installed version "1.0.0": no bundles found for package "p" in channels [d]
`,
		},
		{p.ExplainV1(V1Options{SelfCertified: true}, p.Bundle("v3"), p.Bundle("v1")), `v1, in any channel: v3 is not updated to v1 next
  yes  exists       v1 is in the catalog
  yes  edge         edges do not matter
  yes  deprecation  it is not deprecated
  no   preferred    v3 comes first, by its version and deprecated ones last, and stays
  v3 stays
`},
		{ofRefused.ExplainV1(V1Options{}, ofRefused.Bundle("v1"), ofRefused.Bundle("v3")), `v1, in any channel: v1 is not updated to v3 next
  yes  exists        v3 is in the catalog
  yes  edge          in channel c, v3 skips v1
  yes  deprecation   it is not deprecated
  no   dependencies  OLM v1 refuses bundles with dependencies: it has the property olm.constraint
  OLM reports: validating bundle "v3": bundle "v3" has a dependency declared via property "olm.constraint" which is currently not supported
`},
		{ofRefused.ExplainClassic(nil, ofRefused.Bundle("v1"), ofRefused.Bundle("v2")), `classic, in any channel: v1 is not updated to v2 next
  yes  exists       v2 is in the catalog
  yes  in channel   the channel has an entry for it
  yes  edge         in channel c, v2 replaces v1
  yes  not skipped  no entry skips it
  yes  in chain     following replaces from the head leads to it
  no   deprecation  it has the property olm.deprecated, with which OLM Classic never installs it
  updates never reach v2: v1 -> v3
`},
	} {
		if got := tt.explanation.String(); got != tt.want {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}

// TestConstraints checks the examples of version ranges in the documentation of OLM v1.
func TestConstraints(t *testing.T) {
	p := packageOf(t, "channel c ; v0.0.3 ; v0.2.3 ; v1.11.0 ; v1.11.5 ; v1.12.0 ; v1.12.0-rc.1 ; v2.0.0 ; v2.3.1 ; v3.0.0")
	for text, want := range map[string]string{
		"1.11.x": "v1.11.5", "<=2.x": "v2.3.1", "*": "v3.0.0", "~1.11.0": "v1.11.5", "~1": "v1.12.0", "^0": "v0.2.3",
		"^0.0": "v0.0.3", "^1.11.x": "v1.12.0", ">=1, <1.12": "v1.11.5", "1.12.0-rc.1": "v1.12.0-rc.1", ">=9": "",
		"<1.12.0-0": "v1.11.5", ">=1.12.0-0 <1.12.0": "v1.12.0-rc.1",
	} {
		constraint, err := ParseConstraint(text)
		if err != nil {
			t.Fatal(err)
		}
		plan := p.V1(V1Options{Version: constraint, SelfCertified: true})
		got := ""
		for _, b := range p.Bundles {
			if s, ok := plan.Next(b); ok {
				got = s.To.Name
				break
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if _, err := ParseConstraint("one"); err == nil {
		t.Error(`"one" is taken for a range`)
	}
}
