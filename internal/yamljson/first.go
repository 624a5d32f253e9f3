package yamljson

import (
	"errors"

	"sigs.k8s.io/yaml"
)

// First returns the first document of text as JSON, as upstream reads manifests: what follows it is not looked at.
// Where something does follow, the JSON is upstream's own, with sorted keys and 64-bit numbers. The error is that of
// [Append].
func First(text []byte) ([]byte, error) {
	out, err := Append(nil, text)
	if err == nil || errors.Is(err, ErrEmpty) {
		return out, err
	}
	if first, upstream := yaml.YAMLToJSON(text); upstream == nil {
		return first, nil
	}
	return nil, err
}
