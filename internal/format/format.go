// Package format prints JSON values as upstream does, in JSON and in YAML.
//
// A value has one printed form: keys are sorted at every level, the last of several equal keys wins, strings have only
// the necessary escapes, and a number is printed as its 64-bit floating point value, unless that is another number;
// then its digits are kept.
//
//	out := format.AppendJSON(nil, jsontext.Value(`{"b":1.0,"a":"<\u00e9>"}`), 0)
//	// {
//	//     "a": "<é>",
//	//     "b": 1
//	// }
//
// The input of every function must be valid JSON, such as a result of jsontext.Decoder.ReadValue. It is not checked
// again, and the output for other text is undefined. Text without a value is printed as null. All functions may be
// called concurrently.
package format

import "github.com/go-json-experiment/json/jsontext"

// MaxIndented is the number of indented levels. Deeper lists and objects are on one line: the indentation of thousands
// of levels would take thousands of times the memory of the value.
const MaxIndented = 100

// AppendJSON appends v to dst, indented by four spaces a level, and returns the extended slice. Keys are in byte order;
// HTML characters are not escaped. Lists and objects below 100 levels are on one line. The first line is not indented,
// and the last one has no line break; the other lines are indented for a value at a depth of depth levels.
func AppendJSON(dst []byte, v jsontext.Value, depth int) []byte {
	d := Parse(v)
	defer d.Release()
	w := jsonWriter{doc: d, dst: dst}
	w.value(0, depth)
	return w.dst
}

// AppendCompact is AppendJSON without white space.
func AppendCompact(dst []byte, v jsontext.Value) []byte {
	d := Parse(v)
	defer d.Release()
	return d.AppendCompact(dst, 0)
}

// AppendYAML appends v to dst as a YAML document that ends with a line break and has no "---" before it. It prints the
// same bytes as sigs.k8s.io/yaml: keys in natural order (item9 before item10), two spaces a level, lists not indented
// below their key, text folded after 80 columns. There are only three differences: digits that floating point cannot
// represent are kept, a string that looks like a number beyond floating point, such as 1e400, is quoted, and lists and
// mappings below 100 levels of indentation are in brackets, on one line.
func AppendYAML(dst []byte, v jsontext.Value) []byte {
	d := Parse(v)
	defer d.Release()
	return d.AppendYAML(dst)
}
