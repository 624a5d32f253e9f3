package edit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/opm-toolchain/opm/internal/document"
	"github.com/opm-toolchain/opm/internal/syntax"
	"github.com/opm-toolchain/opm/internal/yamljson"
	"github.com/opm-toolchain/opm/pkg/declcfg"
)

// A text is a document to edit. Each change replaces a few bytes, and is checked to change nothing else.
type text struct {
	file  string
	start document.Place // of the document in the file
	source

	parsed *syntax.Node // nil before the first use, and after a change
}

// insertAfter inserts an element after the given index of a list; -1 is the end. The element takes the key order and
// the key spelling of the other elements.
func (t *text) insertAfter(ptr jsontext.Pointer, i int, v jsontext.Value) error {
	tree, err := t.tree()
	if err != nil {
		return err
	}
	path := tree.Find(ptr)
	others := path[len(path)-1].Children
	if i < 0 {
		i = len(others) - 1
	}
	v = like(v, others)
	return t.change(ptr, func(path []*syntax.Node) (splice, error) {
		return t.insertElement(path, i, v)
	}, func(old any) any {
		elements, _ := old.([]any)
		return slices.Insert(slices.Clone(elements), min(i+1, len(elements)), decoded(v))
	})
}

func (t *text) append(ptr jsontext.Pointer, v jsontext.Value) error {
	return t.insertAfter(ptr, -1, v)
}

// set sets a member of an object: it replaces the scalar there, or adds the member after all others.
func (t *text) set(ptr jsontext.Pointer, v jsontext.Value) error {
	name := ptr.LastToken()
	return t.change(ptr.Parent(), func(path []*syntax.Node) (splice, error) {
		parent := path[len(path)-1]
		if old := parent.Child(name); old != nil && parent.Kind == syntax.Object {
			return t.replaceScalar(old, v)
		}
		return t.insertMember(path, name, v)
	}, func(old any) any {
		members, _ := old.(map[string]any)
		members[spelled(members, name)] = decoded(v)
		return members
	})
}

func (t *text) remove(ptr jsontext.Pointer) error {
	name := ptr.LastToken()
	return t.change(ptr.Parent(), func(path []*syntax.Node) (splice, error) {
		parent := path[len(path)-1]
		i := slices.Index(parent.Children, parent.Child(name))
		if i < 0 {
			return splice{}, &syntax.Error{At: parent.From, Msg: fmt.Sprintf("it has no %q", name)}
		}
		return t.removeChildren(parent, i)
	}, func(old any) any {
		members, _ := old.(map[string]any)
		delete(members, spelled(members, name))
		return members
	})
}

// removeElements removes the elements with the given indices, which are sorted, from a list.
func (t *text) removeElements(ptr jsontext.Pointer, indices ...int) error {
	return t.change(ptr, func(path []*syntax.Node) (splice, error) {
		return t.removeChildren(path[len(path)-1], indices...)
	}, func(old any) any {
		elements, _ := old.([]any)
		var kept []any
		for i, e := range elements {
			if _, gone := slices.BinarySearch(indices, i); !gone {
				kept = append(kept, e)
			}
		}
		return kept
	})
}

// change applies a splice to the text, and the change to the decoded value at ptr, and checks that both results are
// equal.
func (t *text) change(
	ptr jsontext.Pointer, inText func(path []*syntax.Node) (splice, error), inValue func(any) any,
) error {
	tree, err := t.tree()
	if err != nil {
		return err
	}
	path := tree.Find(ptr)
	if len(path) <= strings.Count(string(ptr), "/") {
		return t.unsafeError(&syntax.Error{At: path[len(path)-1].From, Msg: fmt.Sprintf("it has no %s", ptr)})
	}
	if err := t.checkSafe(path); err != nil {
		return err
	}
	s, err := inText(path)
	if err != nil {
		return t.unsafeError(err)
	}
	before, err := t.value()
	if err != nil {
		return err
	}
	want := encoded(changed(before, ptr, inValue))
	after := *t
	after.bytes = slices.Concat(t.bytes[:s.from], []byte(s.by), t.bytes[s.to:])
	got, err := after.value()
	if err != nil || !bytes.Equal(encoded(got), want) {
		return t.unsafeError(&syntax.Error{At: s.from, Msg: "the text around it does not allow that"})
	}
	t.bytes, t.parsed = after.bytes, nil
	return nil
}

