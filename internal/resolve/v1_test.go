package resolve

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/opm-toolchain/opm/internal/testing/graphtest"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// catalogOf returns a catalog with the package p in the notation of graphtest. A name such as "hi 10" has a priority.
func catalogOf(t testing.TB, name, lines string) *Catalog {
	t.Helper()
	c := &Catalog{Name: name, Index: &declcfg.Index{}}
	_, _ = fmt.Sscanf(name, "%s %d", &c.Name, &c.Priority)
	x := graphtest.Package(t, "p", lines)
	for _, o := range x.Channels {
		c.Index.Add(&declcfg.Meta{Schema: declcfg.SchemaChannel, Package: "p", Name: o.Value.Name}, o.Value)
	}
	for _, o := range x.Bundles {
		o.Value.Image = "registry.example/" + o.Value.Name
		c.Index.Add(&declcfg.Meta{Schema: declcfg.SchemaBundle, Package: "p", Name: o.Value.Name}, o.Value)
	}
	for _, o := range x.Deprecations {
		c.Index.Add(&declcfg.Meta{Schema: declcfg.SchemaDeprecations, Package: "p"}, o.Value)
	}
	return c
}

// at returns an installed bundle of package p: v1.2.0 has the version 1.2.0.
func at(name string) *InstalledBundle {
	version, release, _ := strings.Cut(strings.TrimPrefix(name, "v"), "~")
	return &InstalledBundle{Name: name, Version: version, Release: release}
}

// answerOf formats an answer as "catalog/bundle by edge in channels", or as its error.
func answerOf(a *V1Result) string {
	switch a.Outcome {
	case Failed:
		return a.Message
	case Kept:
		return "keeps what is installed: " + a.Message
	}
	by := ""
	if a.Choice.By != "" {
		by = " by " + string(a.Choice.By)
	}
	return fmt.Sprintf("%s/%s%s in %s", a.Choice.Catalog, a.Choice.Bundle, by, a.Choice.Channels)
}

const chain = "channel c ; v3.0.0 replaces v2.0.0 skips v1.0.0 ; v2.0.0 replaces v1.1.0 ; v1.1.0 replaces v1.0.0 ; v1.0.0"

