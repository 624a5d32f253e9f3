package resolve

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// withMetadata is a catalog with a bundle whose olm.csv.metadata is given; "" for none.
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

// What a bundle supports, and how a ClusterExtension in the namespace "ns" configures it.
func TestV1Config(t *testing.T) {
	const (
		all, own, single = "AllNamespaces", "OwnNamespace", "SingleNamespace"
		unsupported      = "Retrying: unsupported bundle: "
		invalid          = "InvalidConfiguration: invalid ClusterExtension configuration: invalid configuration: "
		required         = invalid + `required field "watchNamespace" is missing`
		notAll           = unsupported + "bundle does not support AllNamespaces install mode"
		unknownField     = invalid + `unknown field "watchNamespace"`
	)
	for _, tt := range []struct{ name, metadata, config, want string }{
		{"all namespaces", supporting(all), "", ""},
		{"an empty configuration", supporting(all), `{}`, ""},
		{"no metadata", "", `{"watchNamespace": "ns"}`, ""},
		{"own namespace only", supporting(own), "", notAll},
		{"single namespace only", supporting(single), "", notAll},
		{"own namespace without the field", supporting(own), `{}`, required},
		{"null", supporting(single), `{"watchNamespace": null}`, required},
		{"null for all namespaces", supporting(all, own), `{"watchNamespace": null}`, ""},
		{"own namespace", supporting(own), `{"watchNamespace": "ns"}`, ""},
		{
			"another than its own", supporting(all, own), `{"watchNamespace": "other"}`, invalid +
				`invalid value "other": watchNamespace must be "ns" (the namespace where the operator is installed) ` +
				`because this operator only supports OwnNamespace install mode`,
		},
		{"another namespace", supporting(single), `{"watchNamespace": "other"}`, ""},
		{
			"its own instead of another", supporting(all, single), `{"watchNamespace": "ns"}`, invalid +
				`invalid value "ns": watchNamespace must be different from "ns" (the install namespace) ` +
				`because this operator uses SingleNamespace install mode to watch a different namespace`,
		},
		{"either", supporting(own, single), `{"watchNamespace": "ns"}`, ""},
		{"a namespace for all namespaces", supporting(all), `{"watchNamespace": "ns"}`, unknownField},
		{"an unknown field", supporting(all, own), `{"watchNamespace": "ns", "color": "red"}`, invalid + `unknown field "color"`},
		{"another type", supporting(all, own), `{"watchNamespace": ["ns"]}`, invalid + `invalid type for field "watchNamespace": want string`},
		{
			"no mode", `{"installModes": [{"type": "MultiNamespace", "supported": true}]}`, `{}`, unsupported +
				"bundle must support at least one of [AllNamespaces SingleNamespace OwnNamespace] install modes",
		},
		{
			"aggregated APIs", `{"apiServiceDefinitions": {"owned": [{"name": "a", "group": "g", "version": "v1", "kind": "K"}]}}`, "",
			unsupported + "apiServiceDefintions are not supported",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := Extension{Name: "e", Package: "p", Namespace: "ns"}
			if tt.config != "" {
				e.Config = jsontext.Value(tt.config)
			}
			a := e.V1([]*Catalog{withMetadata(t, tt.metadata)})
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

// An installed bundle stays where the next one cannot be configured, and its deprecation counts.
func TestV1ConfigInstalled(t *testing.T) {
	e := Extension{
		Name: "e", Package: "p", Namespace: "ns", Config: jsontext.Value(`{"x": 1}`), SelfCertified: true,
		Installed: &InstalledBundle{Name: "p.v0", Version: "0.9.0"},
	}
	a := e.V1([]*Catalog{withMetadata(t, supporting("AllNamespaces"))})
	if a.Choice != nil || a.Conditions[0].Message != "Installed bundle p.v0 successfully" ||
		a.Conditions[5].Reason != "NotDeprecated" {
		t.Errorf("%+v", a)
	}
	e.Namespace = "" // it is not known where the bundle is to be installed
	if a := e.V1([]*Catalog{withMetadata(t, supporting("AllNamespaces"))}); a.Outcome != Resolved {
		t.Errorf("%+v", a)
	}
}
