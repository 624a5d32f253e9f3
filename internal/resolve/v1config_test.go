package resolve

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// withMetadata returns a catalog with a bundle that has the given olm.csv.metadata; "" for none.
func withMetadata(t *testing.T, metadata string) *Catalog {
	t.Helper()
	if metadata != "" {
		metadata = `, {"type": "olm.csv.metadata", "value": ` + metadata + `}`
	}
	text := `{"schema": "olm.package", "name": "p", "defaultChannel": "c"}
		{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "p.v1"}]}
		{"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "e/p@v1", "properties": [
			{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}}` + metadata + `]}`
	c, err := ReadCatalog(t.Context(), declcfg.Source{FS: fstest.MapFS{"c.json": {Data: []byte(text)}}})
	if err != nil {
		t.Fatal(err)
	}
	c.Name = "x"
	return c
}

// supporting returns metadata with install modes.
func supporting(modes ...string) string {
	var list []string
	for _, mode := range modes {
		list = append(list, fmt.Sprintf(`{"type": %q, "supported": true}`, mode))
	}
	return `{"installModes": [{"type": "MultiNamespace", "supported": false}, ` + strings.Join(list, ", ") + `]}`
}

// TestV1Config configures bundles in the namespace "ns". The messages are OLM v1's.
func TestV1Config(t *testing.T) {
	const (
		all, own, single = "AllNamespaces", "OwnNamespace", "SingleNamespace"
		unsupported      = "Retrying: unsupported bundle: "
		invalid          = "InvalidConfiguration: invalid ClusterExtension configuration: invalid configuration: "
		required         = invalid + `required field "watchNamespace" is missing`
		notAll           = unsupported + "bundle does not support AllNamespaces install mode"
		unknownField     = invalid + `unknown field "watchNamespace"`
		badFormat        = `invalid format for field "watchNamespace": `
		notOwn           = badFormat + `'other' is not valid ownNamespaceInstallMode: invalid value "other": must be "ns" ` +
			`(the namespace where the operator is installed) because this operator only supports OwnNamespace install mode`
		severalErrors = "multiple errors found:\n  - "
		noOption      = severalErrors + `invalid value for field "watchNamespace"` + "\n  - " +
			`invalid type for field "watchNamespace": `
		pattern = `field "watchNamespace" must match pattern "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"`
	)
	const gate = true // SingleOwnNamespaceInstallSupport
	long := strings.Repeat("a", 64)
	for _, tt := range []struct {
		name, metadata, config string
		gate                   bool
		want                   string
	}{
		{"all namespaces", supporting(all), "", false, ""},
		{"an empty configuration", supporting(all), `{}`, false, ""},
		{"no metadata", "", `{"watchNamespace": "ns"}`, false, ""},
		{"no metadata, an unknown field", "", `{"color": "red"}`, false, invalid + `unknown field "color"`},
		{"the gate is off", supporting(own), `{"watchNamespace": "ns"}`, false, notAll},
		{"own namespace only", supporting(own), "", false, notAll},
		{"single namespace only", supporting(single), "", false, notAll},
		{"no configuration", supporting(own), "", gate, required},
		{"own namespace without the field", supporting(own), `{}`, gate, required},
		{"null", supporting(single), `{"watchNamespace": null}`, gate, required},
		{"null for all namespaces", supporting(all, own), `{"watchNamespace": null}`, false, ""},
		{"own namespace", supporting(own), `{"watchNamespace": "ns"}`, gate, ""},
		{"another than its own", supporting(own), `{"watchNamespace": "other"}`, gate, invalid + notOwn},
		{
			"another than its own, or all", supporting(all, own), `{"watchNamespace": "other"}`, false,
			invalid + noOption + "got string, want null\n  - " + notOwn,
		},
		{"another namespace", supporting(single), `{"watchNamespace": "other"}`, gate, ""},
		{
			"its own instead of another", supporting(single), `{"watchNamespace": "ns"}`, gate, invalid + badFormat +
				`'ns' is not valid singleNamespaceInstallMode: invalid value "ns": must be different from "ns" (the install ` +
				`namespace) because this operator uses SingleNamespace install mode to watch a different namespace`,
		},
		{"either", supporting(own, single), `{"watchNamespace": "ns"}`, gate, ""},
		{"capitals", supporting(own, single), `{"watchNamespace": "BAD_NS"}`, gate, invalid + pattern},
		{"a hyphen first", supporting(own, single), `{"watchNamespace": "-a"}`, gate, invalid + pattern},
		{
			"an empty name", supporting(own, single), `{"watchNamespace": ""}`, gate,
			invalid + severalErrors + `field "watchNamespace" must have minimum length of 1 (len=0)` + "\n  - " + pattern,
		},
		{
			"a long name", supporting(own, single), `{"watchNamespace": "` + long + `"}`, gate,
			invalid + `field "watchNamespace" must have maximum length of 63 (len=64)`,
		},
		{"a namespace for all namespaces", supporting(all), `{"watchNamespace": "ns"}`, false, unknownField},
		{"an unknown field", supporting(all, own), `{"watchNamespace": "ns", "color": "red"}`, false, invalid + `unknown field "color"`},
		{
			"two faults", supporting(own), `{"watchNamespace": "other", "color": "red"}`, gate,
			invalid + severalErrors + notOwn + "\n  - " + `unknown field "color"`,
		},
		{
			"another type", supporting(own), `{"watchNamespace": ["ns"]}`, gate,
			invalid + `invalid type for field "watchNamespace": got array, want string`,
		},
		{
			"no mode", `{"installModes": [{"type": "MultiNamespace", "supported": true}]}`, `{}`, gate, unsupported +
				"bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] install modes",
		},
		{
			"aggregated APIs", `{"apiServiceDefinitions": {"owned": [{"name": "a", "group": "g", "version": "v1", "kind": "K"}]}}`, "",
			false, unsupported + "apiServiceDefintions are not supported",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := V1Request{Name: "e", Package: "p", Namespace: "ns", SingleOwnNamespace: tt.gate}
			if tt.config != "" {
				e.Config = jsontext.Value(tt.config)
			}
			a := e.Resolve([]*Catalog{withMetadata(t, tt.metadata)})
			p := a.Conditions[1]
			if tt.want == "" {
				if a.Outcome != Resolved || p.Reason != "Succeeded" {
					t.Errorf("outcome %s, %+v", a.Outcome, p)
				}
				return
			}
			reason, message, _ := strings.Cut(tt.want, ": ")
			message = `error for resolved bundle "p.v1" with version "1.0.0": ` + message
			if a.Outcome != Failed || a.Message != message || p.Message != message || p.Reason != reason ||
				(p.Status == "False") != (reason == "InvalidConfiguration") {
				t.Errorf("outcome %s, %+v\nwant %s %s", a.Outcome, p, reason, message)
			}
			if b := a.Conditions[5]; b.Reason != "Absent" || a.Conditions[2].Reason != "NotDeprecated" {
				t.Errorf("what is deprecated is known: %+v", a.Conditions)
			}
		})
	}
}

