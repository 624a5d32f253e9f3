package declcfg_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/opm-toolchain/opm/pkg/declcfg"
)

func manifest(text string) string {
	data := base64.StdEncoding.EncodeToString([]byte(text))
	return fmt.Sprintf(`{"type":"olm.bundle.object","value":{"data":%q}}`, data)
}

func TestCSVOfBundle(t *testing.T) {
	const metadata = `{"type":"olm.csv.metadata","value":{"displayName":"Zero"}}`
	service, broken, accepted := manifest("kind: Service"), manifest("["), manifest("{")
	first := manifest("kind: ClusterServiceVersion\nSpec: {displayName: One}\n")
	second := manifest(`{"kind":"ClusterServiceVersion","spec":{"displayName":"1","displayName":"Two"}}`)
	unreadable := manifest(`{"kind":"ClusterServiceVersion","spec":[]}`)
	for _, tt := range []struct {
		properties            []string
		inManifests, anywhere string // the display name
		err                   string
	}{
		{nil, "", "", ""},
		{[]string{service}, "", "", ""},
		{[]string{metadata}, "", "Zero", ""},
		{[]string{`{"type":"olm.csv.metadata","value":[]}`, second}, "Two", "Two", ""},
		{[]string{second, first}, "Two", "Two", ""},
		{[]string{first, metadata}, "One", "Zero", ""},
		{[]string{service, unreadable, first}, "", "", ""},
		{[]string{broken, `{"type":"olm.bundle.object"}`, first, second}, "One", "One", "properties[0]: "},
		{[]string{accepted, first}, "One", "One", ""}, // as in upstream
		{[]string{service, `{"type":"olm.bundle.object"}`}, "", "", "properties[1]: olm.bundle.object: no value"},
	} {
		o := one(t, `{"schema":"olm.bundle","properties":[`+strings.Join(tt.properties, ",")+`]}`)
		v, err := o.Decode()
		if err != nil {
			t.Fatal(err)
		}
		b := v.(*declcfg.Bundle)
		if got := b.ManifestDisplayName(); got != tt.inManifests {
			t.Errorf("%q: in manifests %q, want %q", tt.properties, got, tt.inManifests)
		}
		if got := b.CSVMetadata().DisplayName; got != tt.anywhere {
			t.Errorf("%q: display name %q, want %q", tt.properties, got, tt.anywhere)
		}
		if _, err := b.ManifestCSV(); (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%q: error %v, want %q", tt.properties, err, tt.err)
		}
	}
}
