package declcfg

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// everything has each key once, in the order in which opm writes them.
const everything = `{"annotations":{"a":"<1>","b":"2"},` +
	`"apiServiceDefinitions":{"owned":[{"name":"n","group":"g","version":"v1","kind":"K","deploymentName":"d",` +
	`"containerPort":443,"displayName":"D","description":"d","resources":[{"name":"","kind":"Pod","version":"v1"}],` +
	`"statusDescriptors":[{"path":"p"}],"specDescriptors":[{"path":"","displayName":"d","description":"d",` +
	`"x-descriptors":["x"],"value":{"b":[1,"\u003c"],"a":null}}],"actionDescriptors":[{"path":"p","value":null}]}],` +
	`"required":[{"name":"","group":"","version":"","kind":""}]},` +
	`"crdDescriptions":{"owned":[{"name":"n","version":"v1","kind":"K","displayName":"D","description":"d",` +
	`"resources":[{"name":"r","kind":"R","version":"v2"}],"statusDescriptors":[{"path":"p","value":""}],` +
	`"specDescriptors":[{"path":"p","value":0}],"actionDescriptors":[{"path":"p","value":{}}]}],` +
	`"required":[{"name":"","version":"","kind":""}]},` +
	`"description":"d","displayName":"D","installModes":[{"type":"","supported":false}],"keywords":["k",""],` +
	`"labels":{"l":""},"links":[{"name":"n","url":"u"},{}],"maintainers":[{"name":"n","email":"e"},{}],` +
	`"maturity":"m","minKubeVersion":"1.20.0","nativeAPIs":[{"group":"","version":"v1","kind":"K"}],` +
	`"provider":{"name":"n","url":"u"}}`

func TestCSVMetadata(t *testing.T) {
	for _, test := range []struct{ value, want string }{
		{everything, everything},
		{`{}`, `{"apiServiceDefinitions":{},"crdDescriptions":{},"provider":{}}`},
		{`{"annotations":{},"keywords":[],"description":"","links":[],"crdDescriptions":{"owned":[]}}`,
			`{"apiServiceDefinitions":{},"crdDescriptions":{},"provider":{}}`},
	} {
		p := Property{Type: PropertyCSVMetadata, Value: jsontext.Value(test.value)}
		var metadata CSVMetadata
		if err := p.Unmarshal(&metadata); err != nil {
			t.Fatal(err)
		}
		again, err := NewProperty(PropertyCSVMetadata, &metadata)
		if err != nil || string(again.Value) != test.want {
			t.Errorf("got %s, %v, want %s", again.Value, err, test.want)
		}
	}
}