// TestV1Unrecorded resolves a bundle whose name is not a valid object name: OLM applies it, and its status stays empty.
func TestV1Unrecorded(t *testing.T) {
	c, err := ReadCatalog(t.Context(), declcfg.Source{FS: fstest.MapFS{"c.json": {Data: []byte(
		`{"schema": "olm.package", "name": "p", "defaultChannel": "c"}
		{"schema": "olm.channel", "package": "p", "name": "c", "entries": [{"name": "p.v1.0.0+1"}]}
		{"schema": "olm.bundle", "package": "p", "name": "p.v1.0.0+1", "image": "e/p@v1", "properties": [
			{"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0+1"}}]}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	a := (&V1Request{Name: "e", Package: "p", Namespace: "ns"}).Resolve([]*Catalog{c})
	const want = `bundle "p.v1.0.0+1" is applied, but the API server refuses its name in the status`
	if a.Outcome != Failed || len(a.Conditions) != 0 || !strings.HasPrefix(a.Message, want) {
		t.Errorf("%+v", a)
	}
}

// TestV1ConfigInstalled checks that an installed bundle stays if the next one cannot be configured, and that its
// deprecation counts.
func TestV1ConfigInstalled(t *testing.T) {
	e := V1Request{
		Name: "e", Package: "p", Namespace: "ns", Config: jsontext.Value(`{"x": 1}`), SelfCertified: true,
		Installed: &InstalledBundle{Name: "p.v0", Version: "0.9.0"},
	}
	a := e.Resolve([]*Catalog{withMetadata(t, supporting("AllNamespaces"))})
	if a.Choice != nil || a.Conditions[0].Message != "Installed bundle p.v0 successfully" ||
		a.Conditions[5].Reason != "NotDeprecated" {
		t.Errorf("%+v", a)
	}
	e.Namespace = "" // the namespace of the operator is unknown
	if a := e.Resolve([]*Catalog{withMetadata(t, supporting("AllNamespaces"))}); a.Outcome != Resolved {
		t.Errorf("%+v", a)
	}
}
