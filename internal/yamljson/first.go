package yamljson

import (
	"errors"

	"sigs.k8s.io/yaml"
)

// First returns the first document of text as JSON, as upstream reads manifests: it ignores the text after it. If there
// is such text, the JSON is from upstream's library, with sorted keys and 64-bit numbers. The errors are the same as
// from [Append].
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