// TestV1 checks the choice of OLM v1 among catalogs and bundles.
func TestV1(t *testing.T) {
	for _, tt := range []struct {
		name     string
		e        V1Request
		catalogs []string // "NAME PRIORITY: lines of graphtest"
		want     string
	}{
		{"the highest version", V1Request{}, []string{"x:" + chain}, "x/v3.0.0 in [c]"},
		{
			"a skipped bundle, and one in no channel, can be installed", V1Request{},
			[]string{"x: channel c ; v2.0.0 skips v3.0.0 ; v3.0.0 ; bundle v4.0.0"}, "x/v4.0.0 in []",
		},
		{
			"but not where channels are given", V1Request{Channels: []string{"c"}},
			[]string{"x: channel c ; v2.0.0 skips v3.0.0 ; v3.0.0 ; bundle v4.0.0"}, "x/v3.0.0 in [c]",
		},
		{"a range", V1Request{Version: "<3"}, []string{"x:" + chain}, "x/v2.0.0 in [c]"},
		{
			"without a range, pre-releases win", V1Request{},
			[]string{"x: channel c ; v2.0.0-rc.1 replaces v1.0.0 ; v1.0.0"}, "x/v2.0.0-rc.1 in [c]",
		},
		{
			"a range excludes them", V1Request{Version: ">=1.0.0"},
			[]string{"x: channel c ; v2.0.0-rc.1 replaces v1.0.0 ; v1.0.0"}, "x/v1.0.0 in [c]",
		},
		{
			"unless it names one", V1Request{Version: ">=1.0.0-0"},
			[]string{"x: channel c ; v2.0.0-rc.1 replaces v1.0.0 ; v1.0.0"}, "x/v2.0.0-rc.1 in [c]",
		},
		{
			"no version sorts last", V1Request{},
			[]string{"x: channel c ; a skips v1.0.0 ; v1.0.0 ; bundle a none"}, "x/v1.0.0 in [c]",
		},
		{
			"and cannot be installed", V1Request{},
			[]string{"x: channel c ; a ; bundle a none"},
			`error getting resolved bundle version for bundle "a": no package property found in bundle "a"`,
		},
		{
			"a bundle that is deprecated comes last", V1Request{},
			[]string{"x:" + chain + " ; deprecated v3.0.0"}, "x/v2.0.0 in [c]",
		},
		{"if there is another", V1Request{Version: "3.0.0"}, []string{"x:" + chain + " ; deprecated v3.0.0"}, "x/v3.0.0 in [c]"},
		{
			"a channel that is deprecated does not", V1Request{},
			[]string{"x:" + chain + " ; deprecated channel c"}, "x/v3.0.0 in [c]",
		},

		{"an update", V1Request{Installed: at("v1.1.0")}, []string{"x:" + chain}, "x/v2.0.0 by replaces in [c]"},
		{"a skip", V1Request{Installed: at("v1.0.0")}, []string{"x:" + chain}, "x/v3.0.0 by skips in [c]"},
		{
			"a skipRange", V1Request{Installed: at("v1.5.0")},
			[]string{"x: channel c ; v3.0.0 range >=1.0.0 <3.0.0 ; v2.0.0 replaces v1.5.0"}, "x/v3.0.0 by skipRange in [c]",
		},
		{
			"a skipRange is not read as a version range", V1Request{Installed: at("v1.5.0")},
			[]string{"x: channel c ; v3.0.0 range ^1.0.0 ; v1.5.0"}, "x/v1.5.0 by same version in [c]",
		},
		{
			"a skipRange contains pre-releases", V1Request{Installed: at("v1.5.0-rc1")},
			[]string{"x: channel c ; v2.0.0 range >=1.0.0 <2.0.0"}, "x/v2.0.0 by skipRange in [c]",
		},
		{"no update", V1Request{Installed: at("v3.0.0")}, []string{"x:" + chain}, "x/v3.0.0 by same version in [c]"},
		{
			"the name does not matter for the same version", V1Request{Installed: &InstalledBundle{Name: "q", Version: "3.0.0"}},
			[]string{"x:" + chain}, "x/v3.0.0 by same version in [c]",
		},
		{
			"the catalog has another version under the name", V1Request{Installed: &InstalledBundle{Name: "v1.1.0", Version: "9.0.0"}},
			[]string{"x:" + chain}, "x/v2.0.0 by replaces in [c]",
		},
		{
			"one edge at a time", V1Request{Installed: at("v1.1.0"), Version: "3.0.0"}, []string{"x:" + chain},
			`error upgrading from currently installed version "1.1.0": no bundles found for package "p" matching version "3.0.0"`,
		},
		{
			"edges of other channels do not count", V1Request{Installed: at("v1.0.0"), Channels: []string{"d"}},
			[]string{"x: channel c ; v2.0.0 replaces v1.0.0 ; v1.0.0 ; channel d ; v2.0.0 ; v1.0.0"},
			"x/v1.0.0 by same version in [d]",
		},
		{
			"an edge may cross to another major version", V1Request{Installed: at("v2.0.0")}, []string{"x:" + chain},
			"x/v3.0.0 by replaces in [c]",
		},
		{
			"the installed bundle is deprecated", V1Request{Installed: at("v2.0.0")},
			[]string{"x:" + chain + " ; deprecated v2.0.0"}, "x/v3.0.0 by replaces in [c]",
		},
		{
			"the update is deprecated", V1Request{Installed: at("v2.0.0")},
			[]string{"x:" + chain + " ; deprecated v3.0.0"}, "x/v2.0.0 by same version in [c]",
		},
		{
			"the catalog dropped the version", V1Request{Installed: at("v0.1.0")}, []string{"x:" + chain},
			`error upgrading from currently installed version "0.1.0": no bundles found for package "p"`,
		},
		{
			"SelfCertified needs no edge", V1Request{Installed: at("v0.1.0"), SelfCertified: true}, []string{"x:" + chain},
			"x/v3.0.0 by forced in [c]",
		},
		{
			"SelfCertified downgrades", V1Request{Installed: at("v3.0.0"), SelfCertified: true, Version: "<2"},
			[]string{"x:" + chain}, "x/v1.1.0 by forced in [c]",
		},

		// Versions and releases.
		{
			"build metadata is a release", V1Request{Version: "1.0.0"},
			[]string{"x: channel c ; a ; b ; d ; bundle a 1.0.0+9 ; bundle b 1.0.0+10 ; bundle d 1.0.0"}, "x/b in [c]",
		},
		{
			"a range does not pin it", V1Request{Version: "1.0.0+9"},
			[]string{"x: channel c ; a ; b ; bundle a 1.0.0+9 ; bundle b 1.0.0+10"}, "x/b in [c]",
		},
		{
			"the release is not an update", V1Request{Installed: &InstalledBundle{Name: "a", Version: "1.0.0+9"}},
			[]string{"x: channel c ; a ; b ; bundle a 1.0.0+9 ; bundle b 1.0.0+10"}, "x/a by same version in [c]",
		},
		{
			"the same release in its own field", V1Request{Installed: &InstalledBundle{Name: "z", Version: "1.0.0", Release: "9"}},
			[]string{"x: channel c ; a ; b ; bundle a 1.0.0+9 ; bundle b 1.0.0+10"}, "x/a by same version in [c]",
		},
		{
			"build metadata that is not a release does not count", V1Request{Installed: &InstalledBundle{Name: "z", Version: "1.0.0"}},
			[]string{"x: channel c ; a ; bundle a 1.0.0+0123456789.0123456789.a"}, "x/a by same version in [c]",
		},
		{
			"a release does not count, and the first in the catalog is installed", V1Request{},
			[]string{"x: channel c ; b ; a ; bundle b 1.0.0~1 ; bundle a 1.0.0~2"}, "x/b in [c]",
		},
		{
			"with the gate, it counts", V1Request{Releases: true},
			[]string{"x: channel c ; b ; a ; bundle b 1.0.0~1 ; bundle a 1.0.0~2"}, "x/a in [c]",
		},
		{
			"a release is the same version", V1Request{Installed: &InstalledBundle{Name: "z", Version: "1.0.0"}},
			[]string{"x: channel c ; a ; bundle a 1.0.0~2"}, "x/a by same version in [c]",
		},
		{
			"with the gate, it is another", V1Request{Installed: &InstalledBundle{Name: "z", Version: "1.0.0"}, Releases: true},
			[]string{"x: channel c ; a ; bundle a 1.0.0~2"},
			`error upgrading from currently installed version "1.0.0": no bundles found for package "p"`,
		},
		{
			"a release hides no build metadata", V1Request{},
			[]string{"x: channel c ; a ; b ; bundle a 1.0.0+1~9 ; bundle b 1.0.0+2~8"}, "x/b in [c]",
		},
		{
			"with the gate, it does", V1Request{Releases: true},
			[]string{"x: channel c ; b ; a ; bundle a 1.0.0+1~9 ; bundle b 1.0.0+2~8"}, "x/a in [c]",
		},

		// Catalogs.
		{"the higher priority, not the higher version", V1Request{}, []string{
			"lo: channel c ; v9.0.0", "hi 10: channel c ; v1.0.0", "mid 5: channel c ; v5.0.0",
		}, "hi/v1.0.0 in [c]"},
		{"a priority may be negative", V1Request{}, []string{"lo -5: channel c ; v9.0.0", "x: channel c ; v1.0.0"}, "x/v1.0.0 in [c]"},
		{"deprecation beats priority", V1Request{}, []string{
			"hi 10: channel c ; v3.0.0 ; deprecated v3.0.0", "lo: channel c ; v2.0.0",
		}, "lo/v2.0.0 in [c]"},
		{"all deprecated: priority", V1Request{}, []string{
			"hi 10: channel c ; v3.0.0 ; deprecated v3.0.0", "lo: channel c ; v2.0.0 ; deprecated v2.0.0",
		}, "hi/v3.0.0 in [c]"},
		{"a tie", V1Request{}, []string{"y: channel c ; v2.0.0", "x: channel c ; v1.0.0"},
			`found bundles for package "p" in multiple catalogs with the same priority [x y]`},
		{"a tie names lower priorities too", V1Request{Installed: at("v1.0.0"), Version: ">=1", Channels: []string{"c", "d"}}, []string{
			"y 2: channel c ; v1.0.0", "x 2: channel c ; v1.0.0", "a 1: channel c ; v1.0.0",
		}, `error upgrading from currently installed version "1.0.0": found bundles for package "p" matching version ">=1" ` +
			`in channels [c d] in multiple catalogs with the same priority [a x y]`},
		{"a tie of what is deprecated does not matter", V1Request{}, []string{
			"x 2: channel c ; v2.0.0 ; deprecated v2.0.0", "y 2: channel c ; v2.0.0 ; deprecated v2.0.0", "z: channel c ; v1.0.0",
		}, "z/v1.0.0 in [c]"},
		{"a catalog without a candidate does not count", V1Request{Version: "2.x"}, []string{
			"hi 10: channel c ; v1.0.0", "lo: channel c ; v2.0.0",
		}, "lo/v2.0.0 in [c]"},

		// Messages.
		{"no package", V1Request{}, []string{}, `no bundles found for package "p"`},
		{"no version", V1Request{Version: "9.x"}, []string{"x:" + chain}, `no bundles found for package "p" matching version "9.x"`},
		{
			"no channel", V1Request{Channels: []string{"z", "a"}}, []string{"x:" + chain},
			`no bundles found for package "p" in channels [z a]`,
		},
		{
			"no version in the channel", V1Request{Version: "9.x", Channels: []string{"c"}}, []string{"x:" + chain},
			`no bundles found for package "p" matching version "9.x" in channels [c]`,
		},
		{
			"an update in no channel", V1Request{Installed: at("v1.0.0"), Channels: []string{"d"}}, []string{"x:" + chain},
			`error upgrading from currently installed version "1.0.0": no bundles found for package "p" in channels [d]`,
		},
		{
			"no version that updates", V1Request{Installed: at("v1.0.0"), Version: "9", Channels: []string{"c"}}, []string{"x:" + chain},
			`error upgrading from currently installed version "1.0.0": no bundles found for package "p" matching version "9" ` +
				`in channels [c]`,
		},
		{
			"a bad range", V1Request{Version: "one"}, []string{"x:" + chain},
			`desired version range "one" is invalid: improper constraint: "one"`,
		},
		{
			"a bad installed version", V1Request{Installed: &InstalledBundle{Name: "a", Version: "1"}}, []string{"x:" + chain},
			`error walking catalogs: error finding upgrade edges: failed to get version and release of installed bundle: ` +
				`No Major.Minor.Patch elements found`,
		},

		// Dependencies are rejected after the choice.
		{
			"olm.gvk.required", V1Request{}, []string{"x:" + chain + " ; requires v3.0.0 olm.gvk.required"},
			`validating bundle "v3.0.0": bundle "v3.0.0" has a dependency declared via property "olm.gvk.required" ` +
				`which is currently not supported`,
		},
		{
			"olm.constraint of what stays", V1Request{Installed: at("v3.0.0")},
			[]string{"x:" + chain + " ; requires v3.0.0 olm.constraint"},
			`validating bundle "v3.0.0": bundle "v3.0.0" has a dependency declared via property "olm.constraint" ` +
				`which is currently not supported`,
		},
		{
			"of a bundle that is not chosen", V1Request{Version: "<3"}, []string{"x:" + chain + " ; requires v3.0.0 olm.gvk.required"},
			"x/v2.0.0 in [c]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var catalogs []*Catalog
			for _, text := range tt.catalogs {
				name, lines, _ := strings.Cut(text, ":")
				catalogs = append(catalogs, catalogOf(t, name, lines))
			}
			tt.e.Package = "p"
			if tt.want == "" {
				t.Fatal("nothing is wanted")
			}
			if got := answerOf(tt.e.Resolve(catalogs)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestV1Selector checks that catalogs are selected by their labels, including the name label.
func TestV1Selector(t *testing.T) {
	a, b := catalogOf(t, "a", "channel c ; v1.0.0"), catalogOf(t, "b", "channel c ; v2.0.0")
	a.Labels = map[string]string{"tier": "gold"}
	catalogs := []*Catalog{a, b}
	labels := func(labels map[string]string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: labels}
	}
	operator := func(op metav1.LabelSelectorOperator) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: op}}}
	}
	const both = `found bundles for package "p" in multiple catalogs with the same priority [a b]`
	for _, tt := range []struct {
		selector *metav1.LabelSelector
		want     string
	}{
		{nil, both},
		{labels(nil), both},
		{labels(map[string]string{"tier": "gold"}), "a/v1.0.0 in [c]"},
		{labels(map[string]string{nameLabel: "b"}), "b/v2.0.0 in [c]"},
		{labels(map[string]string{nameLabel: "z"}), `no bundles found for package "p"`},
		{operator(metav1.LabelSelectorOpDoesNotExist), "b/v2.0.0 in [c]"},
		{operator("Near"), `desired catalog selector is invalid: "Near" is not a valid label selector operator`},
	} {
		e := V1Request{Package: "p", Selector: tt.selector}
		if got := answerOf(e.Resolve(catalogs)); got != tt.want {
			t.Errorf("%v: got %s, want %s", tt.selector, got, tt.want)
		}
	}
	b.Unavailable = true
	if got, want := answerOf((&V1Request{Package: "p"}).Resolve(catalogs)), "a/v1.0.0 in [c]"; got != want {
		t.Errorf("with b unavailable: got %s, want %s", got, want)
	}
	a.Failure = errors.New(`catalog "a" is not being served`)
	const notServed = `error walking catalogs: error getting package "p" from catalog "a": catalog "a" is not being served`
	if got := answerOf((&V1Request{Package: "p"}).Resolve(catalogs)); got != notServed {
		t.Errorf("with a not served: got %s, want %s", got, notServed)
	}
}
