package yamljson

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// sameJSON reports whether two JSON texts have the same value, apart from the precision of numbers.
func sameJSON(ours, upstream []byte) bool {
	return sameValue(decode(ours), decode(upstream))
}

// decode decodes JSON that we produced.
func decode(data []byte) any {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	return v
}

func sameValue(ours, upstream any) bool {
	switch ours := ours.(type) {
	case map[string]any:
		upstream, ok := upstream.(map[string]any)
		if !ok || len(ours) != len(upstream) {
			return false
		}
		for key, value := range ours {
			if other, ok := upstream[key]; !ok || !sameValue(value, other) {
				return false
			}
		}
		return true
	case []any:
		upstream, ok := upstream.([]any)
		if !ok || len(ours) != len(upstream) {
			return false
		}
		for i := range ours {
			if !sameValue(ours[i], upstream[i]) {
				return false
			}
		}
		return true
	case json.Number:
		return sameNumber(string(ours), upstream)
	}
	return ours == upstream
}

// sameNumber compares as 64-bit floating point. Upstream reads a number out of that range as a string.
func sameNumber(ours string, upstream any) bool {
	f, err := strconv.ParseFloat(ours, 64)
	if err != nil {
		_, isText := upstream.(string)
		return isText
	}
	n, ok := upstream.(json.Number)
	if !ok {
		return false
	}
	g, err := strconv.ParseFloat(string(n), 64)
	return err == nil && f == g
}
