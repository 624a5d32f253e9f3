package schemas

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/skim"
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
	t := treeReader{skim.New(raw), v.keys}
	if t.Kind() != '{' || v.depth <= 0 {
		return t.value(v.depth)
	}
	return t.object(func(name string) any {
		if v.empty[name] != nil && t.Kind() == '[' {
			return t.value(0)
		}
		return t.value(v.depth - 1)
	})
}

// A treeReader reads JSON that is known to be valid.
type treeReader struct {
	skim.Cursor

	keys map[string]bool
}

func (t *treeReader) value(depth int) any {
	kind := t.Kind()
	switch {
	case kind == '{' && depth > 0:
		return t.object(func(string) any { return t.value(depth - 1) })
	case kind == '[' && depth > 0:
		list := []any{}
		for t.Enter(); t.More(); {
			list = append(list, t.value(depth-1))
		}
		return list
	}
	switch raw := t.Value(); kind {
	case '{':
		return map[string]any{}
	case '[':
		return []any{}
	case '"':
		return string(skim.Unquote(raw))
	case 't', 'f':
		return kind == 't'
	case 'n':
		return nil
	default:
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return n
		}
		return raw.Clone() // an int64 would lose digits, and CUE reads a jsontext.Value as JSON
	}
}

func (t *treeReader) object(value func(name string) any) map[string]any {
	object := map[string]any{}
	for t.Enter(); t.More(); {
		key := string(skim.Unquote(t.Value()))
		if t.keys != nil && !t.keys[key] {
			t.Skip()
			continue
		}
		object[key] = value(key)
	}
	return object
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