// checkSafe returns an error if a value on the path of an edit has a meaning beyond its own text, such as an alias.
func (t *text) checkSafe(path []*syntax.Node) error {
	for i, n := range path {
		if again := repeated(n); again != nil {
			return t.unsafeError(&syntax.Error{At: again.Start, Msg: fmt.Sprintf("the key %q is repeated", again.Name)})
		}
		shared := n
		if i == len(path)-1 && n.Kind == syntax.List { // its elements may be edited or removed
			shared = sharing(n)
		}
		if shared != nil && shared.Shared != "" {
			return t.unsafeError(&syntax.Error{At: shared.From, Msg: "it has " + shared.Shared})
		}
	}
	return nil
}

// repeated returns the first member with the same name as an earlier one, in any case; nil if there is none.
func repeated(n *syntax.Node) *syntax.Node {
	if n.Kind != syntax.Object {
		return nil
	}
	seen := map[string]bool{}
	for _, c := range n.Children {
		name := strings.ToLower(c.Name)
		if seen[name] {
			return c
		}
		seen[name] = true
	}
	return nil
}

// sharing returns the first node in n, including n, that must not be edited; nil if there is none.
func sharing(n *syntax.Node) *syntax.Node {
	if n.Shared != "" {
		return n
	}
	for _, c := range n.Children {
		if s := sharing(c); s != nil {
			return s
		}
	}
	return nil
}

// unsafeError returns the error for a document that cannot be edited safely.
func (t *text) unsafeError(err error) error {
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err
	}
	pos := t.start.After(t.bytes[:e.At]).Pos(t.file)
	return &declcfg.Error{Pos: pos, Err: fmt.Errorf("cannot be edited safely: %w; edit it by hand", err)}
}

func (t *text) tree() (*syntax.Node, error) {
	if t.parsed != nil {
		return t.parsed, nil
	}
	tree, err := syntax.Parse(t.bytes, t.yaml)
	if err == nil {
		err = t.checkKeys(tree.Root)
	}
	if err != nil {
		return nil, t.unsafeError(err)
	}
	t.parsed = tree.Root
	return t.parsed, nil
}

// checkKeys returns an error if a key in n is not plain text or in quotes with a colon after it.
func (t *text) checkKeys(n *syntax.Node) error {
	for _, c := range n.Children {
		if k := c.Key; k != nil && t.yaml && (k.Kind != syntax.Scalar || k.Shared != "" || !t.isColon(k.To)) {
			return &syntax.Error{At: k.From, Msg: "a key that is not plain text or in quotes"}
		}
		if err := t.checkKeys(c); err != nil {
			return err
		}
	}
	return nil
}

// isColon reports whether there is a colon at an offset or after spaces.
func (t *text) isColon(at int) bool {
	return bytes.HasPrefix(bytes.TrimLeft(t.bytes[at:], " "), []byte(":"))
}

func (t *text) value() (any, error) {
	raw := t.bytes
	if t.yaml {
		var err error
		if raw, err = yamljson.Append(nil, t.bytes); err != nil {
			return nil, err
		}
	}
	var v any
	err := json.Unmarshal(raw, &v, document.Lenient)
	return v, err
}

// changed returns v with the value at ptr changed; that value may be missing.
func changed(v any, ptr jsontext.Pointer, change func(any) any) any {
	if ptr == "" {
		return change(v)
	}
	var token string
	for token = range ptr.Tokens() {
		break
	}
	rest := ptr[len(jsontext.Pointer("").AppendToken(token)):]
	switch v := v.(type) {
	case map[string]any:
		token = spelled(v, token)
		v[token] = changed(v[token], rest, change)
	case []any:
		if i, ok := syntax.Index(token); ok && i < len(v) {
			v[i] = changed(v[i], rest, change)
		}
	}
	return v
}
