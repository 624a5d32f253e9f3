package cluster

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fieldsOfSpec is an object with a spec.
type fieldsOfSpec struct {
	Others jsontext.Value            `json:",embed"`
	Spec   map[string]jsontext.Value `json:"spec"`
}

// explicitZeros returns the fields of an object's spec that are 0 or false and that its Go type omits.
func (k *kind) explicitZeros(raw jsontext.Value) map[string]jsontext.Value {
	if len(k.zeros) == 0 {
		return nil
	}
	var o fieldsOfSpec
	if json.Unmarshal(raw, &o, options) != nil {
		return nil
	}
	var zeros map[string]jsontext.Value
	for name, value := range o.Spec {
		if slices.Contains(k.zeros, name) && (string(value) == "0" || string(value) == "false") {
			if zeros == nil {
				zeros = map[string]jsontext.Value{}
			}
			zeros[name] = value.Clone()
		}
	}
	return zeros
}

// JSON returns the object as an API server writes it, with the fields of Zeros.
func (o Object[P]) JSON() (jsontext.Value, error) {
	raw, err := json.Marshal(o.Value, options)
	if err != nil || len(o.Zeros) == 0 {
		return raw, err
	}
	var object fieldsOfSpec
	if err := json.Unmarshal(raw, &object, options); err != nil {
		return nil, err
	}
	for name, value := range o.Zeros {
		if _, ok := object.Spec[name]; !ok {
			object.Spec[name] = value
		}
	}
	return json.Marshal(&object, options, json.Deterministic(true))
}
