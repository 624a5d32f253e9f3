//go:build unix

package main

import (
	"bytes"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// rename returns the objects of a catalog, in JSON, with another name for a package: in its olm.package, in the objects
// that belong to it, and in the properties that repeat the name. All other bytes are unchanged.
func rename(content []byte, from, to string) ([]byte, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(content), jsontext.AllowDuplicateNames(true))
	var out []byte
	done := 0 // number of bytes of content that are in out
	var schema string
	for {
		kind := dec.PeekKind()
		if kind != jsontext.KindString {
			if _, err := dec.ReadToken(); err == io.EOF {
				return append(out, content[done:]...), nil
			} else if err != nil {
				return nil, err
			}
			continue
		}
		key := keyOf(dec)
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return nil, err
		}
		top := dec.StackDepth() == 1
		if top && key == "schema" {
			schema = string(text)
		}
		names := []string{"package", "packageName"}
		if top && schema == "olm.package" {
			names = append(names, "name")
		}
		if string(text) != from || !slices.Contains(names, key) {
			continue
		}
		end := int(dec.InputOffset())
		out = append(out, content[done:end-len(value)]...)
		if out, err = jsontext.AppendQuote(out, to); err != nil {
			return nil, err
		}
		done = end
	}
}

// keyOf returns the key of the value that dec reads next. It returns "" if the value is a key itself, or is in a list.
func keyOf(dec *jsontext.Decoder) string {
	kind, n := dec.StackIndex(dec.StackDepth())
	if kind != jsontext.KindBeginObject || n%2 == 0 {
		return ""
	}
	return dec.StackPointer().LastToken()
}
