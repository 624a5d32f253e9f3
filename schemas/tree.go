package schemas

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// A view selects the part of a value to decode.
type view struct {
	depth int                    // objects and lists below this depth are empty
	empty map[string]*definition // lists directly in the value that are also empty
	keys  map[string]bool        // keys to keep in objects; nil for all
}

// whole is the view of a complete value; JSON is never this deep.
var whole = view{depth: 1 << 20}

// decode returns a value as a tree of map[string]any, []any, string, int64, bool and nil. Other numbers are
// jsontext.Value, which keeps their digits.
func decode(raw jsontext.Value, v view) any {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	t := treeReader{dec, v.keys}
	if dec.PeekKind() != '{' || v.depth <= 0 {
		return t.value(v.depth)
	}
	return t.object(func(name string) any {
		if v.empty[name] != nil && dec.PeekKind() == '[' {
			return t.value(0)
		}
		return t.value(v.depth - 1)
	})
}

// A treeReader reads JSON that is known to be valid, so it has no errors.
type treeReader struct {
	dec  *jsontext.Decoder
	keys map[string]bool
}

func (t treeReader) value(depth int) any {
	switch t.dec.PeekKind() {
	case '{':
		if depth <= 0 {
			_ = t.dec.SkipValue()
			return map[string]any{}
		}
		return t.object(func(string) any { return t.value(depth - 1) })
	case '[':
		if depth <= 0 {
			_ = t.dec.SkipValue()
			return []any{}
		}
		return t.list(depth - 1)
	case '0':
		raw, _ := t.dec.ReadValue()
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return n
		}
		return raw.Clone() // an int64 would lose digits, and CUE reads a jsontext.Value as JSON
	}
	token, err := t.dec.ReadToken()
	switch {
	case err != nil:
		return nil
	case token.Kind() == '"':
		return token.String()
	case token.Kind() == 'n':
		return nil
	}
	return token.Bool()
}

func (t treeReader) object(value func(name string) any) map[string]any {
	_, _ = t.dec.ReadToken()
	object := map[string]any{}
	for t.dec.PeekKind() == '"' {
		name, _ := t.dec.ReadToken()
		key := name.String()
		if t.keys != nil && !t.keys[key] {
			_ = t.dec.SkipValue()
			continue
		}
		object[key] = value(key)
	}
	_, _ = t.dec.ReadToken()
	return object
}

func (t treeReader) list(depth int) []any {
	_, _ = t.dec.ReadToken()
	list := []any{}
	for kind := t.dec.PeekKind(); kind != ']' && kind != jsontext.KindInvalid; kind = t.dec.PeekKind() {
		list = append(list, t.value(depth))
	}
	_, _ = t.dec.ReadToken()
	return list
}

// lookup returns the value at a path; ok is false if there is none.
func lookup(tree any, path []string) (v any, ok bool) {
	for _, step := range path {
		switch t := tree.(type) {
		case map[string]any:
			if tree, ok = t[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(t) {
				return nil, false
			}
			tree = t[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

// remove removes the last field on a path that is not inside a list from its object. It returns the path of the removed
// field; ok is false if there is no such field.
func remove(tree any, path []string) (gone []string, ok bool) {
	for n := len(path); n > 0; n-- {
		parent, _ := lookup(tree, path[:n-1])
		object, isObject := parent.(map[string]any)
		if !isObject {
			continue
		}
		if _, ok := object[path[n-1]]; !ok {
			continue
		}
		delete(object, path[n-1])
		return path[:n], true
	}
	return nil, false
}

func pointer(path []string) jsontext.Pointer {
	var p jsontext.Pointer
	for _, step := range path {
		p = p.AppendToken(step)
	}
	return p
}
