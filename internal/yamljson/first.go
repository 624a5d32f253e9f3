package yamljson

import (
	"errors"

	"sigs.k8s.io/yaml"
)

// First returns the first document of text as JSON, as upstream reads manifests: it ignores the text after it. If there
// is such text, the JSON is from upstream's library, with sorted keys and 64-bit numbers, and also if a block scalar
// may be at the end of a text without a last line break, which [Append] adds. The errors are the same as from Append,
// except that text without content is [ErrEmpty] only if upstream reads it: it refuses a tab.
func First(text []byte) ([]byte, error) {
	out, err := Append(nil, text)
	if err == nil && len(ended(text)) == len(text) {
		return out, nil
	}
	first, upstream := yaml.YAMLToJSON(text)
	switch {
	case errors.Is(err, ErrEmpty) && upstream != nil:
		return nil, upstreamError(text, upstream.Error())
	case errors.Is(err, ErrEmpty):
		return nil, err
	case upstream != nil: // never if Append reads it
		return out, err
	}
	return first, nil
}
