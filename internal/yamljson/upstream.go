package yamljson

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// confirm returns what a document means, given what its nodes have become: the JSON of w, or the error err.
//
// It must mean here what it means to opm, and yaml/v4 leans towards YAML 1.2, where upstream reads with yaml/v2. Some
// corners of the grammar differ, as in `{a:}`, `[!b,c]`, `[-, d]`, a tab after a dash, the escape `\/`, a comment right
// behind a quote, a colon in an anchor, and text blocks without a last line feed. So upstream has the last word. The
// order of keys, the digits of numbers, equal keys and most places it does not tell. Those come from the nodes, but in
// these corners: there keys are sorted, and numbers pass through 64-bit floating point.
func confirm(w *walker, err error) ([]byte, error) {
	if err != nil && mayHaveAliases(w.text) {
		return nil, err // upstream does not limit the size of what they expand to
	}
	upstream, upstreamErr := yaml.YAMLToJSON(w.text)
	switch {
	case err != nil && upstreamErr != nil:
		return nil, err // of the two it has the better place
	case err != nil:
		return upstream, nil //nolint:nilerr // upstream reads what yaml/v4 does not
	case upstreamErr == nil && (w.clash || sameJSON(w.out, upstream)):
		return w.out, nil
	case upstreamErr == nil:
		return upstream, nil
	case strings.Contains(upstreamErr.Error(), "excessive aliasing"):
		return w.out, nil // ours is another limit
	}
	return nil, upstreamError(w.text, upstreamErr.Error())
}

func mayHaveAliases(body []byte) bool {
	return bytes.IndexByte(body, '&') >= 0 && bytes.IndexByte(body, '*') >= 0
}

// sameJSON reports whether two JSON texts hold the same value but for the precision of numbers.
func sameJSON(ours, upstream []byte) bool {
	return sameValue(decode(ours), decode(upstream))
}

// decode decodes JSON of our own making.
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

// sameNumber compares as 64-bit floating point. What is beyond that is text upstream.
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

var upstreamMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// upstreamError gives an error of upstream a place: the first tab of its line, for it is mostly about one, or else the
// first character.
func upstreamError(body []byte, msg string) error {
	offset := 0
	if m := upstreamMessage.FindStringSubmatch(msg); m != nil {
		line, _ := strconv.Atoi(m[1])
		offset, msg = offsetOf(body, line, 1), m[2]
	}
	line := firstLine(body[offset:])
	if tab := bytes.IndexByte(line, '\t'); tab >= 0 {
		return errorAt(body, offset+tab, "a tab, where YAML 1.1 takes only spaces")
	}
	return errorAt(body, offset+len(line)-len(bytes.TrimLeft(line, " ")), msg)
}
