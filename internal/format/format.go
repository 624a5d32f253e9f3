// Package format prints JSON values as opm prints them, in JSON and in YAML.
//
// One value has one printed form: keys are sorted at every level, the last of several equal keys wins, strings carry
// only the escapes they need, and a number looks as its 64-bit floating point value does, unless that value is
// another number than the one written; then its digits stay.
//
//	out := format.AppendJSON(nil, jsontext.Value(`{"b":1.0,"a":"<\u00e9>"}`), 0)
//	// {
//	//     "a": "<é>",
//	//     "b": 1
//	// }
//
// The input of every function is a valid JSON text, as jsontext.Decoder.ReadValue returns it: it is not checked again,
// and what is printed for anything else is undefined. Text without a value is printed as null.
// All functions may be called at once from several goroutines.
package format

import "github.com/go-json-experiment/json/jsontext"

// MaxIndented is how many levels are indented. A list or an object below them is on one line: the indentation of
// thousands of levels would take thousands of times the memory of the value.
const MaxIndented = 100

// AppendJSON appends v to dst, indented by four spaces a level, and returns the longer slice. Keys are in the order of
// their bytes; no character is escaped for the sake of HTML. Lists and objects below 100 levels are on one line. The
// first line is not indented, and the last one not ended; those between belong to a value at a depth of depth levels.
func AppendJSON(dst []byte, v jsontext.Value, depth int) []byte {
	d := Parse(v)
	defer d.Release()
	w := jsonWriter{doc: d, dst: dst}
	w.value(0, depth)
	return w.dst
}

// AppendCompact is AppendJSON without any white space.
func AppendCompact(dst []byte, v jsontext.Value) []byte {
	d := Parse(v)
	defer d.Release()
	return d.AppendCompact(dst, 0)
}

// AppendYAML appends v to dst as a YAML document that ends with a line break and has no "---" before it. It is, byte
// for byte, what sigs.k8s.io/yaml prints: keys in natural order (item9 before item10), two spaces a level, lists not
// indented below their key, text folded after 80 columns. Only three things differ: digits that floating point cannot
// hold are kept, a string that looks like a number beyond floating point, such as 1e400, is quoted, and lists and
// mappings below 100 levels of indentation are in brackets, on one line.
func AppendYAML(dst []byte, v jsontext.Value) []byte {
	d := Parse(v)
	defer d.Release()
	return d.AppendYAML(dst)
}
